/* SPDX-License-Identifier: MIT */
/*
 * Curator's semaphore recipe (among CURATOR-462, -315, -335, -595, -75): the
 * capacity grows, and an acquire that is already blocked does not notice.
 *
 *   waiter                          administrator
 *   ------                          -------------
 *   looked at the capacity once,
 *   waits for a release
 *                                   grows the capacity
 *   waits for a release
 *
 * Must hold (C21): growth grants at once, in order, as far as it reaches; so
 * does whatever else raises what is free.
 */
#include "waiter.h"

static void growth_grants(weir_policy policy)
{
	weir_sem_opts opts = { .permits = 2, .policy = policy };
	struct waiter w[4];
	weir_sem sem;

	CHECK_OK(weir_sem_init_opts(&sem, &opts));
	CHECK_OK(weir_sem_acquire(&sem, 2, NULL));
	for (int i = 0; i < 4; i++) {
		w[i] = (struct waiter){ .sem = &sem, .n = 1 };
		queue_up(&w[i]);
	}
	CHECK_OK(weir_sem_resize(&sem, 4, NULL));
	CHECK_OK(result_of(&w[0]));
	CHECK_OK(result_of(&w[1]));
	CHECK_EQ(waiters_of(&sem), 2);
	CHECK_EQ(stat_of(&sem).held, 4);
	/* Down and up again below what is out: nobody gets anything. */
	CHECK_OK(weir_sem_resize(&sem, 1, NULL));
	CHECK_OK(weir_sem_resize(&sem, 4, NULL));
	CHECK_EQ(waiters_of(&sem), 2);
	CHECK_EQ(stat_of(&sem).held, 4);
	CHECK_OK(weir_sem_resize(&sem, 100, NULL));
	CHECK_OK(result_of(&w[2]));
	CHECK_OK(result_of(&w[3]));
	CHECK_EQ(weir_sem_available(&sem), 94);
	CHECK_IDENTITY(&sem);
}

TEST(c21_growth_grants)
{
	growth_grants(WEIR_FIFO);
	growth_grants(WEIR_BARGING);
}

/* C21: releases pay the debt first, and only then the waiters. */
TEST(c21_waiters_come_after_the_debt)
{
	weir_sem sem = WEIR_SEM_INIT(4);
	struct waiter w = { .sem = &sem, .n = 1 };
	int64_t debt;

	CHECK_OK(weir_sem_acquire(&sem, 4, NULL));
	queue_up(&w);
	CHECK_OK(weir_sem_resize(&sem, 2, &debt));
	CHECK_EQ(debt, 2);
	weir_sem_release(&sem, 2);
	CHECK_EQ(stat_of(&sem).debt, 0);
	CHECK_EQ(waiters_of(&sem), 1);
	weir_sem_release(&sem, 1);
	CHECK_OK(result_of(&w));
	CHECK_EQ(stat_of(&sem).held, 2);
	CHECK_IDENTITY(&sem);
}
