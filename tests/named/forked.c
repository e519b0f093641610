/* SPDX-License-Identifier: MIT */
/*
 * C29, C37: a thread forks while another is opening or closing a handle, or
 * removes its name.  The child must not inherit a file description of that
 * thread: its byte locks show that the process is still alive, or that a name is
 * in use.  And: the child of a fork, and two threads that join or lend at once.
 *
 * The second thread is held inside a call to libc that the linker wraps.  There
 * it waits until the first thread has forked or finished its call, or until the
 * first thread blocks.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "file.h"
#include "named/handle.h"
#include "puppet.h"

static const char *plan;		/* the call to wait in */
static int inside, begun, done;		/* atomic; the last two: by the first thread */
static bool no_proc;			/* /proc is not mounted */

static int get(const int *flag)
{
	return __atomic_load_n(flag, __ATOMIC_ACQUIRE);
}

static void set(int *flag)
{
	__atomic_store_n(flag, 1, __ATOMIC_RELEASE);
}

/* Returns true if the first thread sleeps: it waits for the mutex `opens`. */
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
	AWAIT(get(&begun) && (get(&done) || first_sleeps()));
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

int __real_unlink(const char *path);
int __wrap_unlink(const char *path);
int __wrap_unlink(const char *path)
{
	meet("unlink");
	return __real_unlink(path);
}

/* A process that joins reads the number of its PID namespace. */
int __real_stat64(const char *path, struct stat *info);
int __wrap_stat64(const char *path, struct stat *info);
int __wrap_stat64(const char *path, struct stat *info)
{
	meet("stat64");
	if (no_proc && !strncmp(path, "/proc/", 6)) {
		errno = ENOENT;
		return -1;
	}
	return __real_stat64(path, info);
}

int __real_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...)
{
	va_list args;
	mode_t mode = 0;

	va_start(args, flags);
	if (flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE)
		mode = va_arg(args, mode_t);
	va_end(args);
	if (strstr(path, NM_LENT_PREFIX))
		meet("open64");
	return __real_open64(path, flags, mode);
}

