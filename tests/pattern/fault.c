/* SPDX-License-Identifier: MIT */
/*
 * Failures of memory allocation and thread creation.  The linker wraps the
 * calls; the test lets the Nth one fail, for every N.
 */
#include <errno.h>

#include "check.h"
#include "weir/chan.h"
#include "weir/group.h"
#include "weir/rate.h"
#include "weir/sharded.h"
#include "weir/limits.h"
#include "weir/pool.h"

static int refuse_memory, refuse_thread, refuse_from, allocated;

int __real_posix_memalign(void **memory, size_t alignment, size_t size);
int __wrap_posix_memalign(void **memory, size_t alignment, size_t size);
void __real_free(void *memory);
void __wrap_free(void *memory);
int __real_pthread_create(pthread_t *id, const pthread_attr_t *attr,
			  void *(*fn)(void *), void *arg);
int __wrap_pthread_create(pthread_t *id, const pthread_attr_t *attr,
			  void *(*fn)(void *), void *arg);

int __wrap_posix_memalign(void **memory, size_t alignment, size_t size)
{
	int status;

	if (refuse_memory && !--refuse_memory)
		return ENOMEM;
	status = __real_posix_memalign(memory, alignment, size);
	allocated += !status;
	return status;
}

void __wrap_free(void *memory)
{
	allocated -= memory != NULL;
	__real_free(memory);
}

int __wrap_pthread_create(pthread_t *id, const pthread_attr_t *attr,
			  void *(*fn)(void *), void *arg)
{
	if (refuse_from && __atomic_load_n(&refuse_thread, __ATOMIC_RELAXED) &&
	    !__atomic_sub_fetch(&refuse_from, 1, __ATOMIC_RELAXED)) {
		__atomic_store_n(&refuse_from, 1, __ATOMIC_RELAXED);
		__atomic_sub_fetch(&refuse_thread, 1, __ATOMIC_RELAXED);
		return EAGAIN;
	}
	return __real_pthread_create(id, attr, fn, arg);
}

static weir_err create(void *user, struct weir_ctx *ctx, void **resource)
{
	(void)user;
	(void)ctx;
	*resource = NULL;
	return WEIR_OK;
}

static void destroy(void *user, void *resource)
{
	(void)user;
	(void)resource;
}

static weir_err everything(void)
{
	const weir_pool_opts pools = { .max = 2, .create = create,
				       .destroy = destroy };
	const weir_rate_opts limit = { .rate = 1 };
	const weir_group_opts workers = { .workers = 2 };
	static const char text[] = "[a]\ncapacity = 1\n";
	weir_chan chan;
	weir_keyed keyed;
	weir_pool pool;
	weir_sharded sharded;
	weir_group group;
	weir_limits limits;
	weir_err err;

	err = weir_chan_init(&chan, NULL, 4, 4);
	if (err)
		return err;
	CHECK_OK(weir_chan_destroy(&chan));
	err = weir_keyed_init(&keyed, NULL, 4, &limit);
	if (err)
		return err;
	CHECK_OK(weir_keyed_destroy(&keyed));
	err = weir_pool_init(&pool, NULL, &pools);
	if (err)
		return err;
	CHECK_OK(weir_pool_destroy(&pool));
	err = weir_sharded_init(&sharded, &(weir_sharded_opts){ .capacity = 1 });
	if (err)
		return err;
	CHECK_OK(weir_sharded_destroy(&sharded));
	err = weir_group_init(&group, &workers);
	if (err)
		return err;
	CHECK_OK(weir_group_destroy(&group));
	err = weir_limits_init(&limits, 2);
	if (err)
		return err;
	err = weir_limits_load_text(&limits, text, sizeof(text) - 1, NULL);
	if (!err)
		err = weir_limits_load(&limits, "/dev/null", NULL);
	CHECK_OK(weir_limits_destroy(&limits));
	return err;
}

/* Every call that allocates returns WEIR_ENOMEM, and no memory leaks. */
TEST(no_memory)
{
	int n = 0;

	CHECK_OK(everything());
	for (;;) {
		int before = allocated;
		weir_err err;

		refuse_memory = ++n;
		err = everything();
		CHECK_EQ(allocated, before);
		if (refuse_memory)
			break;
		CHECK_ERR(err, WEIR_ENOMEM);
	}
	refuse_memory = 0;
	/* One more than the number of allocations. */
	CHECK_EQ(n, 11);
}

static weir_err task(void *arg, struct weir_ctx *ctx)
{
	(void)ctx;
	__atomic_add_fetch((int *)arg, 1, __ATOMIC_RELAXED);
	return WEIR_OK;
}

static weir_err leave(void *arg, struct weir_ctx *ctx)
{
	(void)arg;
	(void)ctx;
	pthread_exit(NULL);
}

/*
 * Without any thread: WEIR_ESYSTEM.  With one of two, that one runs all tasks.
 */
