/* SPDX-License-Identifier: MIT */
/*
 * Permits are conserved: the permits in use never exceed the capacity, all of
 * them are released in the end, and memory does not grow.
 *
 * Checks: C4 and C10 with weights; C6 (every waiter is granted: every thread
 * ends); C13, C14 and C16 (a failed acquire holds nothing); C26 (no heap); C30.
 *
 * Runs for two and a half seconds, times WEIR_TEST_SCALE.
 */
#include "../regress/race.h"
#include "../regress/waiter.h"

#define WORKERS 12
#define RUN_NS INT64_C(300000000)

struct shop {
	weir_sem sem;
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
	struct shop *s = w->shop;

	switch (random_below(&w->random, 5)) {
	case 0:
		return weir_sem_acquire_for(&s->sem, n,
					    random_below(&w->random, 10000));
	case 1:
		return weir_sem_try_acquire(&s->sem, n);
	case 2:
		return weir_sem_acquire(&s->sem, n, &s->ctx);
	default:
		return weir_sem_acquire(&s->sem, n, NULL);
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
		/* relaxed: the semaphore orders the critical sections */
		CHECK(__atomic_add_fetch(&s->in_use, n, __ATOMIC_RELAXED) <=
		      s->capacity);
		if (next_random(&w->random) % 8 == 0)
			sched_yield();
		__atomic_sub_fetch(&s->in_use, n, __ATOMIC_RELAXED);
		__atomic_add_fetch(&w->served, 1, __ATOMIC_RELAXED);
		weir_sem_release(&s->sem, n);
	}
	return NULL;
}

static void run(weir_policy policy, int64_t capacity, int64_t heaviest)
{
	weir_sem_opts opts = { .permits = capacity, .policy = policy };
	struct shop s = { .capacity = capacity, .heaviest = heaviest };
	struct worker worker[WORKERS];
	int64_t until = weir_now_ns() + RUN_NS * check_scale();
	long before = -1;

	CHECK_OK(weir_sem_init_opts(&s.sem, &opts));
	CHECK_OK(weir_ctx_init(&s.ctx, NULL, WEIR_FOREVER));
	for (int i = 0; i < WORKERS; i++) {
		worker[i] = (struct worker){ .shop = &s };
		worker[i].random = seed_of((uint64_t)i);
		worker[i].thread = start(visit, &worker[i]);
	}
	while (weir_now_ns() < until) {
		CHECK_IDENTITY(&s.sem);
		/* After the warm-up, memory must not grow. */
		if (before < 0 && weir_now_ns() > until - RUN_NS / 2)
			before = check_resident_pages();
		usleep(500);
	}
	/* The data of a sanitizer grows with the activity of the program. */
	if (!UNDER_TSAN && !UNDER_ASAN && before >= 0)
		CHECK(check_resident_pages() <= before + 32);
	/* C4, C30: no thread starves, however loaded the machine is. */
	for (int i = 0; i < WORKERS; i++)
		AWAIT(__atomic_load_n(&worker[i].served, __ATOMIC_RELAXED) > 0);
	/*
	 * From here on acquires with the ctx fail, some of them in the queue.
	 */
	weir_ctx_cancel(&s.ctx);
	__atomic_store_n(&s.over, 1, __ATOMIC_RELEASE);
	for (int i = 0; i < WORKERS; i++)
		finish(worker[i].thread);
	CHECK_EQ(s.in_use, 0);
	CHECK_EQ(weir_sem_available(&s.sem), capacity);
	CHECK_EQ(stat_of(&s.sem).held, 0);
	CHECK_EQ(waiters_of(&s.sem), 0);
	CHECK_OK(weir_sem_destroy(&s.sem));
	CHECK_OK(weir_ctx_destroy(&s.ctx));
}

TEST(c10_capacity_is_never_exceeded)
{
	run(WEIR_FIFO, 1, 1);
	run(WEIR_FIFO, 4, 1);
	run(WEIR_FIFO, 10, 5);
}

TEST(c30_capacity_is_never_exceeded_barging)
{
	run(WEIR_BARGING, 1, 1);
	run(WEIR_BARGING, 4, 1);
	run(WEIR_BARGING, 10, 5);
}