/* Call fork(2) while fn runs on another thread and is inside `call`. */
static pid_t fork_during(const char *call, void *(*fn)(void *), void *arg)
{
	check_thread thread;
	pid_t child;

	plan = call;
	thread = start(fn, arg);
	AWAIT(get(&inside));
	set(&begun);
	child = fork();
	CHECK(child >= 0);
	if (child) {
		set(&done);
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

static void *unlink_other(void *arg)
{
	CHECK_OK(weir_named_unlink_handle(other));
	return arg;
}

/* The child has one description of the file, which it has opened itself. */
NAMESPACE_TEST(c29_a_fork_while_a_name_is_removed)
{
	pid_t child;
	int status;

	name = fresh_name();
	other = open_strict(name);
	child = fork_during("unlink", unlink_other, NULL);
	if (!child) {
		CHECK_EQ(count_files(), 1);
		_exit(0);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	close_named(other);
}

static int count_threads(void)
{
	DIR *folder = opendir("/proc/self/task");
	const struct dirent *entry;
	int count = 0;

	CHECK(folder);
	while ((entry = readdir(folder)))
		count += entry->d_name[0] != '.';
	closedir(folder);
	return count;
}

/* A try would fail if the other thread has the lock for more than 10 ms. */
static void *take_other(void *arg)
{
	CHECK_OK(weir_named_acquire(other, 1, NULL));
	return arg;
}

/* The first calls of the child, on two threads: one of them joins. */
NAMESPACE_TEST(c29_two_threads_of_a_child_join_at_once)
{
	pid_t child;
	int status;

	other = open_named(fresh_name(), 3);
	CHECK_OK(weir_named_acquire(other, 1, NULL));
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		check_thread thread;

		plan = "stat64";
		thread = start(take_other, NULL);
		AWAIT(get(&inside));
		set(&begun);
		CHECK_OK(weir_named_acquire(other, 1, NULL));
		set(&done);
		finish(thread);
		CHECK_EQ(look_at(other).held, 3);
		CHECK_EQ(look_at(other).participants, 2);
		/* With the keeper of the handle. */
		AWAIT(count_threads() == 2);
		CHECK_OK(weir_named_close_handle(other));
		AWAIT(count_threads() == 1);
		_exit(0);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	CHECK_EQ(look_at(other).participants, 1);
	close_named(other);
}

static uint64_t joined_namespace(void)
{
	weir_named *sem = open_named(name, 1);
	uint64_t number = sem->mine->pid_namespace;

	close_named(sem);
	return number;
}

/* Run fn in the child of a fork. */
static void in_a_child(void (*fn)(void))
{
	pid_t child = fork();
	int status;

	CHECK(child >= 0);
	if (!child) {
		fn();
		_exit(0);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
}

static void join_without_proc(void)
{
	no_proc = true;
	CHECK_EQ(joined_namespace(), 0);
}

static void join_with_and_without_proc(void)
{
	join_without_proc();
	no_proc = false;
	CHECK(joined_namespace() > 1);
	no_proc = true;
	CHECK(joined_namespace() > 1);
	in_a_child(join_without_proc);
}

/*
 * C40: the PID namespace of a participant is unknown without /proc.  A process
 * reads its number once, and the child of a fork reads its own.
 */
TEST(c40_a_join_without_proc)
{
	name = fresh_name();
	in_a_child(join_with_and_without_proc);
}

static void *lend_other(void *arg)
{
	CHECK_OK(weir_named_lend(other, arg));
	return NULL;
}

/* One of them creates the lent file. */
NAMESPACE_TEST(c37_two_threads_lend_at_once)
{
	check_thread thread;
	int first, second;

	other = open_strict(fresh_name());
	plan = "open64";
	thread = start(lend_other, &second);
	AWAIT(get(&inside));
	set(&begun);
	CHECK_OK(weir_named_lend(other, &first));
	set(&done);
	finish(thread);
	CHECK_EQ(count_lent(), 1);
	close(first);
	close(second);
	close_named(other);
	CHECK_EQ(count_lent(), 0);
}

/* The child lends its own permits: its first call joins. */
TEST(c29_c37_the_child_of_a_fork_lends)
{
	weir_named *sem = open_strict(fresh_name());
	pid_t child;
	int status, fd;

	CHECK_OK(weir_named_lend(sem, &fd));
	close(fd);
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		/* The limit of the parent is not inherited. */
		alarm(60);
		CHECK_OK(weir_named_lend(sem, &fd));
		CHECK_EQ(count_lent(), 2);
		CHECK_EQ(look_at(sem).participants, 2);
		close(fd);
		CHECK_OK(weir_named_close_handle(sem));
		_exit(0);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	CHECK_EQ(count_lent(), 1);
	close_named(sem);
	CHECK_EQ(count_lent(), 0);
}

/* The child opens the file as descriptor 0. */
TEST(c29_the_child_of_a_process_without_standard_input)
{
	int input = fcntl(0, F_DUPFD_CLOEXEC, 3);
	weir_named *sem = open_named(fresh_name(), 1);
	pid_t child;
	int status;

	CHECK(input < 0 || !close(0));
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		alarm(60);
		CHECK(sem->fd == 0 || input < 0);
		CHECK_OK(weir_named_try_acquire(sem, 1));
		CHECK_OK(weir_named_close_handle(sem));
		_exit(0);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	close_named(sem);
	CHECK(input < 0 || (dup2(input, 0) == 0 && !close(input)));
}

/*
 * The child joins at its first call.  The results of its parent's keeper, and the
 * finished calls of its parent, do not count there.
 */
TEST(c29_the_child_of_a_fork_begins_anew)
{
	weir_named *sem = open_named(fresh_name(), 2);
	weir_named_entry entry;
	weir_named_info info;
	pid_t child;
	int status;

	CHECK_OK(weir_named_acquire(sem, 1, NULL));
	/* The keeper sleeps, and no call reads these before the fork. */
	sem->checked = sem->lost = sem->stop = sem->finished = 1;
	sem->calls = 1;
	sem->polls = sem->repairing = true;
	sem->owed = 1;
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		alarm(60);
		CHECK_EQ(sem->ticket, 0);
		CHECK(!sem->calls && !sem->repairing && !sem->mine);
		/* The holder is the parent. */
		CHECK_OK(weir_named_stat(sem, &info, &entry, 1));
		CHECK_EQ(info.entries, 1);
		CHECK(!entry.mine);
		CHECK_OK(weir_named_try_acquire(sem, 1));
		CHECK(!sem->checked && !sem->lost && !sem->stop && !sem->polls);
		CHECK(!sem->finished && !sem->owed && !sem->calls);
		CHECK_EQ(look_at(sem).held, 2);
		CHECK_EQ(look_at(sem).participants, 2);
		_exit(0);
	}
	sem->checked = sem->lost = sem->stop = sem->finished = 0;
	sem->calls = 0;
	sem->polls = sem->repairing = false;
	sem->owed = 0;
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	CHECK_OK(weir_named_acquire(sem, 1, NULL));
	close_named(sem);
}
