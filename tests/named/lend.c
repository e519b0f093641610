/* SPDX-License-Identifier: MIT */
/*
 * Functions for programs that run other programs: permits that stay held until
 * the last child has ended (C37), unlinking by handle, and paths.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "file.h"
#include "named/lock.h"
#include "process.h"
#include "puppet.h"

static weir_named *open_strict(const char *name)
{
	weir_named_opts opts = { .capacity = 1, .flags = WEIR_NAMED_CREATE,
				 .policy = WEIR_NAMED_STRICT };
	weir_named *sem;

	CHECK_OK(weir_named_open(name, &opts, &sem));
	return sem;
}

/*
 * A holder with a child that ends on request.  If the holder lends, the child
 * has the lent descriptor and executes another program.  With ACQUIRES_LATE, the
 * process acquires its permit after the child has been started.
 */
enum { LENDS = 1, ACQUIRES_LATE = 2 };
struct lender {
	pid_t pid;
	int tell;	/* a byte written here ends the child */
};

static _Noreturn void be_child(int in, int out, int lent)
{
	char byte;

	if (lent >= 0) {
		/* The script reports when it has started. */
		static const char script[] = "echo; read line";

		CHECK_EQ(fcntl(lent, F_SETFD, 0), 0);
		CHECK_EQ(dup2(in, 0), 0);
		CHECK_EQ(dup2(out, 1), 1);
		execl("/bin/sh", "sh", "-c", script, (char *)NULL);
		_exit(1);
	}
	CHECK_EQ(write(out, "", 1), 1);
	CHECK_EQ(read(in, &byte, 1), 1);
	_exit(0);
}

static struct lender lender_start(const char *name, int how)
{
	struct lender lender;
	int ready[2], go[2];
	char byte;

