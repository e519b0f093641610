/* SPDX-License-Identifier: MIT */
/*
 * JDK-6460501: memory grows without bound when acquires time out on an empty
 * semaphore, because only a release removes dead nodes from the queue.
 *
 * Threads: caller.
 *
 *   1. caller: acquire times out; node 1 stays in the queue.
 *   2. caller: acquire times out; nodes 1 and 2 stay in the queue.
 *   3. caller: repeats this a million times; no release follows, and a million
 *      nodes remain.
 *
 * In weir (C16, C26) a failed wait leaves nothing in the queue or in memory,
 * with a plain deadline and with a context.
 */
#include <stdio.h>

#include "race.h"
#include "waiter.h"

static void time_out(weir_sem *sem, int64_t count)
{
	struct rounds r = rounds(count);

	while (again(&r)) {
		weir_ctx ctx;

		/*
		 * Deadline passed before the call; queued and timed out; with a
		 * context.
		 */
		CHECK_ERR(weir_sem_acquire_until(sem, 1, 1), WEIR_ETIMEDOUT);
		CHECK_ERR(weir_sem_acquire_for(sem, 1, 1), WEIR_ETIMEDOUT);
		CHECK_OK(weir_ctx_init(&ctx, NULL, weir_now_ns() + 500));
		CHECK_ERR(weir_sem_acquire(sem, 1, &ctx), WEIR_ETIMEDOUT);
		CHECK_OK(weir_ctx_destroy(&ctx));
	}
	CHECK_EQ(waiters_of(sem) + oversized_of(sem), 0);
	CHECK_EQ(stat_of(sem).waiting_permits, 0);
}

static void timeouts_leave_nothing(weir_policy policy)
{
	weir_sem_opts opts = { .capacity = 1, .policy = policy };
	weir_sem sem;
	long before;

	CHECK_OK(weir_sem_init_opts(&sem, &opts));
	time_out(&sem, 1000);
	before = check_resident_pages();
	time_out(&sem, 1000000);
	if (MEMORY_IS_OURS)
		CHECK(check_resident_pages() <= before + 16);
	CHECK_IDENTITY(&sem);
	weir_sem_release(&sem, 1);
	CHECK_OK(weir_sem_try_acquire(&sem, 1));
	CHECK_OK(weir_sem_destroy(&sem));
}

TEST(c26_timeouts_leave_nothing)
{
	timeouts_leave_nothing(WEIR_FIFO);
}

TEST(c26_timeouts_leave_nothing_barging)
{
	timeouts_leave_nothing(WEIR_BARGING);
}
