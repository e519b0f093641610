/* SPDX-License-Identifier: MIT */
/*
 * golang/go#37852: a waiter that fits sleeps although its permit is free,
 * because the head was cancelled and the queue was not examined again.
 *
 * Threads: A (requests 2, with a ctx), B (requests 1), main.  Capacity 2; one
 * permit is held, one is free.
 *
 *   1. A: enqueues as the head.
 *   2. B: enqueues behind A.
 *   3. main: cancels A's ctx.
 *   4. A: leaves the queue.
 *   5. B: fits now, but sleeps until the next release.
 *
 * In weir B is granted before the cancel returns (C7, C13).  So is every waiter
 * behind A that now fits, in order, up to the first that does not.
 */
#include "waiter.h"

static void cancelled_head(weir_policy policy)
{
	weir_sem_opts opts = { .permits = 2, .policy = policy };
	weir_ctx ctx = WEIR_CTX_INIT;
	weir_sem sem;
	struct waiter a = { .sem = &sem, .n = 2, .ctx = &ctx };
	struct waiter b = { .sem = &sem, .n = 1 };

	CHECK_OK(weir_sem_init_opts(&sem, &opts));
	CHECK_OK(weir_sem_acquire(&sem, 2, NULL));
	queue_up(&a);
	queue_up(&b);
	weir_sem_release(&sem, 1);
	CHECK_EQ(waiters_of(&sem), 2);
	weir_ctx_cancel(&ctx);
	/* The grant is decided already, even if B's thread has not run. */
	if (policy == WEIR_FIFO) {
		CHECK_EQ(waiters_of(&sem), 0);
		CHECK_EQ(weir_sem_available(&sem), 0);
	}
	CHECK_ERR(result_of(&a), WEIR_ECANCELED);
	CHECK_OK(result_of(&b));
	CHECK_EQ(stat_of(&sem).held, 2);
	CHECK_IDENTITY(&sem);
	weir_sem_release(&sem, 2);
	CHECK_OK(weir_sem_destroy(&sem));
	CHECK_OK(weir_ctx_destroy(&ctx));
}

TEST(c7_cancelled_head_lets_the_next_in)
{
	cancelled_head(WEIR_FIFO);
}

TEST(c7_cancelled_head_lets_the_next_in_barging)
{
	cancelled_head(WEIR_BARGING);
}

/* C7: grants in order, up to the first waiter that does not fit. */
TEST(c7_all_that_fit_and_no_other)
{
	weir_sem sem = WEIR_SEM_INIT(8);
	weir_ctx ctx = WEIR_CTX_INIT;
	struct waiter head = { .sem = &sem, .n = 6, .ctx = &ctx };
	struct waiter b = { .sem = &sem, .n = 1 };
	struct waiter c = { .sem = &sem, .n = 2 };
	struct waiter d = { .sem = &sem, .n = 3 };	/* only 2 are left */
	struct waiter e = { .sem = &sem, .n = 1 };	/* fits, but behind D */

	CHECK_OK(weir_sem_acquire(&sem, 3, NULL));
	queue_up(&head);
	queue_up(&b);
	queue_up(&c);
	queue_up(&d);
	queue_up(&e);
	weir_ctx_cancel(&ctx);
	CHECK_EQ(waiters_of(&sem), 2);
	CHECK_EQ(weir_sem_available(&sem), 2);
	CHECK_ERR(result_of(&head), WEIR_ECANCELED);
	CHECK_OK(result_of(&b));
	CHECK_OK(result_of(&c));
	CHECK(!has_returned(&d) && !has_returned(&e));
	weir_sem_release(&sem, 3);
	CHECK_OK(result_of(&d));
	CHECK_OK(result_of(&e));
	CHECK_IDENTITY(&sem);
	CHECK_OK(weir_ctx_destroy(&ctx));
}