TEST(no_thread)
{
	const weir_group_opts opts = { .workers = 2, .backlog = 20 };
	weir_group group;
	int ran = 0;

	CHECK_OK(weir_group_init(&group, &opts));
	refuse_from = 1;
	refuse_thread = 1;
	errno = 0;
	CHECK_ERR(weir_group_spawn(&group, task, &ran, 1, NULL), WEIR_ESYSTEM);
	CHECK_EQ(errno, EAGAIN);
	CHECK_OK(weir_group_wait(&group, NULL, NULL));
	CHECK_EQ(ran, 0);
	/* All thread creations from the second on fail. */
	refuse_from = 2;
	refuse_thread = 1000000;
	for (int i = 0; i < 100; i++)
		CHECK_OK(weir_group_spawn(&group, task, &ran, 1, NULL));
	CHECK_OK(weir_group_wait(&group, NULL, NULL));
	CHECK_EQ(ran, 100);
	refuse_from = refuse_thread = 0;
	CHECK_OK(weir_group_destroy(&group));
}

static void end_in_done(void *user, void *arg, weir_err err)
{
	(void)user;
	(void)arg;
	if (err)
		pthread_exit(NULL);
}

/*
 * How often a thread may end and go on in its destructors.  ThreadSanitizer gives up its
 * own data of a thread in the fourth round of destructors, and each end takes two.
 */
#define ENDS (UNDER_TSAN ? 1 : 10)

/*
 * A task ends the only thread, and no thread can replace it.  `done` ends the thread
 * once more, in the destructor in which it runs the other tasks.
 */
TEST(no_thread_to_take_the_place_of_one_that_ends_twice)
{
	const weir_group_opts opts = { .workers = 1, .backlog = 20,
				       .done = end_in_done };
	weir_group group;
	int ran = 0;

	CHECK_OK(weir_group_init(&group, &opts));
	refuse_from = 2;
	refuse_thread = 1000000;
	for (int i = 0; i < ENDS; i++) {
		CHECK_OK(weir_group_spawn(&group, leave, NULL, 1, NULL));
		CHECK_OK(weir_group_spawn(&group, task, &ran, 1, NULL));
	}
	CHECK_ERR(weir_group_wait(&group, NULL, NULL), WEIR_ECANCELED);
	CHECK_EQ(ran, ENDS);
	CHECK_OK(weir_group_destroy(&group));
	refuse_from = refuse_thread = 0;
}

/* A task ends the only thread, and the first attempt to replace it fails. */
TEST(no_thread_to_take_the_place)
{
	const weir_group_opts opts = { .workers = 1, .backlog = 20 };
	weir_group_info info;
	weir_group group;
	int ran = 0;

	CHECK_OK(weir_group_init(&group, &opts));
	refuse_from = 2;
	refuse_thread = 1;
	CHECK_OK(weir_group_spawn(&group, leave, NULL, 1, NULL));
	AWAIT(!weir_group_stat(&group, &info) && info.exited == 1);
	CHECK_OK(weir_group_spawn(&group, task, &ran, 1, NULL));
	CHECK_ERR(weir_group_wait(&group, NULL, NULL), WEIR_ECANCELED);
	CHECK_EQ(ran, 1);
	CHECK_OK(weir_group_destroy(&group));
	refuse_from = refuse_thread = 0;
}

static weir_sem gate = WEIR_SEM_INIT_UNBOUNDED(0);

static weir_err leave_later(void *arg, struct weir_ctx *ctx)
{
	CHECK_OK(weir_sem_acquire(&gate, 1, NULL));
	return leave(arg, ctx);
}

static void *wait_for_all(void *arg)
{
	CHECK_ERR(weir_group_wait(arg, NULL, NULL), WEIR_ECANCELED);
	return NULL;
}

/* The same while the backlog is not empty and weir_group_wait is waiting. */
TEST(no_thread_to_take_the_place_of_the_last)
{
	const weir_group_opts opts = { .workers = 1, .backlog = 2 };
	weir_group_info info;
	weir_group group;
	check_thread waits;
	int ran = 0;

	CHECK_OK(weir_group_init(&group, &opts));
	CHECK_OK(weir_group_spawn(&group, leave_later, NULL, 1, NULL));
	CHECK_OK(weir_group_spawn(&group, task, &ran, 1, NULL));
	waits = start(wait_for_all, &group);
	AWAIT(oversized_of(&group.tasks_) == 1);
	refuse_from = 1;
	refuse_thread = 1000000;
	weir_sem_release(&gate, 1);
	finish(waits);
	CHECK_EQ(ran, 1);
	CHECK_OK(weir_group_spawn(&group, task, &ran, 1, NULL));
	CHECK_ERR(weir_group_wait(&group, NULL, NULL), WEIR_ECANCELED);
	CHECK_EQ(ran, 2);
	CHECK_OK(weir_group_stat(&group, &info));
	CHECK_EQ(info.exited, 1);
	CHECK_EQ(info.threads, 1);
	CHECK_OK(weir_group_destroy(&group));
	refuse_from = refuse_thread = 0;
}
