/* SPDX-License-Identifier: MIT */
/*
 * glibc bug 14532: after two posts for two waiters, one waiter sleeps although
 * a permit is free.
 *
 * Threads: poster 1, poster 2, waiter 1, waiter 2.
 *
 *   1. waiter 1, waiter 2: the value is 0; both sleep.
 *   2. poster 1: changes the value from 0 to 1.
 *   3. poster 2: changes the value from 1 to 2.
 *   4. poster 1: there are waiters: wakes one.
 *   5. waiter 1: takes a permit.
 *   6. poster 2: the value was not 0, so it assumes that the first post woke
 *      all waiters, and wakes none.
 *   7. waiter 2: sleeps although a permit is free.
 *
 * In weir (C6) every permit that is released while a thread waits for it is
 * granted.  Posters and waiters run freely here; the waiters take every permit
 * posted.
 */
#include "race.h"
#include "waiter.h"

#define THREADS 3

struct shared {
	weir_sem sem;
	int64_t each;
};

static void *post(void *arg)
{
	struct shared *s = arg;

	for (int64_t i = 0; i < s->each; i++)
		weir_sem_release(&s->sem, 1);
	return NULL;
}

static void *take(void *arg)
{
	struct shared *s = arg;

	for (int64_t i = 0; i < s->each; i++)
		CHECK_OK(weir_sem_acquire(&s->sem, 1, NULL));
	return NULL;
}

static void all_posts_arrive(weir_policy policy)
{
	weir_sem_opts opts = { .policy = policy,
			       .flags = WEIR_SEM_UNBOUNDED };
	struct rounds r = rounds(200);

	while (again(&r)) {
		check_thread poster[THREADS], taker[THREADS];
		struct shared s = { .each = 500 };

		CHECK_OK(weir_sem_init_opts(&s.sem, &opts));
		for (int i = 0; i < THREADS; i++) {
			taker[i] = start(take, &s);
			poster[i] = start(post, &s);
		}
		for (int i = 0; i < THREADS; i++) {
			finish(poster[i]);
			finish(taker[i]);
		}
		CHECK_EQ(weir_sem_available(&s.sem), 0);
		CHECK_OK(weir_sem_destroy(&s.sem));
	}
}

TEST(c6_all_posts_arrive)
{
	all_posts_arrive(WEIR_FIFO);
}

TEST(c6_all_posts_arrive_barging)
{
	all_posts_arrive(WEIR_BARGING);
}

/* C6, with all waiters parked first: each post wakes exactly one. */
TEST(c6_each_post_wakes_one)
{
	weir_sem sem = WEIR_SEM_INIT_UNBOUNDED(0);
	struct waiter w[4];

	for (int i = 0; i < 4; i++) {
		w[i] = (struct waiter){ .sem = &sem, .n = 1 };
		queue_up(&w[i]);
	}
	for (int i = 0; i < 4; i++) {
		weir_sem_release(&sem, 1);
		CHECK_EQ(waiters_of(&sem), 3 - i);
		CHECK_OK(result_of(&w[i]));
	}
	CHECK_EQ(weir_sem_available(&sem), 0);
}
