/* SPDX-License-Identifier: MIT */
/* Task groups: bounds, weights, errors, cancellation, shutdown, memory. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"
#include "weir/group.h"

static weir_group group;
static weir_sem gate = WEIR_SEM_INIT_UNBOUNDED(0);
static int running, most, ran, reported, reported_errors;

static void done(void *user, void *arg, weir_err err)
{
	CHECK(user == &reported);
	(void)arg;
	__atomic_add_fetch(&reported, 1, __ATOMIC_RELAXED);
	if (err)
		__atomic_add_fetch(&reported_errors, 1, __ATOMIC_RELAXED);
}

static void begin_with(weir_group_opts opts)
{
	running = most = ran = reported = reported_errors = 0;
	opts.done = done;
	opts.user = &reported;
	CHECK_OK(weir_group_init(&group, &opts));
}

static weir_group_info info(void)
{
	weir_group_info i;

	CHECK_OK(weir_group_stat(&group, &i));
	return i;
}

static void end(weir_err want_first)
{
	weir_err first = WEIR_EINVAL;

	CHECK_ERR(weir_group_wait(&group, NULL, &first), want_first);
	CHECK_ERR(first, want_first);
	CHECK_EQ(info().spawned, 0);
	CHECK_EQ(info().done, reported);
	CHECK_EQ(info().failed, reported_errors);
	CHECK_OK(weir_group_destroy(&group));
}

static void enter(int weight)
{
	int now = __atomic_add_fetch(&running, weight, __ATOMIC_RELAXED);
	int seen = __atomic_load_n(&most, __ATOMIC_RELAXED);

	while (now > seen &&
	       !__atomic_compare_exchange_n(&most, &seen, now, 0,
					    __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED))
		;
}

static weir_err count(void *arg, struct weir_ctx *ctx)
{
	int weight = (int)(intptr_t)arg;

	(void)ctx;
	enter(weight);
	__atomic_add_fetch(&ran, 1, __ATOMIC_RELAXED);
	__atomic_sub_fetch(&running, weight, __ATOMIC_RELAXED);
	return WEIR_OK;
}

static void spawn(weir_task_fn *fn, intptr_t arg, int64_t weight)
{
	CHECK_OK(weir_group_spawn(&group, fn, (void *)arg, weight, NULL));
}

/* Wait until the gate opens or the group is cancelled. */
static weir_err wait_at_gate(void *arg, struct weir_ctx *ctx)
{
	weir_err err;

	(void)arg;
	enter(1);
	err = weir_sem_acquire(&gate, 1, ctx);
	__atomic_add_fetch(&ran, 1, __ATOMIC_RELAXED);
	__atomic_sub_fetch(&running, 1, __ATOMIC_RELAXED);
	return err;
}

TEST(every_task_runs_once)
{
	begin_with((weir_group_opts){ .workers = 3 });
	for (int i = 0; i < 1000; i++)
		spawn(count, 1, 1);
	end(WEIR_OK);
	CHECK_EQ(ran, 1000);
	CHECK(most <= 3);
}

TEST(nothing_spawned)
{
	begin_with((weir_group_opts){ .workers = 3 });
	CHECK_EQ(info().threads, 0);
	end(WEIR_OK);
}

/*
 * Backpressure: workers take tasks, then the backlog fills, then a spawn waits.
 */
TEST(full_backlog_pushes_back)
{
	weir_ctx past;

	begin_with((weir_group_opts){ .workers = 2, .backlog = 3 });
	CHECK_OK(weir_ctx_init(&past, NULL, 1));
	for (int i = 0; i < 2; i++)
		spawn(wait_at_gate, 0, 1);
	AWAIT(__atomic_load_n(&running, __ATOMIC_RELAXED) == 2);
	for (int i = 0; i < 3; i++)
		CHECK_OK(weir_group_try_spawn(&group, wait_at_gate, NULL, 1));
	CHECK_ERR(weir_group_try_spawn(&group, wait_at_gate, NULL, 1),
		  WEIR_EAGAIN);
	CHECK_ERR(weir_group_spawn(&group, wait_at_gate, NULL, 1, &past),
		  WEIR_ETIMEDOUT);
	CHECK_EQ(info().spawned, 5);
	CHECK_EQ(info().waiting, 3);
	CHECK_EQ(info().threads, 2);
	CHECK_ERR(weir_group_wait(&group, &past, NULL), WEIR_ETIMEDOUT);
	CHECK_ERR(weir_group_destroy(&group), WEIR_EBUSY);
	weir_sem_release(&gate, 5);
	CHECK_OK(weir_ctx_destroy(&past));
	end(WEIR_OK);
	CHECK_EQ(ran, 5);
	CHECK_EQ(most, 2);
}

