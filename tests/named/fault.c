/* SPDX-License-Identifier: MIT */
/*
 * C16: failing system calls.  Creating, opening and using a named semaphore
 * makes calls to libc.  Each such call that can fail is made to fail at its
 * first occurrence, its second, and so on, once each.  The library must then
 * report the error, leak no descriptor, thread or memory, and work the next
 * time.
 *
 * The linker wraps the calls in their 64-bit forms, which are the ones that
 * glibc uses.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "puppet.h"

static const char *plan;	/* the call that fails */
static int plan_errno;
static int64_t countdown;	/* at which occurrence; 0: has failed */
static bool on;			/* only inside the library */
static bool no_tmpfile;		/* the file system has no O_TMPFILE */

static bool fails(const char *call)
{
	if (!on || !plan || strcmp(call, plan) || countdown <= 0)
		return false;
	if (--countdown)
		return false;
	errno = plan_errno;
	return true;
}

#define WRAP(type, name, parameters, arguments, failure)                       \
	type __real_##name parameters;                                         \
	type __wrap_##name parameters;                                         \
	type __wrap_##name parameters                                          \
	{                                                                      \
		return fails(#name) ? (failure) : __real_##name arguments;     \
	}

WRAP(int, fstat64, (int fd, struct stat *info), (fd, info), -1)
WRAP(int, ftruncate64, (int fd, off_t size), (fd, size), -1)
WRAP(int, posix_fallocate64, (int fd, off_t from, off_t size),
     (fd, from, size), plan_errno)
WRAP(ssize_t, pread64, (int fd, void *to, size_t size, off_t at),
     (fd, to, size, at), -1)
WRAP(ssize_t, pwrite64, (int fd, const void *from, size_t size, off_t at),
     (fd, from, size, at), -1)
WRAP(int, fchmod, (int fd, mode_t mode), (fd, mode), -1)
WRAP(int, linkat, (int from, const char *a, int to, const char *b, int flags),
     (from, a, to, b, flags), -1)
WRAP(void *, mmap64, (void *at, size_t size, int prot, int flags, int fd,
		      off_t from), (at, size, prot, flags, fd, from),
     MAP_FAILED)
WRAP(int, pthread_create, (pthread_t *thread, const pthread_attr_t *attr,
			   void *(*fn)(void *), void *arg),
     (thread, attr, fn, arg), plan_errno)
WRAP(int, pthread_attr_init, (pthread_attr_t *attr), (attr), plan_errno)
WRAP(int, posix_memalign, (void **to, size_t align, size_t size),
     (to, align, size), plan_errno)
WRAP(int, lstat64, (const char *path, struct stat *info), (path, info), -1)

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
	if (on && no_tmpfile && (flags & O_TMPFILE) == O_TMPFILE) {
		errno = EOPNOTSUPP;
		return -1;
	}
	return fails("open64") ? -1 : __real_open64(path, flags, mode);
}

int __real_fcntl64(int fd, int command, ...);
int __wrap_fcntl64(int fd, int command, ...);
int __wrap_fcntl64(int fd, int command, ...)
{
	va_list args;
	void *arg;

	va_start(args, command);
	arg = va_arg(args, void *);
	va_end(args);
	return fails("fcntl64") ? -1 : __real_fcntl64(fd, command, arg);
}

static void *wait_a_moment(void *arg)
{
	weir_err err = weir_named_acquire_for(arg, 1, 1000000);

	CHECK(err == WEIR_ETIMEDOUT || err == WEIR_ESYSTEM);
	return NULL;
}

/* Use everything once.  Returns true if every call succeeded. */
static bool work(const char *name)
{
	weir_named_opts opts = { .capacity = 1, .flags = WEIR_NAMED_CREATE };
	weir_named *sem = NULL, *other = NULL;
	weir_named_info info;
	check_thread thread;
	weir_err err;
	bool well;

	on = true;
	err = weir_named_open(name, &opts, &sem);
	on = false;
	if (err) {
		CHECK(!sem);
		return false;
	}
	on = true;
	err = weir_named_open(name, &opts, &other);
	on = false;
	CHECK_OK(weir_named_acquire(sem, 1, NULL));
	thread = start(wait_a_moment, sem);
	finish(thread);
	on = true;
	/* The first call that waits reserves storage for a record. */
	well = weir_named_acquire_for(sem, 1, 1000000) == WEIR_ETIMEDOUT &&
	       !err;
	if (weir_named_stat(sem, &info, NULL, 0))
		well = false;
	on = false;
	CHECK_OK(weir_named_stat(sem, &info, NULL, 0));
	CHECK_EQ(info.held, 1);
	CHECK_EQ(info.waiters, 0);
	weir_named_release(sem, 1);
	CHECK_EQ(look_at(sem).free, 1);
	if (other)
		close_named(other);
	close_named(sem);
	CHECK_OK(weir_named_unlink(name));
	return well;
}

static int64_t points;

/* Fail `call` at each of its occurrences. */
static void refuse(const char *call, int number)
{
	for (int64_t k = 1;; k++) {
		const char *name = fresh_name();

		plan = call;
		plan_errno = number;
		countdown = k;
		(void)work(name);
		plan = NULL;
		if (countdown)
			return;
		points++;
		/* After the failure the same work must succeed. */
		(void)!weir_named_unlink(name);
		CHECK(work(name));
	}
}

TEST(c16_every_libc_call_fails_once)
{
	static const struct {
		const char *call;
		int number;
	} plans[] = {
		{ "open64", EMFILE },	    { "open64", EACCES },
		{ "fstat64", EIO },	    { "ftruncate64", EFBIG },
		{ "posix_fallocate64", ENOSPC },
		{ "pread64", EIO },	    { "pwrite64", ENOSPC },
		{ "fchmod", EPERM },	    { "linkat", EACCES },
		{ "mmap64", ENOMEM },	    { "pthread_create", EAGAIN },
		{ "pthread_attr_init", ENOMEM }, { "posix_memalign", ENOMEM },
		{ "fcntl64", ENOLCK },	    { "lstat64", EACCES },
	};

	for (size_t i = 0; i < sizeof(plans) / sizeof(plans[0]); i++)
		refuse(plans[i].call, plans[i].number);
	CHECK(points >= 15);
	printf("evidence: refusals of the system, named semaphores | %" PRId64
	       "\n", points);
}

/* Open reserves storage in the file, and so does the first call that waits. */
TEST(c18_a_signal_while_storage_is_reserved)
{
	int64_t k;

	for (k = 1;; k++) {
		plan = "posix_fallocate64";
		plan_errno = EINTR;
		countdown = k;
		CHECK(work(fresh_name()));
		plan = NULL;
		if (countdown)
			break;
	}
	CHECK(k > 2);
}

/* The file has a temporary name then, also if its creation fails. */
TEST(c38_a_file_system_without_unnamed_files)
{
	DIR *folder;
	struct dirent *entry;

	no_tmpfile = true;
	CHECK(work(fresh_name()));
	refuse("open64", EACCES);
	refuse("fchmod", EPERM);
	refuse("pwrite64", ENOSPC);
	no_tmpfile = false;
	folder = opendir(getenv("WEIR_DIR"));
	CHECK(folder);
	while ((entry = readdir(folder)))
		CHECK(strncmp(entry->d_name, ".weir-temp-", 11));
	closedir(folder);
}
