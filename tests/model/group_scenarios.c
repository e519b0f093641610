/* SPDX-License-Identifier: MIT */
/*
 * Task groups.  The workers are threads of the scenario.  The functions below
 * replace src/pattern/group_threads.c, which starts and joins real threads.
 */
#include "pattern_scenario.h"
#include "pattern/group.h"

static weir_group group;
static int ran, running, reported, refused, started;
static weir_err results[4];
static uint64_t value;

weir_err weir_group_room_(weir_group *g)
{
	(void)g;
	return WEIR_OK;
}

weir_err weir_group_start_(weir_group *g)
{
	(void)g;
	started++;
	return WEIR_OK;
}

weir_err weir_group_call_(weir_group *g, void *self,
			  const struct weir_task_ *task)
{
	(void)self;
	return task->fn(task->arg, &g->ctx_);
}

void weir_group_report_(weir_group *g, void *self, const struct weir_task_ *task,
		      weir_err err)
{
	(void)self;
	g->opts_.done(g->opts_.user, task->arg, err);
}

void weir_group_join_(weir_group *g)
{
	(void)g;
}

/* The result of each task is reported once. */
static void done(void *user, void *arg, weir_err err)
{
	int which = (int)(intptr_t)arg;

	(void)user;
	EX_ASSERT(results[which] == WEIR_EQUEUED);
	results[which] = err;
	reported++;
}

static void reset(weir_group_opts opts)
{
	opts.done = done;
	EX_ASSERT(weir_group_init(&group, &opts) == WEIR_OK);
	for (int i = 0; i < 4; i++)
		results[i] = WEIR_EQUEUED;
}

static void small(void)
{
	reset((weir_group_opts){ .workers = 2, .backlog = 1 });
}

static void fail_fast(void)
{
	reset((weir_group_opts){ .workers = 1, .backlog = 2,
				 .flags = WEIR_GROUP_FAIL_FAST });
}

static void all_over(void)
{
	weir_group_info info;

	check_calm(&group.tasks_);
	check_calm(&group.permits_);
	EX_ASSERT(weir_group_stat(&group, &info) == WEIR_OK);
	EX_ASSERT(info.spawned == 0 && info.done == reported);
	EX_ASSERT(weir_sem_available(&group.permits_) == group.opts_.permits);
	/* A spawn that finds the group closed starts no thread. */
	EX_ASSERT(running == 0 && started + refused >= 1 && started <= 2);
	EX_ASSERT(info.waiting == 0);
}

static void work(void)
{
	weir_group_work_(&group, NULL);
}

static weir_err task(void *arg, struct weir_ctx *ctx)
{
	(void)arg;
	(void)ctx;
	ran++;
	return WEIR_OK;
}

/* Holds all permits: no other task runs. */
static weir_err heavy(void *arg, struct weir_ctx *ctx)
{
	(void)arg;
	(void)ctx;
	EX_ASSERT(running++ == 0);
	ex_touch(&value, sizeof(value), true);
	value++;
	EX_ASSERT(--running == 0);
	ran++;
	return WEIR_OK;
}

static weir_err fails(void *arg, struct weir_ctx *ctx)
{
	(void)arg;
	(void)ctx;
	return WEIR_ENOMEM;
}

static weir_err spawn(weir_task_fn *fn, intptr_t which, int64_t weight)
{
	weir_err err = weir_group_spawn(&group, fn, (void *)which, weight, NULL);

	refused += err != WEIR_OK;
	return err;
}

static void wait_and_close(int want)
{
	weir_err err = weir_group_wait(&group, NULL, NULL);

	EX_ASSERT(err == (weir_err)group.first_);
	/* C20: all tasks have ended and been reported. */
	EX_ASSERT(reported == want);
	weir_group_close(&group);
}

static void spawn_two(void)
{
	EX_ASSERT(spawn(task, 0, 1) == WEIR_OK);
	EX_ASSERT(spawn(task, 1, 1) == WEIR_OK);
	wait_and_close(2);
	EX_ASSERT(ran == 2);
}

