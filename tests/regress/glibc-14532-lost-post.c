/* SPDX-License-Identifier: MIT */
/*
 * glibc bug 14532: two posts, two waiters, and one waiter sleeps on.
 *
 *   poster 1           poster 2           waiter 1         waiter 2
 *   --------           --------           --------         --------
 *                                         0: sleeps        0: sleeps
 *   0 -> 1
 *                      1 -> 2
 *   somebody waits:
 *   wakes one
 *                                         takes one
 *                      value was not 0,
 *                      so the first post
 *                      woke whom there is
 *                                                          sleeps, with a
 *                                                          permit free
 *
 * Must hold (C6): every permit that is released while somebody waits for it is
 * delivered.  Posters and waiters run freely; all that was posted is taken.
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

/* C6, with everything in place first: as many wake as were posted. */
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
