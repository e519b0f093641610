/* SPDX-License-Identifier: MIT */
/*
 * C37, C38, C40: the state after a death.  Each test runs in its own PID
 * namespace.
 */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "file.h"
#include "named/lock.h"
#include "process.h"
#include "puppet.h"

NAMESPACE_TEST(c37_a_killed_holders_permits_reach_the_next_waiter)
{
	const char *name = fresh_name();
	struct puppet holder = puppet_at(name, 2), waiter = puppet_at(name, 2);
	weir_named *sem = open_named(name, 2);

	CHECK_EQ(puppet_do(&holder, PUPPET_ACQUIRE, 2), WEIR_OK);
	puppet_tell(&waiter, PUPPET_ACQUIRE, 1, 0, NULL);
	AWAIT(look_at(sem).waiters == 1);
	puppet_kill(&holder);
	/* No other process calls the semaphore before the waiter is granted. */
	CHECK_EQ(puppet_hear(&waiter), WEIR_OK);
	CHECK_EQ(look_at(sem).held, 1);
	CHECK_EQ(look_at(sem).free, 1);
	puppet_end(&waiter);
	close_named(sem);
}

NAMESPACE_TEST(c37_a_later_call_reclaims_a_killed_holders_permits)
{
	const char *name = fresh_name();
	struct puppet holder = puppet_at(name, 2);
	weir_named *sem = open_named(name, 2);

	CHECK_EQ(puppet_do(&holder, PUPPET_ACQUIRE, 2), WEIR_OK);
	CHECK_ERR(weir_named_try_acquire(sem, 1), WEIR_EAGAIN);
	puppet_kill(&holder);
	/* Our keeper, which notices the death as well, may have the lock. */
	AWAIT(weir_named_try_acquire(sem, 2) == WEIR_OK);
	CHECK_EQ(look_at(sem).participants, 1);
	close_named(sem);
}

NAMESPACE_TEST(c38_a_killed_waiter_leaves_the_queue)
{
	const char *name = fresh_name();
	struct puppet big = puppet_at(name, 2), small = puppet_at(name, 2);
	weir_named *sem = open_named(name, 2);

	/* C4: one permit is free, but the head wants two. */
	CHECK_OK(weir_named_acquire(sem, 1, NULL));
	puppet_tell(&big, PUPPET_ACQUIRE, 2, 0, NULL);
	AWAIT(look_at(sem).waiters == 1);
	puppet_tell(&small, PUPPET_ACQUIRE, 1, 0, NULL);
	AWAIT(look_at(sem).waiters == 2);
	puppet_kill(&big);
	/* C7: after the head's death the next one fits. */
	CHECK_EQ(puppet_hear(&small), WEIR_OK);
	puppet_end(&small);
	close_named(sem);
}

NAMESPACE_TEST(c37_holder_and_first_waiters_die_together)
{
	const char *name = fresh_name();
	weir_named *sem = open_named(name, 1);
	struct puppet dying[6], last;

	for (int i = 0; i < 6; i++) {
		dying[i] = puppet_at(name, 1);
		puppet_tell(&dying[i], PUPPET_ACQUIRE, 1, 0, NULL);
		AWAIT(look_at(sem).waiters == (uint32_t)i);
		AWAIT(look_at(sem).held == 1);
	}
	last = puppet_at(name, 1);
	puppet_tell(&last, PUPPET_ACQUIRE, 1, 0, NULL);
	AWAIT(look_at(sem).waiters == 6);
	/* Only `last` can notice the deaths. */
	close_named(sem);
	for (int i = 0; i < 6; i++)
		kill_hard(dying[i].pid);
	CHECK_EQ(puppet_hear(&last), WEIR_OK);
	for (int i = 0; i < 6; i++) {
		CHECK_EQ(waitpid(dying[i].pid, NULL, 0), dying[i].pid);
		close(dying[i].fd);
	}
	sem = open_named(name, 1);
	CHECK_EQ(look_at(sem).held, 1);
	CHECK_EQ(look_at(sem).participants, 2);
	puppet_end(&last);
	close_named(sem);
}

/*
 * Stop the puppet, so that it does not take the permits that it is granted.
 * Hold the lock meanwhile: a process that is stopped with the lock would block
 * all others.
 */