/* C10: the weight of the running tasks never exceeds the permits. */
TEST(c10_weights_are_a_budget)
{
	begin_with((weir_group_opts){ .workers = 8, .permits = 5 });
	CHECK_ERR(weir_group_spawn(&group, count, NULL, 6, NULL),
		  WEIR_ETOOBIG);
	for (int i = 0; i < 400; i++)
		spawn(count, 1 + i % 5, 1 + i % 5);
	end(WEIR_OK);
	CHECK_EQ(ran, 400);
	CHECK(most <= 5);
}

static weir_err fail(void *arg, struct weir_ctx *ctx)
{
	(void)ctx;
	return (weir_err)(intptr_t)arg;
}

TEST(every_error_is_reported)
{
	begin_with((weir_group_opts){ .workers = 1 });
	spawn(count, 1, 1);
	spawn(fail, WEIR_ESYSTEM, 1);
	spawn(fail, WEIR_ENOMEM, 1);
	spawn(count, 1, 1);
	end(WEIR_ESYSTEM);
	CHECK_EQ(reported, 4);
	CHECK_EQ(reported_errors, 2);
	CHECK_EQ(ran, 2);
}

/* The first failure cancels the other tasks, both running and waiting ones. */
TEST(fail_fast)
{
	begin_with((weir_group_opts){ .workers = 2, .backlog = 10,
				      .flags = WEIR_GROUP_FAIL_FAST });
	spawn(wait_at_gate, 0, 1);
	AWAIT(__atomic_load_n(&running, __ATOMIC_RELAXED) == 1);
	spawn(fail, WEIR_ENOMEM, 1);
	AWAIT(info().cancelled);
	for (int i = 0; i < 5; i++)
		spawn(count, 1, 1);
	end(WEIR_ENOMEM);
	CHECK_EQ(reported, 7);
	CHECK_EQ(reported_errors, 7);
	/* One task ran and was cancelled; none of the five began. */
	CHECK_EQ(ran, 1);
}

TEST(c13_cancel_reaches_every_task)
{
	weir_ctx parent = WEIR_CTX_INIT;

	for (int by_parent = 0; by_parent < 2; by_parent++) {
		begin_with((weir_group_opts){ .workers = 2, .backlog = 10,
					      .ctx = &parent });
		for (int i = 0; i < 6; i++)
			spawn(wait_at_gate, 0, 1);
		AWAIT(__atomic_load_n(&running, __ATOMIC_RELAXED) == 2);
		if (by_parent) {
			weir_ctx_cancel(&parent);
		} else {
			weir_group_cancel(&group);
			weir_group_cancel(&group);
		}
		CHECK_ERR(weir_group_wait(&group, NULL, NULL), WEIR_ECANCELED);
		CHECK_EQ(info().skipped, 4);
		end(WEIR_ECANCELED);
		CHECK_EQ(reported, 6);
		CHECK_EQ(ran, 2);
	}
	CHECK_OK(weir_ctx_destroy(&parent));
}

/* The tasks that were cancelled before they began, and their contexts. */
static weir_err clean_up(void *arg, struct weir_ctx *ctx)
{
	(void)arg;
	__atomic_add_fetch(&ran, 1, __ATOMIC_RELAXED);
	return weir_ctx_err(ctx);
}

/*
 * WEIR_GROUP_RUN_CANCELLED: a task that was cancelled before it began runs, sees
 * the end of its context and can clean up.
 */
TEST(c13_cancelled_tasks_clean_up)
{
	begin_with((weir_group_opts){ .workers = 1, .backlog = 10,
				      .flags = WEIR_GROUP_RUN_CANCELLED });
	spawn(wait_at_gate, 0, 1);
	AWAIT(__atomic_load_n(&running, __ATOMIC_RELAXED) == 1);
	for (int i = 0; i < 5; i++)
		spawn(clean_up, 0, 1);
	weir_group_cancel(&group);
	spawn(clean_up, 0, 1);
	end(WEIR_ECANCELED);
	CHECK_EQ(ran, 7);
	CHECK_EQ(reported, 7);
	CHECK_EQ(reported_errors, 7);
}

