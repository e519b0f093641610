/* SPDX-License-Identifier: MIT */
/*
 * A million operations on one semaphore.  Half of them are cancelled in random
 * order; the rest are granted in order (C4, C17, C35), closed, or cancelled by
 * their context.
 */
#include <stdlib.h>

#include "calls.h"

#define MANY (UNDER_TSAN ? 100000 : 1000000)

static weir_sem sem;
static weir_op *ops;
static uint32_t *order;
static uint32_t last, ran;
static weir_err expected;

/* The index of an operation is its place in the queue. */
static void check_turn(weir_op *op, weir_err err, void *user)
{
	uint32_t which = (uint32_t)(op - ops);

	(void)user;
	CHECK_ERR(err, expected);
	CHECK(!ran || which > last);
	last = which;
	ran++;
}

static void submit_all(weir_loop *loop, weir_ctx *ctx)
{
	last = ran = 0;
	CHECK_OK(weir_sem_init_opts(&sem, &(weir_sem_opts){ .capacity = MANY }));
	ops = malloc(MANY * sizeof(*ops));
	order = malloc(MANY * sizeof(*order));
	CHECK(ops && order);
	for (uint32_t i = 0; i < MANY; i++) {
		order[i] = i;
		weir_op_init(&ops[i], loop, check_turn, NULL);
		CHECK_ERR(weir_op_submit(&ops[i], &sem, 1, ctx), WEIR_EQUEUED);
	}
	CHECK_EQ(waiters_of(&sem), MANY);
}

static void cancel_half(void)
{
	uint64_t seed = seed_of(3);

	for (uint32_t i = 0; i < MANY / 2; i++) {
		uint32_t at = i + (uint32_t)random_below(&seed, MANY - i);
		uint32_t which = order[at];

		order[at] = order[i];
		CHECK_OK(weir_op_cancel(&ops[which]));
		/* After the cancel its memory belongs to this test. */
		memset(&ops[which], 0xa5, sizeof(weir_op));
	}
	CHECK_EQ(waiters_of(&sem), MANY - MANY / 2);
}

static void end(void)
{
	CHECK_EQ(waiters_of(&sem), 0);
	CHECK_IDENTITY(&sem);
	free(ops);
	free(order);
}

/* C6, C35: one release grants in order, in batches. */
TEST(c35_a_million_and_half_of_them_cancelled)
{
	expected = WEIR_OK;
	submit_all(NULL, NULL);
	cancel_half();
	weir_sem_release(&sem, MANY / 4);
	CHECK_EQ(ran, MANY / 4);
	for (int i = 0; i < MANY / 4; i++)
		weir_sem_release(&sem, 1);
	CHECK_EQ(ran, MANY / 2);
	end();
}

/* C36: the same on a loop. */
TEST(c36_a_million_on_a_loop)
{
	weir_loop loop;

	CHECK_OK(weir_loop_init(&loop));
	expected = WEIR_OK;
	submit_all(&loop, NULL);
	weir_sem_release(&sem, MANY / 2);
	CHECK_EQ(stat_of(&sem).granted, MANY / 2);
	CHECK_EQ(weir_loop_dispatch(&loop), MANY / 2);
	weir_sem_release(&sem, MANY / 2);
	/* Cancelled after the grant: the permits are free again. */
	for (int i = MANY / 2; i < MANY; i++)
		CHECK_OK(weir_op_cancel(&ops[i]));
	CHECK_EQ(weir_sem_available(&sem), MANY / 2);
	CHECK_EQ(weir_loop_dispatch(&loop), 0);
	CHECK_OK(weir_loop_destroy(&loop));
	end();
}

/* C19: a close ends them all. */
TEST(c19_a_million_closed)
{
	expected = WEIR_ECLOSED;
	submit_all(NULL, NULL);
	weir_sem_close(&sem, WEIR_CLOSE_NOW);
	CHECK_EQ(ran, MANY);
	end();
}

/* C13: a cancel of their context ends them all. */
TEST(c13_a_million_cancelled_by_their_context)
{
	weir_ctx ctx = WEIR_CTX_INIT;

	expected = WEIR_ECANCELED;
	submit_all(NULL, &ctx);
	weir_ctx_cancel(&ctx);
	CHECK_EQ(ran, MANY);
	CHECK_OK(weir_ctx_destroy(&ctx));
	end();
}
