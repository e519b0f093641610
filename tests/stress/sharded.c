/* SPDX-License-Identifier: MIT */
/*
 * The sharded semaphore under load: a referee counts the permits that are out
 * and never finds more than the capacity, and all of them are free in the end.
 *
 * Checks: C10 with weights; C6 (every thread ends); C13, C14 and C16 (a failed
 * acquire holds nothing); C21 (a debt is paid).
 *
 * Runs for two seconds, times WEIR_TEST_SCALE.
 */
#include <unistd.h>

#include "../regress/race.h"
#include "weir/ctx.h"
#include "weir/sharded.h"

#define WORKERS 8
#define RUN_NS INT64_C(300000000)

struct shop {
	weir_sharded limit;
	weir_ctx ctx;
	int64_t capacity;
	int64_t heaviest;
	int64_t in_use;		/* atomic */
	uint32_t over;		/* atomic */
};

struct worker {
	struct shop *shop;
	uint64_t random;
	int64_t served;		/* atomic */
	check_thread thread;
};

static weir_err enter(struct worker *w, int64_t n)
{
	weir_sharded *limit = &w->shop->limit;

	switch (random_below(&w->random, 6)) {
	case 0:
		return weir_sharded_acquire_until(
			limit, n, weir_deadline_after(
					  random_below(&w->random, 10000)));
	case 1:
		return weir_sharded_try_acquire(limit, n);
	case 2:
		return weir_sharded_acquire(limit, n, &w->shop->ctx);
	default:
		return weir_sharded_acquire(limit, n, NULL);
	}
}

static void *visit(void *arg)
{
	struct worker *w = arg;
	struct shop *s = w->shop;

	while (!__atomic_load_n(&s->over, __ATOMIC_ACQUIRE)) {
		int64_t n = 1 + random_below(&w->random, s->heaviest);
		weir_err err = enter(w, n);

		if (err) {
			CHECK(err == WEIR_ETIMEDOUT || err == WEIR_EAGAIN ||
			      err == WEIR_ECANCELED);
			continue;
		}
		/*
		 * acq_rel: the referee sees the subtractions of all permits
		 * that this one replaces.
		 */
		CHECK(__atomic_add_fetch(&s->in_use, n, __ATOMIC_ACQ_REL) <=
		      s->capacity);
		if (next_random(&w->random) % 8 == 0)
			sched_yield();
		__atomic_sub_fetch(&s->in_use, n, __ATOMIC_ACQ_REL);
		__atomic_add_fetch(&w->served, 1, __ATOMIC_RELAXED);
		weir_sharded_release(&s->limit, n);
	}
	return NULL;
}

/* Shrink and grow below the capacity that the referee allows. */
static void resize(struct shop *s, uint64_t *random)
{
	int64_t n = s->heaviest +
		    random_below(random, s->capacity - s->heaviest + 1);

	CHECK_OK(weir_sharded_resize(&s->limit, n, NULL));
}

static void run(int64_t capacity, int64_t heaviest, uint32_t batch,
		bool resizes)
{
	struct shop s = { .capacity = capacity, .heaviest = heaviest };
	weir_sharded_opts opts = { .capacity = capacity, .shards = 4,
				   .batch = batch };
	int64_t until = weir_now_ns() + RUN_NS * check_scale();
	uint64_t random = seed_of(WORKERS);
	struct worker worker[WORKERS];
	weir_sharded_info info;

	CHECK_OK(weir_sharded_init(&s.limit, &opts));
	CHECK_OK(weir_ctx_init(&s.ctx, NULL, WEIR_FOREVER));
	for (int i = 0; i < WORKERS; i++) {
		worker[i] = (struct worker){ .shop = &s };
		worker[i].random = seed_of((uint64_t)i);
		worker[i].thread = start(visit, &worker[i]);
	}
	while (weir_now_ns() < until) {
		CHECK_OK(weir_sharded_stat(&s.limit, &info));
		CHECK(info.in_shards >= 0 && info.in_shards <= capacity);
		if (resizes)
			resize(&s, &random);
		usleep(200);
	}
	if (resizes)
		CHECK_OK(weir_sharded_resize(&s.limit, capacity, NULL));
	/* C30: no thread starves, however loaded the machine is. */
	for (int i = 0; i < WORKERS; i++)
		AWAIT(__atomic_load_n(&worker[i].served, __ATOMIC_RELAXED) > 0);
	weir_ctx_cancel(&s.ctx);
	__atomic_store_n(&s.over, 1, __ATOMIC_RELEASE);
	for (int i = 0; i < WORKERS; i++)
		finish(worker[i].thread);
	CHECK_EQ(s.in_use, 0);
	CHECK_OK(weir_sharded_stat(&s.limit, &info));
	CHECK_EQ(info.free, capacity);
	CHECK_EQ(info.held, 0);
	CHECK_EQ(info.waiters, 0);
	CHECK_OK(weir_sharded_destroy(&s.limit));
	CHECK_OK(weir_ctx_destroy(&s.ctx));
}

TEST(c10_never_more_than_the_limit)
{
	run(1, 1, 1, false);
	run(4, 1, 2, false);
	run(64, 1, 0, false);
	run(10, 5, 1, false);
}

TEST(c21_never_more_than_the_limit_with_resizes)
{
	run(6, 1, 2, true);
	run(10, 5, 1, true);
}