static void stop(const struct puppet *puppet, weir_named *sem)
{
	int status;

	CHECK_OK(nm_lock(sem, NULL));
	CHECK(process_signal(puppet->pid, SIGSTOP));
	CHECK_EQ(waitpid(puppet->pid, &status, WUNTRACED), puppet->pid);
	CHECK(WIFSTOPPED(status));
	nm_unlock(sem);
}

NAMESPACE_TEST(c37_the_first_watcher_is_stopped_and_the_holder_killed)
{
	const char *name = fresh_name();
	struct puppet holder = puppet_at(name, 3), first = puppet_at(name, 3);
	struct puppet second = puppet_at(name, 3);
	weir_named *sem = open_named(name, 3);

	CHECK_EQ(puppet_do(&holder, PUPPET_ACQUIRE, 3), WEIR_OK);
	puppet_tell(&first, PUPPET_ACQUIRE, 1, 0, NULL);
	AWAIT(look_at(sem).waiters == 1);
	puppet_tell(&second, PUPPET_ACQUIRE, 1, 0, NULL);
	AWAIT(look_at(sem).waiters == 2);
	stop(&first, sem);
	puppet_kill(&holder);
	CHECK_EQ(puppet_hear(&second), WEIR_OK);
	CHECK(process_signal(first.pid, SIGCONT));
	CHECK_EQ(puppet_hear(&first), WEIR_OK);
	puppet_end(&first);
	puppet_end(&second);
	close_named(sem);
}

/*
 * The only waiting process is stopped when the holder dies, so no keeper notices
 * the death.  The waiter must notice it when it continues.  This process only
 * looks, so its keeper cannot help.
 */
NAMESPACE_TEST(c37_c42_a_death_while_the_only_waiter_is_stopped)
{
	const char *name = fresh_name();
	struct puppet holder = puppet_at(name, 3), waiter = puppet_at(name, 3);
	weir_named_opts opts = { .flags = WEIR_NAMED_OBSERVER };
	struct nm_record *record;
	struct file file;
	weir_named *sem;
	int status;

	CHECK_OK(weir_named_open(name, &opts, &sem));
	CHECK_EQ(puppet_do(&holder, PUPPET_ACQUIRE, 3), WEIR_OK);
	puppet_tell(&waiter, PUPPET_ACQUIRE, 1, 0, NULL);
	AWAIT(look_at(sem).waiters == 1);
	/* The waiter sleeps on the first record, and has armed its keeper. */
	file = map_file(name);
	record = (struct nm_record *)(void *)(file.slots + NM_SLOTS);
	AWAIT(weir_shared_sleepers_(&record->state));
	unmap_file(&file);
	CHECK(process_signal(waiter.pid, SIGSTOP));
	CHECK_EQ(waitpid(waiter.pid, &status, WUNTRACED), waiter.pid);
	CHECK(WIFSTOPPED(status));
	puppet_kill(&holder);
	CHECK(process_signal(waiter.pid, SIGCONT));
	CHECK_EQ(puppet_hear(&waiter), WEIR_OK);
	puppet_end(&waiter);
	close_named(sem);
}

NAMESPACE_TEST(c37_the_acquiring_thread_may_end)
{
	const char *name = fresh_name();
	struct puppet holder = puppet_at(name, 1);
	weir_named *sem = open_named(name, 1);

	CHECK_EQ(puppet_do(&holder, PUPPET_THREAD, 1), WEIR_OK);
	CHECK_ERR(weir_named_try_acquire(sem, 1), WEIR_EAGAIN);
	CHECK_EQ(look_at(sem).held, 1);
	puppet_kill(&holder);
	/* Our keeper, which notices the death as well, may have the lock. */
	AWAIT(weir_named_try_acquire(sem, 1) == WEIR_OK);
	close_named(sem);
}

NAMESPACE_TEST(c37_exec_counts_as_a_death)
{
	const char *name = fresh_name();
	struct puppet holder = puppet_at(name, 1), waiter = puppet_at(name, 1);
	weir_named *sem = open_named(name, 1);

	CHECK_EQ(puppet_do(&holder, PUPPET_ACQUIRE, 1), WEIR_OK);
	puppet_tell(&waiter, PUPPET_ACQUIRE, 1, 0, NULL);
	AWAIT(look_at(sem).waiters == 1);
	puppet_tell(&holder, PUPPET_EXEC, 0, 0, NULL);
	CHECK_EQ(puppet_hear(&waiter), WEIR_OK);
	puppet_kill(&holder);
	puppet_end(&waiter);
	close_named(sem);
}

