/* SPDX-License-Identifier: MIT */
/*
 * Curator's semaphore recipe (among CURATOR-462, -315, -335, -595, -75): an
 * acquire that is already blocked does not notice that the capacity has grown.
 *
 * Threads: waiter, administrator.
 *
 *   1. waiter: reads the capacity once and waits for a release.
 *   2. administrator: increases the capacity.
 *   3. waiter: still waits for a release, although permits are free.
 *
 * In weir (C21) growth grants at once, in order, as far as the new permits
 * reach.
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
	/* Shrink and grow back while 4 are held: no waiter is granted. */
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

/* C21: released permits pay the debt before they are granted to waiters. */
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