/* The first error is the result of the wait; the end of ctx is another. */
TEST(wait_returns_the_first_error)
{
	weir_ctx past;
	weir_err first = WEIR_EINVAL;

	CHECK_OK(weir_ctx_init(&past, NULL, 1));
	begin_with((weir_group_opts){ .workers = 1 });
	spawn(fail, WEIR_ESYSTEM, 1);
	spawn(wait_at_gate, 0, 1);
	CHECK_ERR(weir_group_wait(&group, &past, &first), WEIR_ETIMEDOUT);
	CHECK_ERR(first, WEIR_EINVAL);
	weir_sem_release(&gate, 1);
	CHECK_ERR(weir_group_wait(&group, NULL, NULL), WEIR_ESYSTEM);
	end(WEIR_ESYSTEM);
	CHECK_OK(weir_ctx_destroy(&past));
}

static weir_err leave(void *arg, struct weir_ctx *ctx)
{
	(void)arg;
	(void)ctx;
	pthread_exit(NULL);
}

/* A task that ends its thread is reported, and all other tasks run. */
TEST(task_that_exits_its_thread_is_reported)
{
	begin_with((weir_group_opts){ .workers = 2, .permits = 2 });
	/* The group starts both threads. */
	for (int i = 0; i < 2; i++)
		spawn(wait_at_gate, 0, 1);
	weir_sem_release(&gate, 2);
	for (int i = 0; i < 30; i++)
		spawn(i % 3 ? count : leave, 1, 1);
	CHECK_ERR(weir_group_wait(&group, NULL, NULL), WEIR_ECANCELED);
	CHECK_EQ(info().exited, 10);
	CHECK_EQ(info().threads, 2);
	end(WEIR_ECANCELED);
	CHECK_EQ(reported, 32);
	CHECK_EQ(reported_errors, 10);
	CHECK_EQ(ran, 22);
}

/* A task lets its thread end in the `done` callback. */
static _Thread_local bool ends;

static void done_ends(void *user, void *arg, weir_err err)
{
	done(user, arg, err);
	if (ends)
		pthread_exit(NULL);
}

static weir_err end_thread_in_done(void *arg, struct weir_ctx *ctx)
{
	(void)arg;
	(void)ctx;
	ends = true;
	return WEIR_OK;
}

TEST(thread_that_ends_in_done_is_replaced)
{
	const weir_group_opts opts = { .workers = 2, .user = &reported,
				       .done = done_ends };

	running = most = ran = reported = reported_errors = 0;
	CHECK_OK(weir_group_init(&group, &opts));
	for (int i = 0; i < 30; i++)
		spawn(i % 3 ? count : end_thread_in_done, 1, 1);
	end(WEIR_OK);
	CHECK_EQ(reported, 30);
	CHECK_EQ(ran, 20);
}

static weir_err leave_and_end_in_done(void *arg, struct weir_ctx *ctx)
{
	ends = true;
	return leave(arg, ctx);
}

/* A task ends its thread, and the `done` callback ends it once more. */
TEST(thread_that_ends_twice_is_replaced)
{
	const weir_group_opts opts = { .workers = 2, .user = &reported,
				       .done = done_ends };

	running = most = ran = reported = reported_errors = 0;
	CHECK_OK(weir_group_init(&group, &opts));
	for (int i = 0; i < 30; i++)
		spawn(i % 3 ? count : leave_and_end_in_done, 1, 1);
	end(WEIR_ECANCELED);
	CHECK_EQ(reported, 30);
	CHECK_EQ(reported_errors, 10);
	CHECK_EQ(ran, 20);
}

/*
 * A child of the group's context is alive: destroy fails and changes nothing.
 */
static weir_err begin_below(void *arg, struct weir_ctx *ctx)
{
	return weir_ctx_init(arg, ctx, WEIR_FOREVER);
}

TEST(c22_destroy_under_a_context_in_use)
{
	weir_ctx below;

	begin_with((weir_group_opts){ .workers = 1 });
	CHECK_OK(weir_group_spawn(&group, begin_below, &below, 1, NULL));
	CHECK_OK(weir_group_wait(&group, NULL, NULL));
	CHECK_ERR(weir_group_destroy(&group), WEIR_EBUSY);
	spawn(count, 1, 1);
	CHECK_OK(weir_group_wait(&group, NULL, NULL));
	CHECK_EQ(ran, 1);
	CHECK_OK(weir_ctx_destroy(&below));
	end(WEIR_OK);
}

