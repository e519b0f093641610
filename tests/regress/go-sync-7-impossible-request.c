/* SPDX-License-Identifier: MIT */
/*
 * golang/sync PR #7: a request for more than the capacity waits forever at the
 * head of the queue without an error and blocks all requests behind it.
 *
 * Threads: A (requests 4), B (requests 1).  Capacity 3, all permits free.
 *
 *   1. A: enqueues as the head and can never be granted.
 *   2. B: enqueues behind A and waits forever, although three permits are free.
 *
 * In weir (C11) A fails at once with WEIR_ETOOBIG if it has no ctx.  With a ctx
 * it waits for the ctx only, on the oversized list, and blocks no other
 * request.  Growth enqueues it at the tail of the queue, and a shrink moves
 * waiters that no longer fit the capacity to the oversized list.
 */
#include "waiter.h"

TEST(c11_too_big_without_a_ctx)
{
	weir_sem fifo = WEIR_SEM_INIT(3), barging = WEIR_SEM_INIT_BARGING(3);
	weir_sem empty = WEIR_SEM_INIT(0);
	int64_t got = 7;

	CHECK_ERR(weir_sem_acquire(&fifo, 4, NULL), WEIR_ETOOBIG);
	CHECK_ERR(weir_sem_acquire(&barging, 4, NULL), WEIR_ETOOBIG);
	CHECK_ERR(weir_sem_acquire(&fifo, WEIR_SEM_MAX, NULL), WEIR_ETOOBIG);
	CHECK_ERR(weir_sem_acquire_until(&fifo, 4, WEIR_FOREVER),
		  WEIR_ETOOBIG);
	CHECK_ERR(weir_sem_acquire_for(&fifo, 4, INT64_MAX), WEIR_ETOOBIG);
	CHECK_ERR(weir_sem_acquire_upto(&fifo, 4, 9, NULL, &got),
		  WEIR_ETOOBIG);
	CHECK_EQ(got, 0);
	CHECK_ERR(weir_sem_acquire(&empty, 1, NULL), WEIR_ETOOBIG);
	CHECK_EQ(weir_sem_available(&fifo), 3);
	/* More than is free, but not more than the capacity: it waits. */
	CHECK_OK(weir_sem_acquire(&fifo, 1, NULL));
	CHECK_ERR(weir_sem_acquire_until(&fifo, 3, 1), WEIR_ETIMEDOUT);
}

TEST(c11_oversized_request_blocks_no_other)
{
	weir_sem sem = WEIR_SEM_INIT(3);
	weir_ctx ctx = WEIR_CTX_INIT;
	struct waiter big = { .sem = &sem, .n = 4, .ctx = &ctx };
	weir_ctx brief;

	queue_up(&big);
	CHECK_EQ(waiters_of(&sem), 0);
	CHECK_EQ(oversized_of(&sem), 1);
	CHECK_OK(weir_sem_try_acquire(&sem, 3));
	CHECK_ERR(weir_sem_try_acquire(&sem, 1), WEIR_EAGAIN);
	weir_sem_release(&sem, 3);
	CHECK_OK(weir_sem_acquire(&sem, 2, NULL));
	weir_sem_release(&sem, 2);
	CHECK(!has_returned(&big));
	weir_ctx_cancel(&ctx);
	CHECK_ERR(result_of(&big), WEIR_ECANCELED);
	/* The deadline of the ctx ends the wait as well. */
	CHECK_OK(weir_ctx_init(&brief, NULL, weir_now_ns() + 1000000));
	CHECK_ERR(weir_sem_acquire(&sem, 4, &brief), WEIR_ETIMEDOUT);
	CHECK_EQ(oversized_of(&sem), 0);
	CHECK_EQ(weir_sem_available(&sem), 3);
	CHECK_OK(weir_ctx_destroy(&brief));
	CHECK_OK(weir_ctx_destroy(&ctx));
}

TEST(c11_growth_enqueues_at_the_tail)
{
	weir_sem sem = WEIR_SEM_INIT(3);
	weir_ctx ctx = WEIR_CTX_INIT;
	struct waiter big = { .sem = &sem, .n = 5, .ctx = &ctx };
	struct waiter queued = { .sem = &sem, .n = 3 };
	int64_t debt = 7;

	CHECK_OK(weir_sem_acquire(&sem, 3, NULL));
	queue_up(&big);
	queue_up(&queued);
	CHECK_OK(weir_sem_resize(&sem, 4, NULL));
	CHECK_EQ(oversized_of(&sem), 1);
	CHECK_OK(weir_sem_resize(&sem, 5, NULL));
	CHECK_EQ(oversized_of(&sem), 0);
	CHECK_EQ(waiters_of(&sem), 2);
	/* `queued` arrived later but was in the queue before `big`. */
	weir_sem_release(&sem, 1);
	CHECK_OK(result_of(&queued));
	CHECK(!has_returned(&big));
	weir_sem_release(&sem, 2);
	weir_sem_release(&sem, 3);
	CHECK_OK(result_of(&big));
	CHECK_EQ(stat_of(&sem).held, 5);
	CHECK_OK(weir_sem_resize(&sem, 3, &debt));
	CHECK_EQ(debt, 2);
	CHECK_OK(weir_ctx_destroy(&ctx));
}

TEST(c11_shrink_dequeues_and_grants_to_the_next)
{
	weir_sem sem = WEIR_SEM_INIT(5);
	weir_ctx ctx = WEIR_CTX_INIT;
	struct waiter with_ctx = { .sem = &sem, .n = 5, .ctx = &ctx };
	struct waiter without = { .sem = &sem, .n = 5 };
	struct waiter small = { .sem = &sem, .n = 1 };

	CHECK_OK(weir_sem_acquire(&sem, 3, NULL));
	queue_up(&with_ctx);
	queue_up(&without);
	queue_up(&small);
	CHECK_OK(weir_sem_resize(&sem, 4, NULL));
	CHECK_ERR(result_of(&without), WEIR_ETOOBIG);
	CHECK_OK(result_of(&small));
	CHECK_EQ(waiters_of(&sem), 0);
	CHECK_EQ(oversized_of(&sem), 1);
	CHECK(!has_returned(&with_ctx));
	weir_sem_release(&sem, 4);
	CHECK_EQ(weir_sem_available(&sem), 4);
	CHECK_OK(weir_sem_resize(&sem, 5, NULL));
	CHECK_OK(result_of(&with_ctx));
	CHECK_IDENTITY(&sem);
	CHECK_OK(weir_ctx_destroy(&ctx));
}
