/* SPDX-License-Identifier: MIT */
/*
 * The first watched semaphore of a process: the words of WEIR_DIAG, and system
 * calls that fail.  Each test runs in a process of its own, with the
 * environment of meson.build.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "check.h"
#include "record/record.h"
#include "weir/diag.h"

static weir_sem sem;

static void init(const char *name, uint32_t flags)
{
	weir_sem_opts opts = { .permits = 2, .name = name, .flags = flags };

	CHECK_OK(weir_sem_init_opts(&sem, &opts));
}

static void use(void)
{
	weir_sem_info info;

	CHECK_OK(weir_sem_acquire(&sem, 2, NULL));
	CHECK_ERR(weir_sem_try_acquire(&sem, 1), WEIR_EAGAIN);
	CHECK_ERR(weir_sem_acquire_for(&sem, 1, 1), WEIR_ETIMEDOUT);
	weir_sem_release(&sem, 2);
	CHECK_OK(weir_sem_stat(&sem, &info));
	CHECK_EQ(info.held, 0);
	CHECK_OK(weir_sem_destroy(&sem));
}

static void not_expected(const weir_diag_object *object, void *user)
{
	(void)object;
	(void)user;
	check_fail(__FILE__, __LINE__, "an object is watched");
}

static void nothing_is_watched(uint32_t flags)
{
	init("sem", flags);
	CHECK_EQ(weir_record_of_(&sem), 0);
	CHECK(!weir_registry_->base);
	use();
	CHECK_OK(weir_diag_each(not_expected, NULL));
}

TEST(off)
{
	nothing_is_watched(0);
	nothing_is_watched(WEIR_SEM_TRACKED);
}

TEST(all)
{
	init(NULL, 0);
	CHECK(weir_record_of_(&sem));
	use();
	init("sem", WEIR_SEM_UNWATCHED);
	CHECK_EQ(weir_record_of_(&sem), 0);
	use();
	CHECK_OK(weir_sem_init(&sem, 2));
	CHECK(weir_record_of_(&sem));
	use();
}

/* They are registered by their first acquire. */
static weir_sem of_one = WEIR_SEM_INIT_OPTS(1, 1, "one", WEIR_FIFO, 0);
static weir_sem of_other = WEIR_SEM_INIT_OPTS(1, 1, "other", WEIR_FIFO, 0);
static bool has_two_users;
static int is_begun;

/* Called by the thread that makes the registry, after its page is published. */
static void let_other_find_it(void)
{
	if (!has_two_users)
		return;
	__atomic_store_n(&is_begun, 1, __ATOMIC_RELAXED);
	/* 2: the other thread waits for the lock (base/lock.c). */
	AWAIT(__atomic_load_n(&weir_registry_->lock, __ATOMIC_RELAXED) == 2);
}

static void *use_one(void *unused)
{
	CHECK_OK(weir_sem_acquire(&of_one, 1, NULL));
	weir_sem_release(&of_one, 1);
	return unused;
}

static void *use_other(void *unused)
{
	AWAIT(__atomic_load_n(&is_begun, __ATOMIC_RELAXED));
	CHECK_OK(weir_sem_acquire(&of_other, 1, NULL));
	weir_sem_release(&of_other, 1);
	return unused;
}

/*
 * A thread makes the page of the registry, and another thread finds it before it
 * has an address.  Nothing else orders them: `is_begun` is relaxed.  For
 * ThreadSanitizer, a mapping is a write of the thread that makes it.
 */
TEST(found)
{
	check_thread one, other;

	has_two_users = true;
	one = start(use_one, NULL);
	other = start(use_other, NULL);
	finish(one);
	finish(other);
	CHECK(weir_record_of_(&of_one));
	CHECK(weir_record_of_(&of_other));
}

TEST(no_descriptor)
{
	struct rlimit before, limit;

	CHECK(!getrlimit(RLIMIT_NOFILE, &before));
	limit = before;
	limit.rlim_cur = 0;
	CHECK(!setrlimit(RLIMIT_NOFILE, &limit));
	nothing_is_watched(0);
	nothing_is_watched(WEIR_SEM_TRACKED);
	CHECK(!setrlimit(RLIMIT_NOFILE, &before));
}

/* The mapping of the registry is larger than what is left. */
TEST(no_memory)
{
	struct rlimit limit = { 1 << 20, 1 << 20 };

	CHECK(!setrlimit(RLIMIT_AS, &limit));
	nothing_is_watched(0);
}

/* SIGXFSZ would end the program. */
TEST(no_file_size)
{
	struct rlimit limit = { 4096, 4096 };

	CHECK(!setrlimit(RLIMIT_FSIZE, &limit));
	nothing_is_watched(0);
}

/* The call that WEIR_REFUSED names fails. */
static bool is_refused(const char *call)
{
	const char *refused = getenv("WEIR_REFUSED");

	if (!refused || strcmp(refused, call))
		return false;
	errno = EPERM;
	return true;
}

int __real_memfd_create(const char *name, unsigned flags);
int __wrap_memfd_create(const char *name, unsigned flags);
int __wrap_memfd_create(const char *name, unsigned flags)
{
	let_other_find_it();
	return is_refused("memfd_create") ? -1 : __real_memfd_create(name, flags);
}

int __real_ftruncate(int fd, off_t size);
int __wrap_ftruncate(int fd, off_t size);
int __wrap_ftruncate(int fd, off_t size)
{
	return is_refused("ftruncate") ? -1 : __real_ftruncate(fd, size);
}

int __real_madvise(void *at, size_t size, int advice);
int __wrap_madvise(void *at, size_t size, int advice);
int __wrap_madvise(void *at, size_t size, int advice)
{
	/* MADV_POPULATE_WRITE, and all the others. */
	return is_refused(advice == 23 ? "populate" : "madvise") ?
		       -1 : __real_madvise(at, size, advice);
}

void *__real_mmap(void *at, size_t size, int prot, int flags, int fd, off_t of);
void *__wrap_mmap(void *at, size_t size, int prot, int flags, int fd, off_t of);
void *__wrap_mmap(void *at, size_t size, int prot, int flags, int fd, off_t of)
{
	return is_refused("mmap") ?
		       MAP_FAILED : __real_mmap(at, size, prot, flags, fd, of);
}

/* Test programs have threads of their own: refused only in no_thread. */
static bool no_threads;

int __real_pthread_create(pthread_t *id, const pthread_attr_t *attr,
			  void *(*fn)(void *), void *arg);
int __wrap_pthread_create(pthread_t *id, const pthread_attr_t *attr,
			  void *(*fn)(void *), void *arg);
int __wrap_pthread_create(pthread_t *id, const pthread_attr_t *attr,
			  void *(*fn)(void *), void *arg)
{
	return no_threads ?
		       EAGAIN : __real_pthread_create(id, attr, fn, arg);
}

/* With WEIR_DIAG=watchdog: everything else works. */
TEST(no_thread)
{
	errno = 0;
	no_threads = true;
	init("sem", 0);
	no_threads = false;
	CHECK_EQ(errno, 0);
	CHECK(weir_record_of_(&sem));
	use();
}

TEST(refused)
{
	errno = 0;
	nothing_is_watched(0);
	nothing_is_watched(WEIR_SEM_TRACKED);
	CHECK_EQ(errno, 0);
}
