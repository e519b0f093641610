/* SPDX-License-Identifier: MIT */
/*
 * Sends and receives without a blocked thread: weir/chan_async.h.
 *
 * An operation (weir/async.h) waits for the permit instead of a thread.  Its
 * callback (on_permit) then sends or receives the item with the code of the
 * blocking calls, and calls the user's callback.  The ticket is taken only in
 * on_permit: an operation that has been granted but not run yet delays no other
 * sender or receiver.
 *
 *   FREE       owned by the user            -> SUBMITTED by a submit
 *   SUBMITTED  waits, or copies its item    -> FREE before the user's callback,
 *                                              or by cancel and poll
 *
 * While an operation copies its item, no user code runs on that thread:
 * callbacks run one at a time.  A cancel that waits for the copy therefore
 * never waits for its own thread.
 *
 * Pairs
 *
 *   [CH4] over  release: set_free   acquire: weir_chan_op_cancel
 *               After WEIR_EBUSY from cancel, operation and item are not
 *               accessed any more.
 *   [CH9] copied  release: finish   acquire: weir_chan_destroy
 *               The slots are not accessed any more.
 */
#include "weir/chan_async.h"

#include "base/atomic.h"
#include "base/cpu.h"
#include "base/panic.h"
#include "core/sem_watched.h"
#include "pattern/chan.h"

enum { FREE, SUBMITTED };

static void set_free(weir_chan_op *op)
{
	/* [CH4] release.  This is the last access to *op. */
	at_store_release(&op->state_, FREE);
}

static struct weir_chan_side_ side_of(const weir_chan_op *op)
{
	return op->to_ ? weir_chan_receivers_(op->chan_) :
			 weir_chan_senders_(op->chan_);
}

static void unblock(const weir_chan_op *op)
{
	struct weir_chan_side_ side = side_of(op);

	weir_chan_unblock_(&side);
}

/* Record the result of the operation, if its channel is watched. */
static void record(const weir_chan_op *op, weir_err err, bool waited)
{
	if (op->chan_->watched_)
		weir_chan_record_(op->chan_, !op->to_, err, !err, waited);
}

/*
 * Send or receive after an acquire that returned err.  From here on the operation
 * is not blocked: a call must not serve it.  It is counted as copying instead, so
 * that the channel cannot be destroyed in between.
 */
static weir_err finish(weir_chan_op *op, weir_err err, bool waited)
{
	struct weir_chan_side_ side = side_of(op);

	/*
	 * relaxed: one addition changes both counts, so a concurrent destroy
	 * always finds the operation in one of them.
	 */
	at_add_relaxed(side.blocked, WEIR_CHAN_COPYING_ - 1);
	if (op->to_)
		err = weir_chan_take_one_(op->chan_, op->to_, err);
	else if (!err)
		err = weir_chan_put_one_(op->chan_, op->from_);
	record(op, err, waited);
	/* [CH9] release.  This is the last access to the channel. */
	at_sub_release(side.blocked, WEIR_CHAN_COPYING_);
	return err;
}

static void on_permit(weir_op *inner, weir_err err, void *user)
{
	weir_chan_op *op = user;
	weir_chan_op_fn *fn = op->fn_;
	void *arg = op->user_;

	(void)inner;
	err = finish(op, err, true);
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
		weir_panic_("weir_chan_op_init: operation %p: invalid pointer, "
			    "or a loop without a callback", op);
		return;
	}
	*op = (weir_chan_op){ .fn_ = fn, .user_ = user };
	weir_op_init(&op->op_, loop, fn ? on_permit : NULL, op);
}

static weir_err prepare(weir_chan_op *op, weir_chan *chan, const void *from,
			void *to, const char *call, uint64_t site)
{
	struct weir_chan_side_ side;

	if (is_misplaced(op) || (!from && !to))
		return WEIR_EINVAL;
	if (!weir_is_ready_(chan) && weir_chan_begin_(chan, call, site))
		return WEIR_EINVAL;
	/* relaxed: misuse by another thread is found only by chance. */
	if (at_load_relaxed(&op->state_) != FREE) {
		weir_record_end_();
		return weir_panic_("%s: operation %p is already submitted",
				   call, op);
	}
	op->chan_ = chan;
	op->from_ = from;
	op->to_ = to;
	/* relaxed: the semaphore's lock publishes the operation. */
	at_store_relaxed(&op->state_, SUBMITTED);
	side = side_of(op);
	weir_chan_block_(chan, &side);
	/*
	 * Count first: if the deadline has passed, the submit needs a free
	 * permit.
	 */
	weir_chan_count_all_(chan, &side);
	return WEIR_OK;
}

/*
 * Finish an operation whose submit or poll returned err.  After WEIR_EQUEUED
 * *op may have run and been freed already, and is not accessed.
 */
static weir_err finish_unqueued(weir_chan_op *op, weir_err err, bool waited)
{
	weir_record_end_();
	if (err == WEIR_EQUEUED)
		return err;
	err = finish(op, err, waited);
	set_free(op);
	return err;
}

weir_err weir_chan_op_send(weir_chan_op *op, weir_chan *chan, const void *item,
			   struct weir_ctx *ctx)
{
	weir_err err = prepare(op, chan, item, NULL, __func__,
			       WEIR_SITE_);

	if (err)
		return err;
	err = weir_op_submit(&op->op_, &chan->space_, 1, ctx);
	return finish_unqueued(op, err, false);
}

weir_err weir_chan_op_send_until(weir_chan_op *op, weir_chan *chan,
				 const void *item, int64_t deadline_ns)
{
	weir_err err = prepare(op, chan, item, NULL, __func__,
			       WEIR_SITE_);

	if (err)
		return err;
	err = weir_op_submit_until(&op->op_, &chan->space_, 1, deadline_ns);
	return finish_unqueued(op, err, false);
}

weir_err weir_chan_op_recv(weir_chan_op *op, weir_chan *chan, void *item,
			   struct weir_ctx *ctx)
{
	weir_err err = prepare(op, chan, NULL, item, __func__,
			       WEIR_SITE_);

	if (err)
		return err;
	err = weir_op_submit(&op->op_, &chan->items_, 1, ctx);
	return finish_unqueued(op, err, false);
}

weir_err weir_chan_op_recv_until(weir_chan_op *op, weir_chan *chan, void *item,
				 int64_t deadline_ns)
{
	weir_err err = prepare(op, chan, NULL, item, __func__,
			       WEIR_SITE_);

	if (err)
		return err;
	err = weir_op_submit_until(&op->op_, &chan->items_, 1, deadline_ns);
	return finish_unqueued(op, err, false);
}

weir_err weir_chan_op_cancel(weir_chan_op *op)
{
	struct weir_backoff_ backoff = { 0 };
	weir_err err;

	if (is_misplaced(op))
		return WEIR_EINVAL;
	err = weir_op_cancel(&op->op_);
	if (!err) {
		record(op, WEIR_ECANCELED, true);
		unblock(op);
		set_free(op);
	}
	/* [CH4] acquire.  Wait while the operation copies its item. */
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
	/* WEIR_EINVAL: the operation could not be polled. */
	return err == WEIR_EINVAL ? err : finish_unqueued(op, err, true);
}