/* A backlog of one: the second spawn waits for the worker. */
SCENARIO(group_one_worker, 2, small, all_over, spawn_two, work)

static void spawn_one(void)
{
	EX_ASSERT(spawn(task, 0, 1) == WEIR_OK);
	wait_and_close(1);
	EX_ASSERT(ran == 1);
}

static void two_heavy(void)
{
	reset((weir_group_opts){ .workers = 2, .backlog = 2, .permits = 2 });
	EX_ASSERT(spawn(heavy, 0, 2) == WEIR_OK);
	EX_ASSERT(spawn(heavy, 1, 2) == WEIR_OK);
}

static void wait_for_both(void)
{
	wait_and_close(2);
	EX_ASSERT(ran == 2);
}

/* C10: two tasks that need all permits do not run at the same time. */
SCENARIO(group_weights, 2, two_heavy, all_over, wait_for_both, work, work)

static void cancel(void)
{
	weir_group_cancel(&group);
}

static void spawn_two_or_cancelled(void)
{
	EX_ASSERT(spawn(task, 0, 1) == WEIR_OK);
	EX_ASSERT(spawn(task, 1, 1) == WEIR_OK);
	wait_and_close(2);
	for (int i = 0; i < 2; i++)
		EX_ASSERT(results[i] == WEIR_OK ||
			  results[i] == WEIR_ECANCELED);
}

/* C13: a cancel meets tasks that run, wait or are being spawned. */
SCENARIO(group_cancel, 2, small, all_over, spawn_two_or_cancelled, work, cancel)

static void spawn_or_closed(void)
{
	intptr_t which = ex_self();
	weir_err err = spawn(task, which, 1);

	EX_ASSERT(err == WEIR_OK || err == WEIR_ECLOSED);
	if (err)
		results[which] = WEIR_OK;
	EX_ASSERT(weir_group_wait(&group, NULL, NULL) == WEIR_OK);
	/* An accepted task has run. */
	EX_ASSERT(results[which] == WEIR_OK);
}

static void close_it(void)
{
	weir_group_close(&group);
}

static void accepted_has_run(void)
{
	all_over();
	EX_ASSERT(ran + refused == 1);
}

/* C19: a close meets a spawn; an accepted task runs. */
SCENARIO(group_close, 2, small, accepted_has_run, spawn_or_closed, work,
	 close_it)

static void spawn_failing(void)
{
	weir_err first = WEIR_OK;

	EX_ASSERT(spawn(fails, 0, 1) == WEIR_OK);
	EX_ASSERT(spawn(task, 1, 1) == WEIR_OK);
	EX_ASSERT(weir_group_wait(&group, NULL, &first) == WEIR_ENOMEM);
	EX_ASSERT(first == WEIR_ENOMEM && reported == 2);
	/* With one worker the second task begins after the first has failed. */
	EX_ASSERT(results[1] == WEIR_ECANCELED && ran == 0);
	weir_group_close(&group);
}

SCENARIO(group_fail_fast, 2, fail_fast, all_over, spawn_failing, work)

static void wait_only(void)
{
	EX_ASSERT(weir_group_wait(&group, NULL, NULL) == WEIR_OK);
}

/* C20: two threads wait while tasks end. */
SCENARIO(group_two_waits, 2, small, all_over, spawn_one, work, wait_only)

static void two_at_most(void)
{
	reset((weir_group_opts){ .workers = 2, .backlog = 2 });
}

static void spawn_mine(void)
{
	EX_ASSERT(spawn(task, ex_self(), 1) == WEIR_OK);
}

/* No task has run yet: one thread was started for each. */
static void a_thread_for_each(void)
{
	EX_ASSERT(started == 2);
	weir_group_close(&group);
	work();
	all_over();
}

/* Tasks that wait for each other must not share a thread. */
SCENARIO(group_two_spawn, 2, two_at_most, a_thread_for_each, spawn_mine,
	 spawn_mine)
