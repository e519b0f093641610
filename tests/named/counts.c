/* SPDX-License-Identifier: MIT */
/*
 * The counts of weir_named_stat: permits that came back from dead holders, and
 * releases that were refused.
 */
#include <signal.h>
#include <sys/wait.h>

#include "named/lock.h"
#include "process.h"
#include "puppet.h"

static uint64_t reclaimed_of(weir_named *sem)
{
	return look_at(sem).reclaimed;
}

NAMESPACE_TEST(c37_permits_of_dead_holders_are_counted_once)
{
	const char *name = fresh_name();
	struct puppet first = puppet_at(name, 5), second = puppet_at(name, 5);
	weir_named *sem = open_named(name, 5);

	CHECK_EQ(puppet_do(&first, PUPPET_ACQUIRE, 2), WEIR_OK);
	CHECK_EQ(puppet_do(&second, PUPPET_ACQUIRE, 1), WEIR_OK);
	CHECK_EQ(puppet_do(&second, PUPPET_RELEASE, 1), WEIR_OK);
	CHECK_EQ(reclaimed_of(sem), 0);
	puppet_kill(&first);
	CHECK_EQ(reclaimed_of(sem), 2);
	/* The next critical section buries the dead process, if none has. */
	CHECK_OK(weir_named_acquire(sem, 5, NULL));
	weir_named_release(sem, 5);
	CHECK_EQ(look_at(sem).participants, 2);
	CHECK_EQ(reclaimed_of(sem), 2);
	/* A handle that is closed gives its permits back: nothing is lost. */
	CHECK_EQ(puppet_do(&second, PUPPET_ACQUIRE, 3), WEIR_OK);
	CHECK_EQ(puppet_do(&second, PUPPET_CLOSE_HANDLE, 0), WEIR_OK);
	CHECK_EQ(reclaimed_of(sem), 2);
	puppet_end(&second);
	close_named(sem);
}

NAMESPACE_TEST(c37_a_death_that_no_process_notices_is_counted)
{
	const char *name = fresh_name();
	weir_named_opts opts = { .flags = WEIR_NAMED_OBSERVER };
	struct puppet holder = puppet_at(name, 2);
	weir_named *observer, *sem;

	CHECK_OK(weir_named_open(name, &opts, &observer));
	CHECK_EQ(puppet_do(&holder, PUPPET_ACQUIRE, 2), WEIR_OK);
	puppet_kill(&holder);
	CHECK_EQ(reclaimed_of(observer), 2);
	sem = open_named(name, 2);
	CHECK_EQ(reclaimed_of(observer), 2);
	close_named(sem);
	CHECK_EQ(reclaimed_of(observer), 2);
	CHECK_OK(weir_named_close_handle(observer));
}

NAMESPACE_TEST(c37_a_grant_whose_call_has_not_returned_is_counted)
{
	const char *name = fresh_name();
	struct puppet waiter = puppet_at(name, 2);
	weir_named *sem = open_named(name, 2);

	CHECK_OK(weir_named_acquire(sem, 2, NULL));
	puppet_tell(&waiter, PUPPET_ACQUIRE, 1, 0, NULL);
	AWAIT(look_at(sem).waiters == 1);
	/* A process that is stopped with the lock would block all others. */
	CHECK_OK(nm_lock(sem, NULL));
	CHECK(process_signal(waiter.pid, SIGSTOP));
	CHECK_EQ(waitpid(waiter.pid, NULL, WUNTRACED), waiter.pid);
	nm_unlock(sem);
	weir_named_release(sem, 2);
	CHECK_EQ(look_at(sem).granted, 1);
	puppet_kill(&waiter);
	CHECK_EQ(reclaimed_of(sem), 1);
	CHECK_OK(weir_named_acquire(sem, 2, NULL));
	CHECK_EQ(reclaimed_of(sem), 1);
	close_named(sem);
}

NAMESPACE_TEST(refused_releases_are_counted)
{
	const char *name = fresh_name();
	weir_named *sem = open_named(name, 2);

	CHECK_OK(weir_named_acquire(sem, 1, NULL));
	CHECK_EQ(look_at(sem).misuses, 0);
	CHECK_EQ(weir_named_try_release(sem, 2), WEIR_EOVERFLOW);
	CHECK_OK(weir_named_try_release(sem, 1));
	CHECK_EQ(weir_named_try_release(sem, 1), WEIR_EOVERFLOW);
	CHECK_EQ(look_at(sem).misuses, 2);
	CHECK_EQ(reclaimed_of(sem), 0);
	close_named(sem);
}
