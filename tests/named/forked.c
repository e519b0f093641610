/* SPDX-License-Identifier: MIT */
/*
 * C29, C37: a thread forks while another is opening or closing a handle.  The
 * child must not inherit the file description whose byte lock shows that the
 * process is still alive.
 *
 * The opening or closing thread is held inside a call to libc that the linker
 * wraps.  There it waits until the fork has been made, or until the forking
 * thread blocks.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "named/handle.h"
#include "puppet.h"

static const char *plan;		/* the call to wait in */
static int inside, forking, forked;	/* atomic */

static int get(const int *flag)
{
	return __atomic_load_n(flag, __ATOMIC_ACQUIRE);
}

static void set(int *flag)
{
	__atomic_store_n(flag, 1, __ATOMIC_RELEASE);
}

/* Returns true if the first thread sleeps, as it does in the fork handler. */
static bool first_sleeps(void)
{
	char text[200] = "", *end;
	int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);

	CHECK(fd >= 0 && read(fd, text, sizeof(text) - 1) > 0);
	close(fd);
	end = strrchr(text, ')');
	return end && end[2] == 'S';
}

static void meet(const char *call)
{
	if (!plan || strcmp(call, plan) || get(&inside))
		return;
	set(&inside);
	AWAIT(get(&forking) && (get(&forked) || first_sleeps()));
}

ssize_t __real_pread64(int fd, void *to, size_t size, off_t at);
ssize_t __wrap_pread64(int fd, void *to, size_t size, off_t at);
ssize_t __wrap_pread64(int fd, void *to, size_t size, off_t at)
{
	meet("pread64");
	return __real_pread64(fd, to, size, at);
}

int __real_munmap(void *at, size_t size);
int __wrap_munmap(void *at, size_t size);
int __wrap_munmap(void *at, size_t size)
{
	meet("munmap");
	return __real_munmap(at, size);
}

/* Call fork(2) while fn runs on another thread and is inside `call`. */
static pid_t fork_during(const char *call, void *(*fn)(void *), void *arg)
{
	check_thread thread;
	pid_t child;

	plan = call;
	thread = start(fn, arg);
	AWAIT(get(&inside));
	set(&forking);
	child = fork();
	CHECK(child >= 0);
	if (child) {
		set(&forked);
		finish(thread);
	}
	return child;
}

static weir_named *open_strict(const char *name)
{
	weir_named_opts opts = { .capacity = 1, .flags = WEIR_NAMED_CREATE,
				 .policy = WEIR_NAMED_STRICT };
	weir_named *sem = NULL;

	CHECK_OK(weir_named_open(name, &opts, &sem));
	return sem;
}

static const char *name;
static weir_named *other;

static void *open_other(void *arg)
{
	other = open_strict(name);
	return arg;
}

static void *close_other(void *arg)
{
	close_named(other);
	return arg;
}

NAMESPACE_TEST(c29_c37_a_fork_while_a_handle_is_opened)
{
	weir_named *sem;
	int ready[2];
	pid_t holder;
	char byte;

	name = fresh_name();
	sem = open_strict(name);
	CHECK_EQ(pipe2(ready, O_CLOEXEC), 0);
	holder = fork();
	CHECK(holder >= 0);
	if (!holder) {
		if (!fork_during("pread64", open_other, NULL))
			for (;;)
				pause();
		CHECK_OK(weir_named_acquire(other, 1, NULL));
		CHECK_EQ(write(ready[1], "", 1), 1);
		for (;;)
			pause();
	}
	CHECK_EQ(read(ready[0], &byte, 1), 1);
	CHECK_ERR(weir_named_try_acquire(sem, 1), WEIR_EAGAIN);
	kill_hard(holder);
	CHECK_EQ(waitpid(holder, NULL, 0), holder);
	CHECK_OK(weir_named_acquire_for(sem, 1, 60000000000));
	weir_named_release(sem, 1);
	close_named(sem);
	close(ready[0]);
	close(ready[1]);
}

/* The number of open descriptors of semaphore files. */
static int count_files(void)
{
	DIR *folder = opendir("/proc/self/fd");
	struct dirent *entry;
	char link[300];
	int count = 0;

	CHECK(folder);
	while ((entry = readdir(folder))) {
		ssize_t size = readlinkat(dirfd(folder), entry->d_name, link,
					  sizeof(link) - 1);

		link[size > 0 ? size : 0] = 0;
		if (strstr(link, ".weir"))
			count++;
	}
	closedir(folder);
	return count;
}

NAMESPACE_TEST(c29_a_fork_while_a_handle_is_closed)
{
	pid_t child;
	int status;

	name = fresh_name();
	other = open_strict(name);
	child = fork_during("munmap", close_other, NULL);
	if (!child)
		_exit(count_files());
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK(WIFEXITED(status));
	CHECK_EQ(WEXITSTATUS(status), 0);
}

/*
 * The child joins at its first call.  The results of its parent's keeper, and the
 * finished calls of its parent, do not count there.
 */
TEST(c29_the_child_of_a_fork_begins_anew)
{
	weir_named *sem = open_named(fresh_name(), 2);
	pid_t child;
	int status;

	CHECK_OK(weir_named_acquire(sem, 1, NULL));
	/* The keeper sleeps, and no call reads these before the fork. */
	sem->checked = sem->lost = sem->stop = sem->finished = 1;
	sem->polls = true;
	sem->owed = 1;
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		CHECK_EQ(sem->ticket, 0);
		CHECK_OK(weir_named_try_acquire(sem, 1));
		CHECK(!sem->checked && !sem->lost && !sem->stop && !sem->polls);
		CHECK(!sem->finished && !sem->owed && !sem->calls);
		CHECK_EQ(look_at(sem).held, 2);
		CHECK_EQ(look_at(sem).participants, 2);
		_exit(0);
	}
	sem->checked = sem->lost = sem->stop = sem->finished = 0;
	sem->polls = false;
	sem->owed = 0;
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	CHECK_OK(weir_named_acquire(sem, 1, NULL));
	close_named(sem);
}
