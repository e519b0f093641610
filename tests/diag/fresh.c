/* SPDX-License-Identifier: MIT */
/*
 * The first watched semaphore of a process: the words of WEIR_DIAG, and system
 * calls that fail.  Each test runs in a process of its own, with the
 * environment of meson.build.
 */
#include <signal.h>
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
	CHECK(!"an object is watched");
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

TEST(no_file_size)
{
	struct rlimit limit = { 4096, 4096 };

	CHECK(!setrlimit(RLIMIT_FSIZE, &limit));
	CHECK(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
	nothing_is_watched(0);
}
