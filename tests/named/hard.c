/* SPDX-License-Identifier: MIT */
/*
 * The hard cases of C37 and C40: large holders, many holders, reused PIDs,
 * processes that die slowly, and the limits.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "named/format.h"
#include "process.h"
#include "puppet.h"

static bool full(void)
{
	return getenv("WEIR_FULL") && *getenv("WEIR_FULL");
}

NAMESPACE_TEST(c37_a_large_holder_is_noticed_as_fast_as_a_small_one)
{
	static const int64_t sizes[] = { 1 << 20, 512 << 20,
					 INT64_C(2048) << 20 };
	int last = full() ? 3 : 2;

	for (int i = 0; i < last; i++) {
		const char *name = fresh_name();
		struct puppet holder = puppet_at(name, 1);
		weir_named *sem = open_named(name, 1);
		int64_t killed, granted;

		CHECK_EQ(puppet_do(&holder, PUPPET_ACQUIRE, 1), WEIR_OK);
		CHECK_EQ(puppet_do(&holder, PUPPET_EAT, sizes[i]), 0);
		killed = weir_now_ns();
		kill_hard(holder.pid);
		CHECK_OK(weir_named_acquire(sem, 1, NULL));
		granted = weir_now_ns();
		CHECK_EQ(waitpid(holder.pid, NULL, 0), holder.pid);
		close(holder.fd);
		printf("evidence: death to grant, a holder of %" PRId64
		       " MB | %.2f ms\n", sizes[i] >> 20,
		       (double)(granted - killed) / 1e6);
		close_named(sem);
	}
}

NAMESPACE_TEST(c37_more_holders_than_one_sleep_can_watch)
{
	enum { HOLDERS = 300 };
	static struct puppet holders[HOLDERS];
	const char *name = fresh_name();
	struct puppet waiter;
	weir_named *sem = open_named(name, HOLDERS);
	uint64_t random = seed_of(5);

	for (int i = 0; i < HOLDERS; i++) {
		holders[i] = puppet_at(name, HOLDERS);
		CHECK_EQ(puppet_do(&holders[i], PUPPET_ACQUIRE, 1), WEIR_OK);
	}
	waiter = puppet_at(name, HOLDERS);
	for (int i = 0; i < 20; i++) {
		int k = (int)random_below(&random, HOLDERS);

		while (!holders[k].pid)
			k = (k + 1) % HOLDERS;
		puppet_tell(&waiter, PUPPET_ACQUIRE, 1, 0, NULL);
		AWAIT(look_at(sem).waiters == 1);
		puppet_kill(&holders[k]);
		holders[k].pid = 0;
		CHECK_EQ(puppet_hear(&waiter), WEIR_OK);
	}
	CHECK_EQ(look_at(sem).held, HOLDERS);
	puppet_end(&waiter);
	for (int i = 0; i < HOLDERS; i++)
		if (holders[i].pid)
			puppet_end(&holders[i]);
	close_named(sem);
}

/* As in <linux/sched.h>, which some C libraries do not ship. */
struct clone_args {
	uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack,
		stack_size, tls, set_tid, set_tid_size, cgroup;
};

NAMESPACE_TEST(c40_a_reused_pid_does_not_look_alive)
{
	const char *name = fresh_name();
	struct puppet holder;
	weir_named *sem;
	pid_t again, pid;
	struct clone_args args = { .exit_signal = SIGCHLD,
				   .set_tid = (uintptr_t)&again,
				   .set_tid_size = 1 };

	if (!in_own_namespace()) {
		check_skip("needs a PID namespace, to choose a PID");
		return;
	}
	holder = puppet_at(name, 1);
	sem = open_named(name, 1);
	again = holder.pid;
	CHECK_EQ(puppet_do(&holder, PUPPET_ACQUIRE, 1), WEIR_OK);
	puppet_kill(&holder);
	pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	if (!pid)
		for (;;)
			pause();
	CHECK_EQ(pid, again);
	CHECK(!kill(pid, 0));
	/* Our keeper, which notices the death as well, may have the lock. */
	AWAIT(weir_named_try_acquire(sem, 1) == WEIR_OK);
	kill_hard(pid);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
	close_named(sem);
}

/*
 * A process that dies slowly: it has a child from a bare clone(2), which
 * bypasses the fork handlers and keeps the files open for a while.
 */