NAMESPACE_TEST(c29_a_child_outlives_its_parent_and_holds_nothing)
{
	const char *name = fresh_name();
	struct puppet holder = puppet_at(name, 1), waiter = puppet_at(name, 1);
	weir_named *sem = open_named(name, 1);
	pid_t child;

	CHECK_EQ(puppet_do(&holder, PUPPET_ACQUIRE, 1), WEIR_OK);
	child = (pid_t)puppet_do(&holder, PUPPET_FORK, 0);
	CHECK(child > 1);
	puppet_tell(&waiter, PUPPET_ACQUIRE, 1, 0, NULL);
	AWAIT(look_at(sem).waiters == 1);
	puppet_kill(&holder);
	CHECK_EQ(puppet_hear(&waiter), WEIR_OK);
	kill_hard(child);
	puppet_end(&waiter);
	close_named(sem);
}

NAMESPACE_TEST(c29_the_child_of_a_fork_joins_separately)
{
	weir_named *sem = open_named(fresh_name(), 3);
	int status;
	pid_t child;

	CHECK_OK(weir_named_acquire(sem, 1, NULL));
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		CHECK_ERR(weir_named_try_release(sem, 1), WEIR_EOVERFLOW);
		CHECK_OK(weir_named_acquire(sem, 2, NULL));
		CHECK_EQ(look_at(sem).participants, 2);
		CHECK_EQ(look_at(sem).held, 3);
		weir_named_release(sem, 1);
		_exit(0);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	CHECK_EQ(look_at(sem).held, 1);
	CHECK_EQ(look_at(sem).free, 2);
	weir_named_release(sem, 1);
	close_named(sem);
}

NAMESPACE_TEST(c40_participants_with_pid_1_in_their_namespaces)
{
	const char *name = fresh_name();
	struct puppet holder, waiter, second;
	weir_named *sem;
	weir_named_entry entries[4];
	weir_named_info info;

	if (!in_own_namespace()) {
		check_skip("needs PID namespaces");
		return;
	}
	holder = puppet_start_apart();
	sem = open_named(name, 1);
	puppet_open(&holder, name, 1);
	waiter = puppet_start_apart();
	puppet_open(&waiter, name, 1);
	second = puppet_start_apart();
	puppet_open(&second, name, 1);
	CHECK_EQ(puppet_do(&holder, PUPPET_ACQUIRE, 1), WEIR_OK);
	puppet_tell(&waiter, PUPPET_ACQUIRE, 1, 0, NULL);
	AWAIT(look_at(sem).waiters == 1);
	puppet_tell(&second, PUPPET_ACQUIRE, 1, 0, NULL);
	AWAIT(look_at(sem).waiters == 2);
	CHECK_OK(weir_named_stat(sem, &info, entries, 4));
	CHECK_EQ(entries[0].pid, 1);
	CHECK_EQ(entries[1].pid, 1);
	CHECK(entries[0].pid_namespace != entries[1].pid_namespace);
	/* A waiter with the holder's PID dies: the holder keeps its permit. */
	puppet_kill(&waiter);
	AWAIT(look_at(sem).waiters == 1);
	CHECK_EQ(look_at(sem).held, 1);
	CHECK_OK(weir_named_stat(sem, &info, entries, 4));
	CHECK(!entries[0].dead);
	puppet_kill(&holder);
	CHECK_EQ(puppet_hear(&second), WEIR_OK);
	puppet_kill(&second);
	AWAIT(look_at(sem).free == 1);
	close_named(sem);
}

NAMESPACE_TEST(c20_c37_a_death_makes_it_idle)
{
	const char *name = fresh_name();
	struct puppet holder = puppet_at(name, 2), idler = puppet_at(name, 2);
	weir_named *sem = open_named(name, 2);

	CHECK_EQ(puppet_do(&holder, PUPPET_ACQUIRE, 2), WEIR_OK);
	puppet_tell(&idler, PUPPET_IDLE, 0, 0, NULL);
	AWAIT(look_at(sem).oversized == 1);
	puppet_kill(&holder);
	CHECK_EQ(puppet_hear(&idler), WEIR_OK);
	puppet_end(&idler);
	close_named(sem);
}

