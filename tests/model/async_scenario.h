/* SPDX-License-Identifier: MIT */
#ifndef TESTS_MODEL_ASYNC_SCENARIO_H
#define TESTS_MODEL_ASYNC_SCENARIO_H

/*
 * Operations for scenarios.  A call books its permits in the ledger, checks
 * that its callback runs once, and frees its operation when the memory is its
 * owner's.
 */
#include "weir/async.h"
#include "weir/loop.h"

#include "scenario.h"

struct call {
	weir_op op;
	weir_sem *sem;
	int64_t n;
	int ran;		/* times it ended: callback, submit or cancel */
	weir_err err;		/* its result; WEIR_EBUSY: cancelled */
	int turn;		/* its place in the order of results */
	bool puts;		/* release the permits when granted */
	bool frees;		/* free the operation in the callback */
};

static int turns;

static inline void call_over(struct call *c, weir_err err)
{
	ledger_end(c->sem, 0, c->n, err ? 0 : c->n);
	EX_ASSERT(c->ran++ == 0);
	c->err = err;
	c->turn = turns++;
}

static inline void call_ran(weir_op *op, weir_err err, void *user)
{
	struct call *c = user;

	EX_ASSERT(op == &c->op);
	call_over(c, err);
	if (c->frees)
		ex_free(op, sizeof(*op));
	if (!err && c->puts)
		weir_sem_release(c->sem, c->n);
}

static inline void call_init(struct call *c, weir_loop *loop, weir_sem *sem,
			     int64_t n)
{
	*c = (struct call){ .sem = sem, .n = n, .puts = true };
	weir_op_init(&c->op, loop, call_ran, c);
}

static inline void call_done(struct call *c, weir_err err)
{
	if (err != WEIR_EQUEUED)
		call_over(c, err);
	if (!err && c->puts)
		weir_sem_release(c->sem, c->n);
}

static inline void call_submit(struct call *c, weir_ctx *ctx)
{
	ledger_begin(c->sem, 0, c->n);
	call_done(c, weir_op_submit(&c->op, c->sem, c->n, ctx));
}

static inline void call_submit_until(struct call *c, int64_t deadline_ns)
{
	ledger_begin(c->sem, 0, c->n);
	call_done(c, weir_op_submit_until(&c->op, c->sem, c->n, deadline_ns));
}

/* C35: when cancel returns, the memory belongs to the caller. */
static inline weir_err call_cancel(struct call *c)
{
	weir_err err = weir_op_cancel(&c->op);

	EX_ASSERT(err == WEIR_OK || err == WEIR_EBUSY);
	if (!err)
		call_over(c, WEIR_EBUSY);
	ex_free(&c->op, sizeof(c->op));
	return err;
}

static inline void check_once(const struct call *c)
{
	EX_ASSERT(c->ran == 1);
}

#endif /* TESTS_MODEL_ASYNC_SCENARIO_H */
