/* SPDX-License-Identifier: MIT */
/*
 * shuttle PR #167: a permit is lost when an acquire that has been assigned its
 * permit is dropped before it runs again.
 *
 * Threads: A (head of the queue, with a ctx), B (queued behind A), main.
 *
 *   1. main: releases; the permit is assigned to A, which does not run.
 *   2. main: cancels A's ctx.
 *   3. B: sleeps, although A will never take the permit.
 *
 * In weir (C13) A cannot succeed after the cancel has returned, so the permit
 * is granted to B before that.  It is not kept until A's thread runs, which may
 * be starved, stopped or, as here, held in a signal handler.
 */
#include "race.h"
#include "waiter.h"

static void take_back(int64_t n_a, int64_t max_a)
{
	weir_sem sem = WEIR_SEM_INIT(4);
	weir_ctx ctx = WEIR_CTX_INIT;
	struct waiter a = { .sem = &sem, .n = n_a, .max = max_a, .ctx = &ctx };
	struct waiter b = { .sem = &sem, .n = 1 };
	struct waiter c = { .sem = &sem, .n = 3 };

	CHECK_OK(weir_sem_acquire(&sem, 4, NULL));
	queue_up(&a);
	queue_up(&b);
	queue_up(&c);
	freeze(&a);
	weir_sem_release(&sem, 3);
	CHECK_EQ(stat_of(&sem).granted, 3);
	CHECK_EQ(waiters_of(&sem), 2);
	weir_ctx_cancel(&ctx);
	/*
	 * B gets one of A's three permits; C needs three and continues to wait.
	 */
	CHECK_EQ(waiters_of(&sem), 1);
	CHECK_OK(result_of(&b));
	CHECK_EQ(weir_sem_available(&sem), 2);
	CHECK_EQ(stat_of(&sem).granted, 0);
	CHECK_IDENTITY(&sem);
	thaw(&a);
	CHECK_ERR(result_of(&a), WEIR_ECANCELED);
	CHECK_EQ(a.got, 0);
	CHECK_EQ(weir_sem_available(&sem), 2);
	weir_sem_release(&sem, 1);
	CHECK_OK(result_of(&c));
	CHECK_EQ(stat_of(&sem).held, 4);
	CHECK_IDENTITY(&sem);
	CHECK_OK(weir_ctx_destroy(&ctx));
}

TEST(c13_a_grant_not_taken_goes_to_the_next)
{
	take_back(3, 3);
	take_back(2, 4);
}

/* C13: the end of a parent takes back several grants at once. */
TEST(c13_grants_not_taken_below_a_parent)
{
	weir_sem sem = WEIR_SEM_INIT(3);
	weir_ctx root = WEIR_CTX_INIT, child[3];
	struct waiter a[3], b = { .sem = &sem, .n = 3 };

	CHECK_OK(weir_sem_acquire(&sem, 3, NULL));
	for (int i = 0; i < 3; i++) {
		CHECK_OK(weir_ctx_init(&child[i], &root, WEIR_FOREVER));
		a[i] = (struct waiter){ .sem = &sem, .n = 1,
					.ctx = &child[i] };
		queue_up(&a[i]);
		freeze(&a[i]);
	}
	queue_up(&b);
	weir_sem_release(&sem, 3);
	CHECK_EQ(stat_of(&sem).granted, 3);
	weir_ctx_cancel(&root);
	CHECK_EQ(waiters_of(&sem), 0);
	CHECK_OK(result_of(&b));
	for (int i = 0; i < 3; i++) {
		thaw(&a[i]);
		CHECK_ERR(result_of(&a[i]), WEIR_ECANCELED);
		CHECK_OK(weir_ctx_destroy(&child[i]));
	}
	CHECK_EQ(stat_of(&sem).held, 3);
	CHECK_IDENTITY(&sem);
	CHECK_OK(weir_ctx_destroy(&root));
}

/*
 * C13 without freezing: one thread releases and cancels in immediate
 * succession.  The state after the cancel must agree with A's result.
 */
TEST(c13_release_then_cancel_at_once)
{
	weir_sem sem = WEIR_SEM_INIT(1);
	struct rounds r = rounds(3000);

	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	while (again(&r)) {
		weir_ctx ctx = WEIR_CTX_INIT;
		struct waiter a = { .sem = &sem, .n = 1, .ctx = &ctx };
		weir_sem_info info;

		queue_up(&a);
		weir_sem_release(&sem, 1);
		weir_ctx_cancel(&ctx);
		info = stat_of(&sem);
		if (result_of(&a)) {
			CHECK_ERR(a.err, WEIR_ECANCELED);
			CHECK_EQ(info.granted, 0);
			CHECK_EQ(info.free, 1);
			CHECK_OK(weir_sem_try_acquire(&sem, 1));
		} else {
			/* A had taken the grant before the cancel. */
			CHECK_EQ(info.held + info.granted, 1);
		}
		CHECK_OK(weir_ctx_destroy(&ctx));
	}
	CHECK_IDENTITY(&sem);
}
