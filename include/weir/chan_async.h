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
 * weir_chan_op: a send or a receive that nobody stands still for.  It waits in
 * the channel's queue among the threads; when it is decided the item is copied, and
 * then its callback runs.
 *
 *     struct reader { weir_chan_op op; struct job job; ... };
 *
 *     weir_chan_op_init(&r->op, &loop, arrived, r);
 *     switch (weir_chan_op_recv(&r->op, &jobs, &r->job, NULL)) {
 *     case WEIR_OK:      work(r); break;          // at once, no callback
 *     case WEIR_EQUEUED: break;                   // arrived() will tell
 *     default:           end(r);                  // WEIR_ECLOSED; no callback
 *     }
 *
 * What holds in weir/async.h holds here: where a callback runs, that it runs
 * exactly once and may do everything, also submit its operation again, with no
 * more stack however long the chain.  What holds in weir/chan.h holds as well: an
 * operation loses nothing and takes nothing twice, also around a close.
 *
 * The following holds for every function below unless its comment differs.
 *
 *   Threads   Callable from any thread; one call at a time for one operation,
 *             except that the callback may begin during weir_chan_op_cancel
 *             (not that it submits again: weir/async.h).
 *             Operations and threads use one channel together.
 *   Memory    Allocates nothing.  The operation and the item are their owner's
 *             memory and must stay where they are, and be left alone, from
 *             submit to the callback, or to a cancel that says WEIR_OK.  The
 *             channel must not be destroyed before that, nor the context or
 *             the loop; weir_chan_destroy says WEIR_EBUSY if an operation is
 *             queued, or is decided and waits to be run.
 *   Turns     A decided operation keeps a slot, or an item, for itself until
 *             its callback runs (or its poll): a loop that stalls holds up what
 *             it was given, and nothing else.
 *   Order     The item is copied just before the callback, on its thread.  So
 *             items arrive in the order in which sends are told of, by WEIR_OK
 *             from submit or by callback, and callbacks of one loop receive in
 *             order.  Of several sends under way at once, one that finds a slot
 *             at once may come before one whose callback has still to run: who
 *             wants an order submits the next when the one before is told.
 *   Orders    As in weir/chan.h; a callback happens after its submit.
 *   Closing   As for threads: a send that waits is told WEIR_ECLOSED, so is one
 *             that was decided but not yet told.  A receive gets what is left,
 *             then WEIR_ECLOSED; nothing is kept for anybody any more.
 *   Signals   Not async-signal-safe, as all of the channel.
 *   Fork      Operations do not exist in the child.
 *   Misuse    As in weir/async.h and weir/chan.h.  Submitting an operation that
 *             is submitted panics.
 */
typedef struct weir_chan_op weir_chan_op;

/*
 * How it ended: WEIR_OK, and the item is sent, or received where submit was told
 * to; or neither, and err is WEIR_ECANCELED, WEIR_ETIMEDOUT or WEIR_ECLOSED.
 */
typedef void weir_chan_op_fn(weir_chan_op *op, weir_err err, void *user);

struct weir_chan_op {
	weir_op op_;
	weir_chan *chan_;
	const void *from_;	/* send: the item */
	void *to_;		/* receive: its place */
	weir_chan_op_fn *fn_;
	void *user_;
	uint32_t state_;
	uint32_t apart_;
	uint64_t reserved_[2];
};

/*
 * Set up *op, for sends and receives on any channel.  loop may be null, and fn
 * with a null loop: then it is polled, weir_chan_op_poll.
 */
WEIR_API void weir_chan_op_init(weir_chan_op *op, struct weir_loop *loop,
				weir_chan_op_fn *fn, void *user);

/*
 * Send *item, until ctx ends (null: never).
 *
 *   WEIR_OK       It is sent.  The callback does not run.
 *   WEIR_EQUEUED  It waits for a free slot; its place in the queue is fixed.  The
 *                 callback runs exactly once, unless weir_chan_op_cancel comes
 *                 first.
 *   others        As weir_chan_send; the callback does not run.
 *
 * Without a loop nobody watches the clock: a ctx with a deadline is WEIR_EINVAL
 * then, unless the operation is polled.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_chan_op_send(weir_chan_op *op, weir_chan *chan, const void *item,
		  struct weir_ctx *ctx);

/*
 * The same with a plain deadline, as weir_chan_send_until: a slot that meets it
 * wins.  The operation needs a loop, or is polled; else WEIR_EINVAL.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_chan_op_send_until(weir_chan_op *op, weir_chan *chan, const void *item,
			int64_t deadline_ns);

/*
 * Receive into *item; the results as of weir_chan_op_send.  Unless WEIR_OK is told
 * *item is as it was.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_chan_op_recv(weir_chan_op *op, weir_chan *chan, void *item,
		  struct weir_ctx *ctx);
WEIR_API WEIR_MUST_USE weir_err
weir_chan_op_recv_until(weir_chan_op *op, weir_chan *chan, void *item,
			int64_t deadline_ns);

/*
 * Call it off.  When this returns, the memory of operation and item is the
 * caller's.
 *
 *   WEIR_OK     Prevented: the callback has not run and will not, nothing was
 *               sent or received.  The slot or the item that it had been given
 *               meanwhile has gone to the next.
 *   WEIR_EBUSY  Too late: the callback has begun or has run (or, on an operation
 *               that is not submitted: nothing to cancel).  The library is done
 *               with *op.  If the callback frees it, see to it that this call
 *               comes before.
 *
 * O(1), whatever the length of the queue; it may have to let another thread
 * finish copying the item.
 */
WEIR_API WEIR_MUST_USE weir_err weir_chan_op_cancel(weir_chan_op *op);

/*
 * For an operation without callback, from a loop of your own: WEIR_EQUEUED while
 * it waits, then once how it ended, as to a callback.  Looks at the deadline,
 * and copies the item.  WEIR_EINVAL: it is not submitted, or has a callback.
 */
WEIR_API WEIR_MUST_USE weir_err weir_chan_op_poll(weir_chan_op *op);

WEIR_DECLS_END

#endif /* WEIR_CHAN_ASYNC_H */