	CHECK_EQ(pipe2(ready, O_CLOEXEC), 0);
	CHECK_EQ(pipe2(go, O_CLOEXEC), 0);
	lender.pid = fork();
	CHECK(lender.pid >= 0);
	if (!lender.pid) {
		weir_named *sem = open_strict(name);
		int fd = -1;

		if (!(how & ACQUIRES_LATE))
			CHECK_OK(weir_named_acquire(sem, 1, NULL));
		if (how & LENDS)
			CHECK_OK(weir_named_lend(sem, &fd));
		if (!fork())
			be_child(go[0], ready[1], fd);
		if (how & ACQUIRES_LATE)
			CHECK_OK(weir_named_acquire(sem, 1, NULL));
		for (;;)
			pause();
	}
	close(go[0]);
	lender.tell = go[1];
	CHECK_EQ(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return lender;
}

NAMESPACE_TEST(c37_a_lent_descriptor_keeps_a_dead_holders_permits_held)
{
	const char *name = fresh_name();
	weir_named *sem = open_strict(name);
	struct lender lender = lender_start(name, LENDS);
	struct puppet waiter = puppet_at(name, 1);
	weir_named_entry entry;
	weir_named_info info;

	puppet_tell(&waiter, PUPPET_ACQUIRE, 1, 0, NULL);
	AWAIT(look_at(sem).waiters == 1);
	kill_hard(lender.pid);
	CHECK_EQ(waitpid(lender.pid, NULL, 0), lender.pid);
	CHECK_OK(weir_named_stat(sem, &info, &entry, 1));
	CHECK_EQ(info.held, 1);
	CHECK_EQ(info.waiters, 1);
	CHECK(entry.dead);
	CHECK_ERR(weir_named_try_acquire(sem, 1), WEIR_EAGAIN);
	CHECK_EQ(write(lender.tell, "\n", 1), 1);
	CHECK_EQ(puppet_hear(&waiter), WEIR_OK);
	close(lender.tell);
	puppet_kill(&waiter);
	close_named(sem);
}

/* Requires: the only free permit has been granted to a dead lender. */
static void check_granted_to_the_dead(weir_named *sem)
{
	weir_named_entry entry;
	weir_named_info info;

	CHECK_OK(weir_named_stat(sem, &info, &entry, 1));
	CHECK_EQ(info.granted, 1);
	CHECK_EQ(info.held, 0);
	CHECK_EQ(info.free, 0);
	CHECK_EQ(info.entries, 1);
	CHECK_EQ(entry.role, WEIR_NAMED_GRANTED);
	CHECK(entry.dead);
	CHECK_EQ(weir_named_available(sem), 0);
}

/*
 * The lender is granted while it is stopped, and killed before its call returns.
 * The descriptor was lent before the grant.
 */
NAMESPACE_TEST(c37_a_lent_descriptor_keeps_a_permit_that_was_only_granted)
{
	const char *name = fresh_name();
	weir_named *sem = open_strict(name);
	struct lender lender;
	int status;

	CHECK_OK(weir_named_acquire(sem, 1, NULL));
	lender = lender_start(name, LENDS | ACQUIRES_LATE);
	AWAIT(look_at(sem).waiters == 1);
	/* A process that is stopped with the lock would block the release. */
	CHECK_OK(nm_lock(sem, NULL));
	CHECK(process_signal(lender.pid, SIGSTOP));
	CHECK_EQ(waitpid(lender.pid, &status, WUNTRACED), lender.pid);
	CHECK(WIFSTOPPED(status));
	nm_unlock(sem);
	weir_named_release(sem, 1);
	CHECK_EQ(look_at(sem).granted, 1);
	kill_hard(lender.pid);
	CHECK_EQ(waitpid(lender.pid, NULL, 0), lender.pid);
	check_granted_to_the_dead(sem);
	/* The same after a process with the lock has seen the dead lender. */
	CHECK_ERR(weir_named_try_acquire(sem, 1), WEIR_EAGAIN);
	check_granted_to_the_dead(sem);
	CHECK_EQ(write(lender.tell, "\n", 1), 1);
	AWAIT(look_at(sem).free == 1);
	CHECK_OK(weir_named_try_acquire(sem, 1));
	close(lender.tell);
	close_named(sem);
}

NAMESPACE_TEST(c29_c37_without_lending_a_forked_child_keeps_no_permits)
{
	const char *name = fresh_name();
	weir_named *sem = open_strict(name);
	struct lender lender = lender_start(name, 0);

	kill_hard(lender.pid);
	CHECK_EQ(waitpid(lender.pid, NULL, 0), lender.pid);
	AWAIT(look_at(sem).free == 1);
	CHECK_EQ(write(lender.tell, "\n", 1), 1);
	close(lender.tell);
	close_named(sem);
}

/* Make all slots above the first one seem to be in use. */
static void fill_slots(const char *name)
{
	struct file file = map_file(name);

	for (uint32_t i = 1; i < NM_SLOTS; i++) {
		file.slots[i].alive.word = 1;
		file.slots[i].state = NM_SLOT_LIVE;
	}
	file.head->slots_high = NM_SLOTS;
	unmap_file(&file);
}

static void hold_lend_and_wait(const char *name, int ready)
{
	weir_named *sem = open_strict(name);
	int fd;

	CHECK_OK(weir_named_acquire(sem, 1, NULL));
	CHECK_OK(weir_named_lend(sem, &fd));
	CHECK_EQ(write(ready, "", 1), 1);
	for (;;)
		pause();
}

/*
 * All slots are in use, so an open takes over the slot of a dead lender.  No
 * other process has buried it.
 */
NAMESPACE_TEST(c38_an_open_that_takes_over_a_slot_removes_its_lent_file)
{
	const char *name = fresh_name();
	int before = count_lent(), ready[2];
	weir_named *sem;
	char byte;
	pid_t pid;

	CHECK_EQ(pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid)
		hold_lend_and_wait(name, ready[1]);
	CHECK_EQ(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	CHECK_EQ(count_lent(), before + 1);
	kill_hard(pid);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
	fill_slots(name);
	sem = open_strict(name);
	CHECK_EQ(count_lent(), before);
	CHECK_OK(weir_named_try_acquire(sem, 1));
	close_named(sem);
	CHECK_OK(weir_named_unlink(name));
}

TEST(a_lent_descriptor_keeps_no_released_permits)
{
	const char *name = fresh_name();
	weir_named *sem = open_strict(name), *other = open_strict(name);
	int fd;

	CHECK_OK(weir_named_acquire(sem, 1, NULL));
	CHECK_OK(weir_named_lend(sem, &fd));
	CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	weir_named_release(sem, 1);
	CHECK_OK(weir_named_try_acquire(other, 1));
	weir_named_release(other, 1);
	/* The slot is free again as well. */
	CHECK_OK(weir_named_acquire(sem, 1, NULL));
	CHECK_OK(weir_named_close_handle(sem));
	CHECK_EQ(look_at(other).free, 1);
	CHECK_EQ(look_at(other).participants, 1);
	sem = open_strict(name);
	CHECK_EQ(look_at(other).participants, 2);
	close(fd);
	close_named(sem);
	close_named(other);
}

TEST(only_strict_semaphores_lend)
{
	weir_named *sem = open_named(fresh_name(), 1);
	int fd = -1;

	CHECK_ERR(weir_named_lend(sem, &fd), WEIR_EINVAL);
	CHECK_ERR(weir_named_lend(NULL, &fd), WEIR_EINVAL);
	CHECK_ERR(weir_named_lend(sem, NULL), WEIR_EINVAL);
	CHECK_EQ(fd, -1);
	close_named(sem);
}

TEST(an_observer_does_not_lend)
{
	const char *name = fresh_name();
	weir_named *sem = open_strict(name), *observer;
	weir_named_opts opts = { .flags = WEIR_NAMED_OBSERVER };
	int fd = -1, before = count_lent();

	CHECK_OK(weir_named_open(name, &opts, &observer));
	CHECK_ERR(weir_named_lend(observer, &fd), WEIR_EINVAL);
	CHECK_EQ(fd, -1);
	CHECK_EQ(count_lent(), before);
	close_named(observer);
	close_named(sem);
}

TEST(unlink_handle_removes_only_its_own_name)
{
	const char *name = fresh_name();
	weir_named *old = open_named(name, 1), *same = open_named(name, 1);
	weir_named *new;

	CHECK_OK(weir_named_unlink_handle(old));
	CHECK(look_at(old).renamed);
	new = open_named(name, 2);
	CHECK_ERR(weir_named_unlink_handle(same), WEIR_ESYSTEM);
	CHECK_EQ(errno, ESTALE);
	CHECK(!look_at(new).renamed);
	CHECK_OK(weir_named_unlink_handle(new));
	CHECK_ERR(weir_named_unlink_handle(new), WEIR_ESYSTEM);
	CHECK_ERR(weir_named_unlink_handle(NULL), WEIR_EINVAL);
	close_named(old);
	close_named(same);
	close_named(new);
}

TEST(named_path_returns_the_file_of_a_name)
{
	const char *name = fresh_name();
	weir_named *sem = open_named(name, 1);
	char path[4096], folder[4096];

	CHECK_OK(weir_named_path(name, path, sizeof(path)));
	CHECK_EQ(access(path, F_OK), 0);
	CHECK_OK(weir_named_path(NULL, folder, sizeof(folder)));
	CHECK(!strncmp(path, folder, strlen(folder)));
	CHECK_OK(weir_named_path("./here", path, sizeof(path)));
	CHECK(!strcmp(path, "./here"));
	CHECK_ERR(weir_named_path("a b", path, sizeof(path)), WEIR_EINVAL);
	CHECK_ERR(weir_named_path(name, path, 2), WEIR_EINVAL);
	CHECK_ERR(weir_named_path(name, NULL, 9), WEIR_EINVAL);
	close_named(sem);
}
