/* SPDX-License-Identifier: MIT */
/*
 * dotnet/coreclr PR #13766: several releases wake too few or too many waiters
 * while the waiters woken by earlier releases have not run yet.
 *
 * Threads: A, B, C (parked), releaser.
 *
 *   1. releaser: releases one permit and wakes A.  A has not run yet.
 *   2. releaser: releases another permit; "a waiter was already woken", so it
 *      wakes no other.
 *   3. A: returns with one permit.
 *   4. B, C: sleep although one permit is free.
 *
 * In weir (C6) each released permit is granted to one waiter, whether or not
 * that waiter has been woken or has run.
 */
#include "waiter.h"

#define WAITERS 6

/* C6: no waiter runs while the releases are made. */
static void release_to_frozen(weir_policy policy, int64_t at_a_time)
{
	weir_sem_opts opts = { .capacity = WAITERS, .policy = policy };
	struct waiter w[WAITERS];
	int64_t released = 0;
	weir_sem sem;

	CHECK_OK(weir_sem_init_opts(&sem, &opts));
	for (int i = 0; i < WAITERS; i++) {
		w[i] = (struct waiter){ .sem = &sem, .n = 1 };
		queue_up(&w[i]);
		freeze(&w[i]);
	}
	while (released < WAITERS - 2) {
		weir_sem_release(&sem, at_a_time);
		released += at_a_time;
		CHECK_IDENTITY(&sem);
		if (policy == WEIR_FIFO) {
			CHECK_EQ(stat_of(&sem).granted, released);
			CHECK_EQ(waiters_of(&sem), WAITERS - released);
			CHECK_EQ(stat_of(&sem).free, 0);
		}
	}
	for (int i = 0; i < WAITERS; i++)
		thaw(&w[i]);
	/* In order: all waiters except the last two have been granted. */
	for (int i = 0; i < WAITERS - 2; i++)
		CHECK_OK(result_of(&w[i]));
	CHECK_EQ(waiters_of(&sem), 2);
	CHECK_EQ(stat_of(&sem).free, 0);
	CHECK_EQ(stat_of(&sem).granted, 0);
	CHECK(!has_returned(&w[WAITERS - 2]) && !has_returned(&w[WAITERS - 1]));
	weir_sem_release(&sem, 2);
	CHECK_OK(result_of(&w[WAITERS - 2]));
	CHECK_OK(result_of(&w[WAITERS - 1]));
	CHECK_EQ(stat_of(&sem).held, WAITERS);
	CHECK_IDENTITY(&sem);
}

TEST(c6_one_by_one)
{
	release_to_frozen(WEIR_FIFO, 1);
	release_to_frozen(WEIR_BARGING, 1);
}

TEST(c6_two_at_a_time)
{
	release_to_frozen(WEIR_FIFO, 2);
	release_to_frozen(WEIR_BARGING, 2);
}

TEST(c6_all_at_once)
{
	release_to_frozen(WEIR_FIFO, WAITERS - 2);
	release_to_frozen(WEIR_BARGING, WAITERS - 2);
}
