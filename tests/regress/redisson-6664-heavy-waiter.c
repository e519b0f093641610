/* SPDX-License-Identifier: MIT */
/*
 * Redisson #6664, #6687, #5762: waiters sleep although permits are free,
 * because a release wakes a fixed number of waiters regardless of their
 * weights.  A release of many permits wakes one waiter; a release of one permit
 * wakes a waiter that needs more, which sleeps again and has consumed the
 * wake-up that another waiter needed.
 *
 * Threads: A (requests 3), B (requests 1), releaser.
 *
 *   1. releaser: releases 4 and sends one message.
 *   2. A: wakes and takes 3.
 *   3. B: sleeps although one permit is free.
 *
 * In weir (C6) the number of permits decides which waiters are woken, not the
 * number of releases: all that fit, in order, at once.
 */
#include "race.h"
#include "waiter.h"

TEST(c6_one_release_serves_all_that_fit)
{
	static const int64_t weight[] = { 3, 1, 2, 1, 4, 1 };
	weir_sem sem = WEIR_SEM_INIT(20);
	struct waiter w[6];

	CHECK_OK(weir_sem_acquire(&sem, 20, NULL));
	for (int i = 0; i < 6; i++) {
		w[i] = (struct waiter){ .sem = &sem, .n = weight[i] };
		queue_up(&w[i]);
	}
	CHECK_EQ(stat_of(&sem).waiting_permits, 12);
	weir_sem_release(&sem, 8);	/* grants 3 + 1 + 2 + 1; one is left */
	CHECK_EQ(waiters_of(&sem), 2);
	CHECK_EQ(weir_sem_available(&sem), 1);
	for (int i = 0; i < 4; i++)
		CHECK_OK(result_of(&w[i]));
	CHECK(!has_returned(&w[4]) && !has_returned(&w[5]));
	weir_sem_release(&sem, 4);
	CHECK_OK(result_of(&w[4]));
	CHECK_OK(result_of(&w[5]));
	CHECK_IDENTITY(&sem);
}

TEST(c6_many_releases_serve_one_heavy_waiter)
{
	weir_sem sem = WEIR_SEM_INIT(5);
	struct waiter heavy = { .sem = &sem, .n = 5 };
	struct waiter light = { .sem = &sem, .n = 1 };

	CHECK_OK(weir_sem_acquire(&sem, 5, NULL));
	queue_up(&heavy);
	queue_up(&light);
	for (int i = 1; i < 5; i++) {
		weir_sem_release(&sem, 1);
		CHECK_EQ(weir_sem_available(&sem), i);
		CHECK_EQ(waiters_of(&sem), 2);
		CHECK_ERR(weir_sem_try_acquire(&sem, 1), WEIR_EAGAIN);
	}
	weir_sem_release(&sem, 1);
	CHECK_OK(result_of(&heavy));
	CHECK_EQ(waiters_of(&sem), 1);
	weir_sem_release(&sem, 5);
	CHECK_OK(result_of(&light));
}

struct shared {
	weir_sem sem;
	uint32_t number;	/* atomic: numbers the threads */
	int64_t rounds;
};

static void *take_weights(void *arg)
{
	struct shared *s = arg;
	uint64_t random = seed_of(__atomic_fetch_add(&s->number, 1,
						     __ATOMIC_RELAXED));

	for (int64_t i = 0; i < s->rounds; i++) {
		int64_t n = 1 + random_below(&random, 5);

		CHECK_OK(weir_sem_acquire(&s->sem, n, NULL));
		/*
		 * Release in two parts; one part may be too small for any
		 * waiter.
		 */
		if (n > 1)
			weir_sem_release(&s->sem, 1);
		weir_sem_release(&s->sem, n > 1 ? n - 1 : 1);
	}
	return NULL;
}

/* C6: with mixed weights every waiter is granted eventually. */
static void mixed_weights(weir_policy policy)
{
	weir_sem_opts opts = { .permits = 6, .policy = policy };
	struct rounds r = rounds(50);

	while (again(&r)) {
		struct shared s = { .rounds = 200 };
		check_thread thread[6];

		CHECK_OK(weir_sem_init_opts(&s.sem, &opts));
		for (int i = 0; i < 6; i++)
			thread[i] = start(take_weights, &s);
		for (int i = 0; i < 6; i++)
			finish(thread[i]);
		CHECK_EQ(weir_sem_available(&s.sem), 6);
	}
}

TEST(c6_mixed_weights)
{
	mixed_weights(WEIR_FIFO);
	mixed_weights(WEIR_BARGING);
}
