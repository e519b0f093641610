/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CHAN_ASYNC_H
#define WEIR_CHAN_ASYNC_H

#include <stdint.h>

#include "weir/async.h"
#include "weir/base.h"
#include "weir/chan.h"

WEIR_DECLS_BEGIN

struct weir_ctx;	/* weir/ctx.h */
struct weir_loop;	/* weir/loop.h */

/*
 * weir_chan_op: an asynchronous send or receive.  It blocks no thread.  It
 * waits in the queue of the channel, among the threads.  When it is decided,
 * the item is copied and its callback runs.
 *
 *     struct reader { weir_chan_op op; struct job job; ... };
 *
 *     weir_chan_op_init(&r->op, &loop, arrived, r);
 *     switch (weir_chan_op_recv(&r->op, &jobs, &r->job, NULL)) {
 *     case WEIR_OK:      work(r); break;          // at once, no callback
 *     case WEIR_EQUEUED: break;                   // arrived() will be called
 *     default:           end(r);                  // WEIR_ECLOSED; no callback
 *     }
 *
 * weir/async.h applies: it states where a callback runs, that it runs exactly
 * once, that it may make every call and submit its operation again, and that a
 * chain of callbacks needs no more stack than one callback.  weir/chan.h
 * applies: no item is lost or received twice, also around a close.
 *
 * The following holds for every function below unless its comment differs.
 *
 *   Threads   Every function may be called from any thread, but only one call
 *             on one operation may run at a time.  One exception: the callback
 *             may begin during weir_chan_op_cancel, but must not submit again
 *             during it (weir/async.h).  Operations and threads may share a
 *             channel.
 *   Memory    No function allocates.  The operation and the item are in their
 *             owner's memory.  From submit to the callback, or to a cancel that
 *             returns WEIR_OK, they must not move or be accessed, and the
 *             channel, the context and the loop must not be destroyed.  If an
 *             operation is queued, or is decided and has not copied its item,
 *             then weir_chan_destroy returns WEIR_EBUSY.
 *   Turns     A decided operation keeps a slot or an item for itself until its
 *             callback or its poll runs.  If a loop stalls, then it delays only
 *             the slots and items of its own operations.
 *   Order     The item is copied just before the callback, on the callback's
 *             thread.  Items therefore arrive in the order in which their sends
 *             complete, by WEIR_OK from submit or by callback, and the
 *             callbacks of one loop receive in order.  If several sends of one
 *             thread are in progress, then a send that finds a free slot may
 *             complete before an earlier send whose callback has not run yet.
 *             To keep an order, submit a send after the previous one has
 *             completed.
 *   Orders    As in weir/chan.h.  The submit happens before the callback.
 *   Closing   As for threads.  If the channel is closed, then a send gets
 *             WEIR_ECLOSED if it waits, or if it is decided and its callback
 *             has not run.  A receive gets an item while items are left, then
 *             WEIR_ECLOSED; decided receives no longer reserve items.
 *   Signals   No function is async-signal-safe.
 *   Fork      Operations do not exist in the child.
 *   Misuse    As in weir/async.h and weir/chan.h.  If an operation is submitted
 *             while it is submitted already, then the call panics.
 */
typedef struct weir_chan_op weir_chan_op;

/*
 * A callback.  If err is WEIR_OK, then the item was sent, or was received into
 * the memory given to submit.  Otherwise nothing was sent or received, and err
 * is WEIR_ECANCELED, WEIR_ETIMEDOUT or WEIR_ECLOSED.
 */
typedef void weir_chan_op_fn(weir_chan_op *op, weir_err err, void *user);

struct weir_chan_op {
	weir_op op_;
	weir_chan *chan_;
	const void *from_;	/* send: the item */
	void *to_;		/* receive: its destination */
	weir_chan_op_fn *fn_;
	void *user_;
	uint32_t state_;
	uint32_t apart_;
	uint64_t reserved_[2];
};

/*
 * Set up *op, for sends and receives on any channel.  loop may be null.  If fn
 * is null, then loop must be null, and the operation is polled with
 * weir_chan_op_poll.  Requires: *op is not submitted.
 */
WEIR_API void weir_chan_op_init(weir_chan_op *op, struct weir_loop *loop,
				weir_chan_op_fn *fn, void *user);

/*
 * Send *item, until ctx ends.  A null ctx never ends.
 *
 *   WEIR_OK       The item was sent.  The callback does not run.
 *   WEIR_EQUEUED  The operation waits for a free slot; its place in the queue
 *                 is fixed.  The callback runs exactly once, unless
 *                 weir_chan_op_cancel prevents it.
 *   others        As weir_chan_send; the callback does not run.
 *
 * If the operation has a callback and no loop, then no thread checks its
 * deadline: a ctx with a deadline is WEIR_EINVAL.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_chan_op_send(weir_chan_op *op, weir_chan *chan, const void *item,
		  struct weir_ctx *ctx);

/*
 * Send with a deadline, as weir_chan_send_until: if a free slot and the
 * deadline coincide, then the slot wins.  WEIR_EINVAL also if the operation has
 * a callback and no loop.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_chan_op_send_until(weir_chan_op *op, weir_chan *chan, const void *item,
			int64_t deadline_ns);

/*
 * Receive into *item; the results are those of weir_chan_op_send.  If the
 * result is not WEIR_OK, then *item is unchanged.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_chan_op_recv(weir_chan_op *op, weir_chan *chan, void *item,
		  struct weir_ctx *ctx);
WEIR_API WEIR_MUST_USE weir_err
weir_chan_op_recv_until(weir_chan_op *op, weir_chan *chan, void *item,
			int64_t deadline_ns);

/*
 * Cancel the operation.  When this returns, the memory of the operation and of
 * the item belongs to the caller.
 *
 *   WEIR_OK     Prevented: the callback has not run and will not run.  Nothing
 *               was sent or received; a slot or an item that had been granted
 *               went to the next waiter.
 *   WEIR_EBUSY  Too late: the callback has begun or has run, or the operation
 *               was not submitted.  The library does not access *op any more.
 *               If the callback frees *op, then the program must make sure that
 *               this call comes first.
 *
 * The cost is O(1), independent of the length of the queue.  The cancel may
 * wait until another thread has copied the item.
 */
WEIR_API WEIR_MUST_USE weir_err weir_chan_op_cancel(weir_chan_op *op);

/*
 * Poll an operation that has no callback.  Returns WEIR_EQUEUED while it waits,
 * and then once the result that a callback would get.  The poll also checks the
 * deadline and copies the item.  WEIR_EINVAL: the operation is not submitted,
 * or it has a callback.
 */
WEIR_API WEIR_MUST_USE weir_err weir_chan_op_poll(weir_chan_op *op);

WEIR_DECLS_END

#endif /* WEIR_CHAN_ASYNC_H */