/* C19: after a close the backlog still runs; no task is lost. */
TEST(c19_close_runs_the_backlog)
{
	begin_with((weir_group_opts){ .workers = 1, .backlog = 8 });
	for (int i = 0; i < 6; i++)
		spawn(wait_at_gate, 0, 1);
	weir_group_close(&group);
	weir_group_close(&group);
	CHECK_ERR(weir_group_spawn(&group, count, NULL, 1, NULL), WEIR_ECLOSED);
	CHECK_ERR(weir_group_try_spawn(&group, count, NULL, 1), WEIR_ECLOSED);
	CHECK(info().closed);
	weir_sem_release(&gate, 6);
	end(WEIR_OK);
	CHECK_EQ(ran, 6);
}

/* C2, C16: a spawn that is refused at once has started no thread. */
TEST(c16_refused_spawn_changes_nothing)
{
	weir_ctx ended = WEIR_CTX_INIT;

	weir_ctx_cancel(&ended);
	begin_with((weir_group_opts){ .workers = 1 });
	CHECK_ERR(weir_group_spawn(&group, count, NULL, 1, &ended),
		  WEIR_ECANCELED);
	CHECK_ERR(weir_group_spawn(&group, count, NULL, 2, &ended),
		  WEIR_ECANCELED);
	CHECK_ERR(weir_group_spawn(&group, count, NULL, 2, NULL), WEIR_ETOOBIG);
	weir_group_close(&group);
	CHECK_ERR(weir_group_spawn(&group, count, NULL, 1, NULL), WEIR_ECLOSED);
	CHECK_ERR(weir_group_spawn(&group, count, NULL, 2, NULL), WEIR_ECLOSED);
	CHECK_ERR(weir_group_try_spawn(&group, count, NULL, 1), WEIR_ECLOSED);
	CHECK_ERR(weir_group_spawn(&group, count, NULL, 1, &ended),
		  WEIR_ECANCELED);
	CHECK_EQ(info().threads, 0);
	end(WEIR_OK);
	CHECK_OK(weir_ctx_destroy(&ended));
}

static void *spawn_one(void *arg)
{
	return (void *)(intptr_t)weir_group_spawn(&group, count, (void *)1, 1,
						  arg);
}

/* Close while spawns wait: they are refused, and accepted tasks run. */
TEST(c19_close_reaches_spawners)
{
	check_thread threads[2];

	begin_with((weir_group_opts){ .workers = 1, .backlog = 1 });
	spawn(wait_at_gate, 0, 1);
	AWAIT(__atomic_load_n(&running, __ATOMIC_RELAXED) == 1);
	spawn(wait_at_gate, 0, 1);
	for (int i = 0; i < 2; i++)
		threads[i] = start(spawn_one, NULL);
	AWAIT(info().spawners == 2);
	weir_group_close(&group);
	for (int i = 0; i < 2; i++)
		CHECK_EQ((intptr_t)finish(threads[i]), WEIR_ECLOSED);
	weir_sem_release(&gate, 2);
	end(WEIR_OK);
	CHECK_EQ(reported, 2);
}

/* Tasks that spawn tasks. */
static weir_err spawn_more(void *arg, struct weir_ctx *ctx)
{
	intptr_t depth = (intptr_t)arg;

	(void)ctx;
	__atomic_add_fetch(&ran, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < 2 && depth; i++)
		if (weir_group_try_spawn(&group, spawn_more,
					 (void *)(depth - 1), 1))
			return spawn_more((void *)(depth - 1), NULL);
	return WEIR_OK;
}

TEST(tasks_spawn_tasks)
{
	begin_with((weir_group_opts){ .workers = 3, .backlog = 200 });
	spawn(spawn_more, 5, 1);
	end(WEIR_OK);
	CHECK_EQ(ran, 63);
}

static weir_err nothing(void *arg, struct weir_ctx *ctx)
{
	(void)arg;
	(void)ctx;
	return WEIR_OK;
}