static void slow_death(weir_named_policy policy)
{
	const char *name = fresh_name();
	struct puppet waiter;
	weir_named *sem;
	weir_named_info info;
	weir_named_entry entry;
	int ends[2];
	pid_t holder, part;

	CHECK(!pipe(ends));
	holder = fork();
	CHECK(holder >= 0);
	if (!holder) {
		weir_named_opts opts = { .capacity = 1, .policy = policy,
					 .flags = WEIR_NAMED_CREATE };
		weir_named *own;

		if (weir_named_open(name, &opts, &own) ||
		    weir_named_acquire(own, 1, NULL))
			_exit(1);
		part = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
		if (!part)
			for (;;)
				pause();
		if (write(ends[1], &part, sizeof(part)) != sizeof(part))
			_exit(1);
		for (;;)
			pause();
	}
	CHECK_EQ(read(ends[0], &part, sizeof(part)), sizeof(part));
	close(ends[0]);
	close(ends[1]);
	sem = open_named(name, 1);
	waiter = puppet_at(name, 1);
	puppet_tell(&waiter, PUPPET_ACQUIRE, 1, 0, NULL);
	AWAIT(look_at(sem).waiters == 1);
	kill_hard(holder);
	CHECK_EQ(waitpid(holder, NULL, 0), holder);
	if (policy == WEIR_NAMED_STRICT) {
		/* Listed as dead, and its permit is still held. */
		AWAIT(!weir_named_stat(sem, &info, &entry, 1) && entry.dead);
		CHECK_EQ(info.held, 1);
		CHECK_EQ(info.waiters, 1);
		kill_hard(part);
	}
	CHECK_EQ(puppet_hear(&waiter), WEIR_OK);
	if (policy == WEIR_NAMED_FAST)
		kill_hard(part);
	puppet_end(&waiter);
	close_named(sem);
}

NAMESPACE_TEST(c37_fast_frees_permits_at_the_death)
{
	slow_death(WEIR_NAMED_FAST);
}

NAMESPACE_TEST(c37_strict_frees_permits_after_the_last_thread)
{
	slow_death(WEIR_NAMED_STRICT);
}

/* --- limits --- */

TEST(limit_participants)
{
	static weir_named *handles[WEIR_NAMED_PARTICIPANTS_MAX];
	struct rlimit limit;
	const char *name = fresh_name();
	char why[200] = "";
	weir_named_opts opts = { .why = why, .why_size = sizeof(why) };
	weir_named *more;
	int wanted = full() ? WEIR_NAMED_PARTICIPANTS_MAX : 64, count;

	CHECK(!getrlimit(RLIMIT_NOFILE, &limit));
	limit.rlim_cur = limit.rlim_max;
	CHECK(!setrlimit(RLIMIT_NOFILE, &limit));
	for (count = 0; count < wanted; count++)
		handles[count] = open_named(name, 1);
	CHECK_EQ(look_at(handles[0]).participants, wanted);
	if (full()) {
		CHECK_ERR(weir_named_open(name, &opts, &more), WEIR_EBUSY);
		CHECK(strstr(why, "4096"));
	}
	for (int i = 0; i < count; i++)
		close_named(handles[i]);
}

static void *wait_for_one(void *arg)
{
	CHECK_OK(weir_named_acquire(arg, 1, NULL));
	weir_named_release(arg, 1);
	return NULL;
}

TEST(limit_waiters)
{
	static pthread_t threads[4200];
	int wanted = full() ? 4200 : 200;
	const char *name = fresh_name();
	weir_named *sem = open_named(name, 1);
	pthread_attr_t attr;

	CHECK(!pthread_attr_init(&attr));
	CHECK(!pthread_attr_setstacksize(&attr, 262144));
	CHECK_OK(weir_named_acquire(sem, 1, NULL));
	for (int i = 0; i < wanted; i++)
		CHECK(!pthread_create(&threads[i], &attr, wait_for_one, sem));
	AWAIT(look_at(sem).waiters == (uint32_t)wanted);
	weir_named_release(sem, 1);
	for (int i = 0; i < wanted; i++)
		CHECK(!pthread_join(threads[i], NULL));
	CHECK_EQ(look_at(sem).free, 1);
	pthread_attr_destroy(&attr);
	close_named(sem);
}

/* The table of waiting calls is full: an error, and no change. */
TEST(limit_waiters_a_full_table_is_ebusy)
{
	const char *name = fresh_name();
	weir_named *sem = open_named(name, 1);
	struct nm_header *head;
	char path[300];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s.weir", getenv("WEIR_DIR"),
		       name);
	fd = open(path, O_RDWR | O_CLOEXEC);
	CHECK(fd >= 0);
	head = mmap(NULL, NM_FILE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		    0);
	CHECK(head != MAP_FAILED);
	close(fd);
	CHECK_OK(weir_named_acquire(sem, 1, NULL));
	/* As if all records were in use. */
	head->records_high = NM_RECORDS;
	CHECK_ERR(weir_named_acquire_for(sem, 1, INT64_MAX), WEIR_EBUSY);
	head->records_high = 0;
	CHECK_ERR(weir_named_acquire_for(sem, 1, 1000000), WEIR_ETIMEDOUT);
	munmap(head, NM_FILE_SIZE);
	close_named(sem);
}
