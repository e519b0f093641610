/* SPDX-License-Identifier: MIT */
/*
 * Borrows that nobody stands still for: weir/pool_async.h.
 *
 * An operation (weir/async.h) asks for the permit that a thread would wait for.
 * What the permit buys is bought in that operation's callback, with the code of
 * the blocking calls, and then the user's callback runs.
 *
 *   FREE   its owner's                         -> GOING by submit
 *   GOING  waits, or its resource is made      -> FREE before the callback, or
 *                                                 by cancel and poll
 *
 * Only to find mistakes: that the resource is being made a cancel is told by the
 * inner operation, which is over by then.  It does not wait for that: create is
 * the user's code, and may be what cancels, or wait for it.
 */
#include "weir/pool_async.h"

#include "base/atomic.h"
#include "base/panic.h"
#include "pattern/pool.h"

enum { FREE, GOING };

/* The acquire said err: what it makes of the borrow.  The last access to *op. */
static weir_err finish(weir_pool_op *op, weir_err err, weir_pool_item **item)
{
	if (!err)
		err = weir_pool_lend_(op->pool_, op->who_, op->ctx_, item);
	/* relaxed: the owner's own means tell him that it is over. */
	at_store_relaxed(&op->state_, FREE);
	return err;
}

static void called(weir_op *inner, weir_err err, void *user)
{
	weir_pool_op *op = user;
	weir_pool_op_fn *fn = op->fn_;
	void *arg = op->user_;
	weir_pool_item *item = NULL;

	(void)inner;
	err = finish(op, err, &item);
	fn(op, err, item, arg);
}

static bool is_misplaced(const weir_pool_op *op)
{
	return !op || (uintptr_t)op % _Alignof(weir_pool_op);
}

void weir_pool_op_init(weir_pool_op *op, struct weir_loop *loop,
		       weir_pool_op_fn *fn, void *user)
{
	if (is_misplaced(op) || (loop && !fn)) {
		weir_panic_("weir_pool_op_init: %p is not an operation, or a "
			    "loop has nothing to call", op);
		return;
	}
	*op = (weir_pool_op){ .fn_ = fn, .user_ = user };
	weir_op_init(&op->op_, loop, fn ? called : NULL, op);
}

static weir_err prepare(weir_pool_op *op, weir_pool *pool, const char *who,
			struct weir_ctx *ctx, weir_pool_item **item)
{
	if (item)
		*item = NULL;
	if (is_misplaced(op) || weir_pool_is_misplaced_(pool) || !item)
		return WEIR_EINVAL;
	/* relaxed: another call on it now is a mistake, found by luck. */
	if (at_load_relaxed(&op->state_) != FREE)
		return weir_panic_("weir_pool_op: operation %p is submitted "
				   "already", op);
	op->pool_ = pool;
	op->who_ = who;
	op->ctx_ = ctx;
	/* relaxed: the semaphore's lock publishes it. */
	at_store_relaxed(&op->state_, GOING);
	return WEIR_OK;
}

/* Once it is queued *op may be over and gone. */
weir_err weir_pool_op_borrow(weir_pool_op *op, weir_pool *pool, const char *who,
			     struct weir_ctx *ctx, weir_pool_item **item)
{
	weir_err err = prepare(op, pool, who, ctx, item);

	if (err)
		return err;
	err = weir_op_submit(&op->op_, &pool->permits_, 1, ctx);
	return err == WEIR_EQUEUED ? err : finish(op, err, item);
}

weir_err weir_pool_op_borrow_until(weir_pool_op *op, weir_pool *pool,
				   const char *who, int64_t deadline_ns,
				   weir_pool_item **item)
{
	weir_err err = prepare(op, pool, who, NULL, item);

	if (err)
		return err;
	err = weir_op_submit_until(&op->op_, &pool->permits_, 1, deadline_ns);
	return err == WEIR_EQUEUED ? err : finish(op, err, item);
}

weir_err weir_pool_op_cancel(weir_pool_op *op)
{
	weir_err err;

	if (is_misplaced(op))
		return WEIR_EINVAL;
	err = weir_op_cancel(&op->op_);
	if (!err)
		/* relaxed: the caller's now. */
		at_store_relaxed(&op->state_, FREE);
	return err;
}

weir_err weir_pool_op_poll(weir_pool_op *op, weir_pool_item **item)
{
	weir_err err;

	if (item)
		*item = NULL;
	if (is_misplaced(op) || !item)
		return WEIR_EINVAL;
	err = weir_op_poll(&op->op_);
	/* It waits; or there was nothing to poll. */
	if (err == WEIR_EQUEUED || err == WEIR_EINVAL)
		return err;
	return finish(op, err, item);
}
