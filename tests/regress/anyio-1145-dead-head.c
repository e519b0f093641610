/* SPDX-License-Identifier: MIT */
/*
 * anyio PR #1145: a release hands its permit to a head that was already
 * cancelled, and the waiters behind it sleep forever.
 *
 * Threads: A (head of the queue, with a ctx), B (queued behind A), main.
 *
 *   1. main: cancels A's ctx.  A has not run yet and is still in the queue.
 *   2. main: releases one permit; the head is A, so A gets it.
 *   3. A: wakes, reports the cancellation and drops the permit.
 *   4. B: sleeps forever.
 *
 * In weir (C6, C13) the cancel dequeues A before it returns, so the release
 * grants to B without waiting for A to run.  The same holds if the deadline of
 * A's ctx passes while A cannot run: the end of a ctx wins (C13).  With a plain
 * deadline the grant wins (C14).
 */
#include "waiter.h"

static void dead_head(weir_policy policy)
{
	weir_sem_opts opts = { .capacity = 1, .policy = policy };
	weir_ctx ctx = WEIR_CTX_INIT;
	weir_sem sem;
	struct waiter a = { .sem = &sem, .n = 1, .ctx = &ctx };
	struct waiter b = { .sem = &sem, .n = 1 };

	CHECK_OK(weir_sem_init_opts(&sem, &opts));
	queue_up(&a);
	queue_up(&b);
	freeze(&a);
	weir_ctx_cancel(&ctx);
	CHECK_EQ(waiters_of(&sem), 1);
	weir_sem_release(&sem, 1);
	CHECK_OK(result_of(&b));
	CHECK_EQ(stat_of(&sem).held, 1);
	thaw(&a);
	CHECK_ERR(result_of(&a), WEIR_ECANCELED);
	CHECK_EQ(stat_of(&sem).held, 1);
	CHECK_IDENTITY(&sem);
	CHECK_OK(weir_ctx_destroy(&ctx));
}

TEST(c6_release_skips_a_cancelled_head)
{
	dead_head(WEIR_FIFO);
	dead_head(WEIR_BARGING);
}

/* C6: several cancelled waiters, at any place in the queue. */
TEST(c6_release_skips_every_cancelled_waiter)
{
	weir_sem sem = WEIR_SEM_INIT(2);
	weir_ctx ctx = WEIR_CTX_INIT;
	struct waiter w[8];

	CHECK_OK(weir_sem_acquire(&sem, 2, NULL));
	for (int i = 0; i < 8; i++) {
		/* The fourth and the seventh are not cancelled. */
		w[i] = (struct waiter){ .sem = &sem, .n = 1 };
		if (i != 3 && i != 6)
			w[i].ctx = &ctx;
		queue_up(&w[i]);
		if (w[i].ctx)
			freeze(&w[i]);
	}
	weir_ctx_cancel(&ctx);
	CHECK_EQ(waiters_of(&sem), 2);
	weir_sem_release(&sem, 1);
	CHECK_OK(result_of(&w[3]));
	CHECK_EQ(waiters_of(&sem), 1);
	weir_sem_release(&sem, 1);
	CHECK_OK(result_of(&w[6]));
	for (int i = 0; i < 8; i++) {
		if (!w[i].ctx)
			continue;
		thaw(&w[i]);
		CHECK_ERR(result_of(&w[i]), WEIR_ECANCELED);
	}
	CHECK_EQ(stat_of(&sem).held, 2);
	CHECK_IDENTITY(&sem);
	CHECK_OK(weir_ctx_destroy(&ctx));
}

/*
 * C13: the deadline of A's ctx passes while A cannot run, then a release
 * follows.  Whether the release granted to A or to B, A reports its deadline
 * and B gets the permit.
 */
TEST(c13_deadline_of_a_frozen_head)
{
	weir_sem sem = WEIR_SEM_INIT(1);
	weir_ctx ctx;
	struct waiter a = { .sem = &sem, .n = 1, .ctx = &ctx };
	struct waiter b = { .sem = &sem, .n = 1 };
	int64_t ns = 10000000;

	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	do
		CHECK_OK(weir_ctx_init(&ctx, NULL, weir_now_ns() + (ns *= 2)));
	while (!queue_up_frozen(&a));
	queue_up(&b);
	AWAIT(weir_now_ns() > weir_ctx_deadline(&ctx));
	weir_sem_release(&sem, 1);
	thaw(&a);
	CHECK_ERR(result_of(&a), WEIR_ETIMEDOUT);
	CHECK_OK(result_of(&b));
	CHECK_EQ(stat_of(&sem).held, 1);
	CHECK_IDENTITY(&sem);
	CHECK_OK(weir_ctx_destroy(&ctx));
}