/* Millions of tasks through a backlog of a thousand: memory does not grow. */
TEST(millions_of_tasks_in_little_memory)
{
	int64_t tasks = getenv("WEIR_FULL") && *getenv("WEIR_FULL") ? 2700000 :
								      300000;
	long before = check_resident_pages();

	begin_with((weir_group_opts){ .workers = 2, .backlog = 1024 });
	for (int64_t i = 0; i < tasks; i++)
		spawn(nothing, 0, 1);
	CHECK(check_resident_pages() - before < 4096);
	end(WEIR_OK);
	CHECK_EQ(reported, tasks);
}

TEST(bad_input)
{
	weir_group_opts good = { .workers = 1 }, opts;
	weir_group zeroed;
	weir_group_info i;

	memset(&zeroed, 0, sizeof(zeroed));
	CHECK_ERR(weir_group_init(NULL, &good), WEIR_EINVAL);
	CHECK_ERR(weir_group_init(&group, NULL), WEIR_EINVAL);
#define WITH(field, value)                                                     \
	(opts = good, opts.field = (value), weir_group_init(&group, &opts))
	CHECK_ERR(WITH(workers, 0), WEIR_EINVAL);
	CHECK_ERR(WITH(workers, WEIR_GROUP_WORKERS_MAX + 1), WEIR_EINVAL);
	CHECK_ERR(WITH(backlog, -1), WEIR_EINVAL);
	CHECK_ERR(WITH(permits, -1), WEIR_EINVAL);
	CHECK_ERR(WITH(flags, 4), WEIR_EINVAL);
	CHECK_ERR(WITH(stack_size, 1), WEIR_EINVAL);
	CHECK_ERR(WITH(reserved_[0], 1), WEIR_EINVAL);
	CHECK_ERR(weir_group_spawn(&zeroed, count, NULL, 1, NULL), WEIR_EINVAL);
	CHECK_ERR(weir_group_try_spawn(NULL, count, NULL, 1), WEIR_EINVAL);
	CHECK_ERR(weir_group_wait(&zeroed, NULL, NULL), WEIR_EINVAL);
	CHECK_ERR(weir_group_destroy(&zeroed), WEIR_EINVAL);
	CHECK_ERR(weir_group_stat(&zeroed, &i), WEIR_EINVAL);
	CHECK_PANICS("weir_group_cancel", weir_group_cancel(&zeroed));
	CHECK_PANICS("weir_group_close", weir_group_close(NULL));
	begin_with(good);
	CHECK_ERR(weir_group_spawn(&group, NULL, NULL, 1, NULL), WEIR_EINVAL);
	CHECK_ERR(weir_group_spawn(&group, count, NULL, -1, NULL), WEIR_EINVAL);
	CHECK_ERR(weir_group_stat(&group, NULL), WEIR_EINVAL);
	CHECK_OK(weir_group_spawn(&group, count, NULL, 0, NULL));
	end(WEIR_OK);
}

/* Many spawners, tasks of every kind, a cancel in between: all are reported. */
static int spawned;

static weir_err any_task(void *arg, struct weir_ctx *ctx)
{
	switch ((intptr_t)arg % 50) {
	case 0:
		return WEIR_ESYSTEM;
	case 1:
		pthread_exit(NULL);
	default:
		return weir_ctx_err(ctx);
	}
}

static void *storm(void *arg)
{
	uint64_t seed = seed_of((uint64_t)(uintptr_t)arg);

	for (int i = 0; i < 1000 * check_scale(); i++) {
		void *kind = (void *)(intptr_t)random_below(&seed, 100);
		int64_t weight = 1 + random_below(&seed, 3);
		weir_err err;

		if (random_below(&seed, 2))
			err = weir_group_spawn(&group, any_task, kind, weight,
					       NULL);
		else
			err = weir_group_try_spawn(&group, any_task, kind,
						   weight);
		CHECK(err == WEIR_OK || err == WEIR_EAGAIN);
		if (!err)
			__atomic_add_fetch(&spawned, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

TEST(storm_adds_up)
{
	check_thread threads[3];
	weir_err err;

	spawned = 0;
	begin_with((weir_group_opts){ .workers = 3, .backlog = 4 });
	for (uintptr_t i = 0; i < 3; i++)
		threads[i] = start(storm, (void *)i);
	AWAIT(info().done > 200);
	weir_group_cancel(&group);
	for (int i = 0; i < 3; i++)
		finish(threads[i]);
	err = weir_group_wait(&group, NULL, NULL);
	CHECK_ERR(err, info().first);
	CHECK_EQ(reported, spawned);
	CHECK_EQ(weir_sem_available(&group.permits_), 3);
	end(info().first);
}