/*
 * The last of the chain dies.  It has no successor that watches it, and earlier
 * participants are behind it in the queue or wait for idle.
 */
static void *acquire_one(void *arg)
{
	CHECK_OK(weir_named_acquire(arg, 1, NULL));
	return NULL;
}

static void *await_idleness(void *arg)
{
	CHECK_OK(weir_named_wait_idle(arg, NULL));
	return NULL;
}

NAMESPACE_TEST(c7_c37_the_last_to_come_dies_at_the_head_of_the_queue)
{
	const char *name = fresh_name();
	weir_named *sem = open_named(name, 3), *holder = open_named(name, 3);
	struct puppet other = puppet_at(name, 3), last = puppet_at(name, 3);
	check_thread idler, behind;

	CHECK_OK(weir_named_acquire(holder, 2, NULL));
	idler = start(await_idleness, sem);
	AWAIT(look_at(holder).oversized == 1);
	puppet_tell(&other, PUPPET_IDLE, 0, 0, NULL);
	AWAIT(look_at(holder).oversized == 2);
	puppet_tell(&last, PUPPET_ACQUIRE, 3, 0, NULL);
	AWAIT(look_at(holder).waiters == 1);
	behind = start(acquire_one, sem);
	AWAIT(look_at(holder).waiters == 2);
	puppet_kill(&last);
	finish(behind);
	weir_named_release(sem, 1);
	weir_named_release(holder, 2);
	finish(idler);
	CHECK_EQ(puppet_hear(&other), WEIR_OK);
	puppet_end(&other);
	close_named(holder);
	close_named(sem);
}

NAMESPACE_TEST(c20_c37_the_last_to_come_dies_with_granted_permits)
{
	const char *name = fresh_name();
	struct puppet first = puppet_at(name, 1), second = puppet_at(name, 1);
	struct puppet last = puppet_at(name, 1);
	weir_named *sem = open_named(name, 1);

	CHECK_OK(weir_named_acquire(sem, 1, NULL));
	puppet_tell(&first, PUPPET_IDLE, 0, 0, NULL);
	AWAIT(look_at(sem).oversized == 1);
	puppet_tell(&second, PUPPET_IDLE, 0, 0, NULL);
	AWAIT(look_at(sem).oversized == 2);
	puppet_tell(&last, PUPPET_ACQUIRE, 1, 0, NULL);
	AWAIT(look_at(sem).waiters == 1);
	stop(&last, sem);
	weir_named_release(sem, 1);
	CHECK_EQ(look_at(sem).granted, 1);
	puppet_kill(&last);
	CHECK_EQ(puppet_hear(&first), WEIR_OK);
	CHECK_EQ(puppet_hear(&second), WEIR_OK);
	puppet_end(&first);
	puppet_end(&second);
	close_named(sem);
}

NAMESPACE_TEST(c11_c37_the_last_to_come_dies_ahead_of_oversized_waiters)
{
	const char *name = fresh_name();
	struct puppet first = puppet_at(name, 2), second = puppet_at(name, 2);
	struct puppet last = puppet_at(name, 2);
	weir_named *sem = open_named(name, 2);

	CHECK_OK(weir_named_acquire(sem, 2, NULL));
	puppet_tell(&first, PUPPET_ACQUIRE_CTX, 3, 0, NULL);
	AWAIT(look_at(sem).oversized == 1);
	puppet_tell(&second, PUPPET_ACQUIRE_CTX, 3, 0, NULL);
	AWAIT(look_at(sem).oversized == 2);
	puppet_tell(&last, PUPPET_ACQUIRE, 1, 0, NULL);
	AWAIT(look_at(sem).waiters == 1);
	stop(&last, sem);
	CHECK_OK(weir_named_resize(sem, 3, NULL));
	CHECK_EQ(look_at(sem).granted, 1);
	CHECK_EQ(look_at(sem).waiters, 2);
	weir_named_release(sem, 2);
	puppet_kill(&last);
	CHECK_EQ(puppet_hear(&first), WEIR_OK);
	CHECK_EQ(puppet_do(&first, PUPPET_RELEASE, 3), WEIR_OK);
	CHECK_EQ(puppet_hear(&second), WEIR_OK);
	puppet_end(&first);
	puppet_end(&second);
	close_named(sem);
}
