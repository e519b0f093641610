/* SPDX-License-Identifier: MIT */
/*
 * Sends and receives that nobody stands still for: weir/chan_async.h.
 *
 * An operation (weir/async.h) asks for the permit that a thread would wait for.
 * What the permit buys is bought in that operation's callback, with the code of
 * the blocking calls, and then the user's callback runs.  No ticket is taken
 * before: a decided operation that is not run yet keeps nobody from his slot.
 *
 *   FREE   its owner's                       -> GOING by submit
 *   GOING  waits, or its item is copied      -> FREE before the callback, or by
 *                                               cancel and poll
 *
 * While it is copied nobody's code runs on that thread (one callback at a time),
 * so whoever waits for the end of it does not wait for himself.
 *
 * Pairs
 *
 *   [CH4] over  release: set_free   acquire: weir_chan_op_cancel
 *               Who is told that it was too late finds operation and item left.
 */
#include "weir/chan_async.h"

#include "base/atomic.h"
#include "base/cpu.h"
#include "base/panic.h"
#include "pattern/chan.h"

enum { FREE, GOING };

static void set_free(weir_chan_op *op)
{
	/* [CH4] release.  The last access to *op. */
	at_store_release(&op->state_, FREE);
}

/* The acquire said err: what it makes of the send, or the receive. */
static weir_err finish(weir_chan_op *op, weir_err err)
{
	if (op->to_)
		return weir_chan_take_one_(op->chan_, op->to_, err);
	return err ? err : weir_chan_put_one_(op->chan_, op->from_);
}

static void called(weir_op *inner, weir_err err, void *user)
{
	weir_chan_op *op = user;
	weir_chan_op_fn *fn = op->fn_;
	void *arg = op->user_;

	(void)inner;
	err = finish(op, err);
	set_free(op);
	fn(op, err, arg);
}

static bool is_misplaced(const weir_chan_op *op)
{
	return !op || (uintptr_t)op % _Alignof(weir_chan_op);
}

void weir_chan_op_init(weir_chan_op *op, struct weir_loop *loop,
		       weir_chan_op_fn *fn, void *user)
{
	if (is_misplaced(op) || (loop && !fn)) {
		weir_panic_("weir_chan_op_init: %p is not an operation, or a "
			    "loop has nothing to call", op);
		return;
	}
	*op = (weir_chan_op){ .fn_ = fn, .user_ = user };
	weir_op_init(&op->op_, loop, fn ? called : NULL, op);
}

static weir_err prepare(weir_chan_op *op, weir_chan *chan, const void *from,
			void *to)
{
	if (is_misplaced(op) || weir_chan_is_misplaced_(chan) || (!from && !to))
		return WEIR_EINVAL;
	/* relaxed: another call on it now is a mistake, found by luck. */
	if (at_load_relaxed(&op->state_) != FREE)
		return weir_panic_("weir_chan_op: operation %p is submitted "
				   "already", op);
	op->chan_ = chan;
	op->from_ = from;
	op->to_ = to;
	/* relaxed: the semaphore's lock publishes it. */
	at_store_relaxed(&op->state_, GOING);
	return WEIR_OK;
}

/* Submitted, with this result.  Once it is queued *op may be over and gone. */
static weir_err submitted(weir_chan_op *op, weir_err err)
{
	if (err == WEIR_EQUEUED)
		return err;
	err = finish(op, err);
	set_free(op);
	return err;
}

weir_err weir_chan_op_send(weir_chan_op *op, weir_chan *chan, const void *item,
			   struct weir_ctx *ctx)
{
	weir_err err = prepare(op, chan, item, NULL);

	if (err)
		return err;
	err = weir_op_submit(&op->op_, &chan->space_, 1, ctx);
	return submitted(op, err);
}

weir_err weir_chan_op_send_until(weir_chan_op *op, weir_chan *chan,
				 const void *item, int64_t deadline_ns)
{
	weir_err err = prepare(op, chan, item, NULL);

	if (err)
		return err;
	err = weir_op_submit_until(&op->op_, &chan->space_, 1, deadline_ns);
	return submitted(op, err);
}

weir_err weir_chan_op_recv(weir_chan_op *op, weir_chan *chan, void *item,
			   struct weir_ctx *ctx)
{
	weir_err err = prepare(op, chan, NULL, item);

	if (err)
		return err;
	err = weir_op_submit(&op->op_, &chan->items_, 1, ctx);
	return submitted(op, err);
}

weir_err weir_chan_op_recv_until(weir_chan_op *op, weir_chan *chan, void *item,
				 int64_t deadline_ns)
{
	weir_err err = prepare(op, chan, NULL, item);

	if (err)
		return err;
	err = weir_op_submit_until(&op->op_, &chan->items_, 1, deadline_ns);
	return submitted(op, err);
}

weir_err weir_chan_op_cancel(weir_chan_op *op)
{
	struct weir_backoff_ backoff = { 0 };
	weir_err err;

	if (is_misplaced(op))
		return WEIR_EINVAL;
	err = weir_op_cancel(&op->op_);
	if (!err)
		set_free(op);
	/* [CH4] acquire.  Its item is being copied, perhaps. */
	while (err == WEIR_EBUSY && at_load_acquire(&op->state_) != FREE)
		weir_backoff_wait_(&backoff);
	return err;
}

weir_err weir_chan_op_poll(weir_chan_op *op)
{
	weir_err err;

	if (is_misplaced(op))
		return WEIR_EINVAL;
	err = weir_op_poll(&op->op_);
	/* There was nothing to poll. */
	return err == WEIR_EINVAL ? err : submitted(op, err);
}
