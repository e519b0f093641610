/* SPDX-License-Identifier: MIT */
/*
 * kotlinx.coroutines PR #1323: cancelling a waiter that was never granted
 * anything gives back a permit that it never had.
 *
 *   A (ctx)               B                    canceller
 *   -------               -                    ---------
 *   asleep, not granted   asleep
 *                                              cancels A; "A's permit goes to
 *                                              the next": wakes B
 *                         returns with a
 *                         permit out of thin
 *                         air: N + 1 are out
 *
 * Must hold: such a cancel wakes nobody and adds nothing (C7, C16), whether the
 * waiter was head, in the middle or last.
 */
#include "waiter.h"

#define QUEUE 5

/* Whether any of the others slept anew meanwhile, as one woken would have to. */
static bool cancel_one(int which, weir_policy policy)
{
	/* A barging waiter wakes by itself when its bound is over: not now. */
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
	/* One permit serves the rest one after the other. */
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
 * C7: nobody is woken by the leaving of one that is not the head.  An emulator
 * makes threads sleep for reasons of its own, now and then; a wake-up that the
 * cancel makes would be there every time.
 */
static void cancel_each(weir_policy policy)
{
	for (int which = 0; which < QUEUE; which++) {
		int tries = 10;

		while (cancel_one(which, policy) && which > 0)
			CHECK(--tries > 0);
	}
}

TEST(c7_cancel_of_one_not_granted)
{
	cancel_each(WEIR_FIFO);
}

TEST(c7_cancel_of_one_not_granted_barging)
{
	cancel_each(WEIR_BARGING);
}

/* C7: a timeout is no different. */
TEST(c7_timeout_of_one_not_granted)
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
