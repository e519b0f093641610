/* SPDX-License-Identifier: MIT */
/*
 * kotlinx.coroutines PR #1323: cancelling a waiter that was never granted a
 * permit creates one.
 *
 * Threads: A (with a ctx), B, canceller.  A and B are parked; neither is
 * granted.
 *
 *   1. canceller: cancels A and passes "A's permit" to the next waiter: wakes
 *      B.
 *   2. B: returns with a permit that was never released; N + 1 permits are
 *      held.
 *
 * In weir such a cancel wakes no other waiter and adds no permit (C7, C16),
 * whether A is the head, in the middle or last.
 */
#include "waiter.h"

#define QUEUE 5

/*
 * Cancel one waiter of the queue.  Returns true if another waiter slept again
 * meanwhile, as a woken waiter would.
 */
static bool cancel_one(int which, weir_policy policy)
{
	/*
	 * A BARGING waiter wakes by itself at its bound, so the bound is long.
	 */
	weir_sem_opts opts = { .capacity = 1, .policy = policy,
			       .barge_us = WEIR_BARGE_US_MAX };
	weir_ctx ctx = WEIR_CTX_INIT;
	struct waiter w[QUEUE];
	long sleeps[QUEUE];
	bool slept = false;
	weir_sem sem;

	CHECK_OK(weir_sem_init_opts(&sem, &opts));
	for (int i = 0; i < QUEUE; i++) {
		w[i] = (struct waiter){ .sem = &sem, .n = 1 };
		if (i == which)
			w[i].ctx = &ctx;
		queue_up(&w[i]);
	}
	for (int i = 0; i < QUEUE; i++)
		sleeps[i] = sleeps_of(&w[i]);
	weir_ctx_cancel(&ctx);
	CHECK_ERR(result_of(&w[which]), WEIR_ECANCELED);
	CHECK_EQ(waiters_of(&sem), QUEUE - 1);
	CHECK_EQ(weir_sem_available(&sem), 0);
	CHECK_EQ(stat_of(&sem).held, 1);
	CHECK_EQ(stat_of(&sem).granted, 0);
	for (int i = 0; i < QUEUE; i++) {
		if (i == which)
			continue;
		AWAIT(asleep(w[i].tid));
		CHECK(!has_returned(&w[i]));
		slept |= sleeps_of(&w[i]) != sleeps[i];
	}
	/*
	 * One permit is granted to the remaining waiters one after the other.
	 */
	for (int i = 0; i < QUEUE; i++) {
		if (i == which)
			continue;
		weir_sem_release(&sem, 1);
		CHECK_OK(result_of(&w[i]));
		CHECK_EQ(stat_of(&sem).held, 1);
	}
	CHECK_IDENTITY(&sem);
	CHECK_OK(weir_sem_destroy(&sem));
	CHECK_OK(weir_ctx_destroy(&ctx));
	return slept;
}

/*
 * C7: cancelling a waiter that is not the head wakes no other waiter.  Under an
 * emulator a thread may occasionally sleep again without having been woken, so
 * a few tries are allowed; a wake-up by the cancel would happen every time.
 */
static void cancel_each(weir_policy policy)
{
	for (int which = 0; which < QUEUE; which++) {
		int tries = 10;

		while (cancel_one(which, policy) && which > 0)
			CHECK(--tries > 0);
	}
}

TEST(c7_cancel_of_an_ungranted_waiter)
{
	cancel_each(WEIR_FIFO);
}

TEST(c7_cancel_of_an_ungranted_waiter_barging)
{
	cancel_each(WEIR_BARGING);
}

/* C7: a timeout wakes no other waiter either. */
TEST(c7_timeout_of_an_ungranted_waiter)
{
	weir_sem sem = WEIR_SEM_INIT(1);
	struct waiter head = { .sem = &sem, .n = 1 };
	struct waiter last = { .sem = &sem, .n = 1 };
	long sleeps;

	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	queue_up(&head);
	queue_up(&last);
	sleeps = sleeps_of(&head);
	for (int i = 0; i < 100; i++)
		CHECK_ERR(weir_sem_acquire_for(&sem, 1, 1000), WEIR_ETIMEDOUT);
	AWAIT(asleep(head.tid));
	CHECK(sleeps_of(&head) < sleeps + 50);
	CHECK_EQ(waiters_of(&sem), 2);
	CHECK_EQ(stat_of(&sem).held, 1);
	weir_sem_release(&sem, 1);
	CHECK_OK(result_of(&head));
	weir_sem_release(&sem, 1);
	CHECK_OK(result_of(&last));
}
