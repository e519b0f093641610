/* SPDX-License-Identifier: MIT */
#ifndef WEIR_POOL_ASYNC_H
#define WEIR_POOL_ASYNC_H

#include <stdint.h>

#include "weir/async.h"
#include "weir/base.h"
#include "weir/pool.h"

WEIR_DECLS_BEGIN

struct weir_ctx;	/* weir/ctx.h */
struct weir_loop;	/* weir/loop.h */

/*
 * weir_pool_op: a borrow that nobody stands still for.  It waits in the pool's
 * queue among the threads; at its turn a resource is found or made, and then its
 * callback runs.
 *
 *     weir_pool_op_init(&r->op, &loop, connected, r);
 *     switch (weir_pool_op_borrow(&r->op, &pool, __func__, NULL, &item)) {
 *     case WEIR_OK:      query(r, item); break;   // at once, no callback
 *     case WEIR_EQUEUED: break;                   // connected() will tell
 *     default:           refuse(r);               // no callback
 *     }
 *
 * What holds in weir/async.h holds here: where a callback runs, that it runs
 * exactly once and may do everything, also submit its operation again, with no
 * more stack however long the chain.  What is borrowed is given back as ever, by
 * any thread: weir_pool_give_back, weir_pool_discard.
 *
 * The following holds for every function below unless its comment differs.
 *
 *   Threads   Callable from any thread; one call at a time for one operation,
 *             except that the callback may begin during weir_pool_op_cancel
 *             (not that it submits again: weir/async.h).
 *             Operations and threads borrow from one pool together, in the
 *             order they came.
 *   Create    The pool's create, destroy and validate run just before the
 *             callback, on its thread: the loop's; or, without a loop, that of
 *             whoever gives back.  In a submit that need not wait they run
 *             there.  One that takes long holds up that thread.  They may make
 *             every call, but not submit the operation they run for.
 *   Memory    Allocates nothing.  The operation is its owner's memory and must
 *             stay where it is, and be left alone, from submit to the callback,
 *             or to a cancel that says WEIR_OK.  `who` is not copied.  The pool
 *             must not be destroyed before that, nor the context or the loop;
 *             weir_pool_destroy says WEIR_EBUSY if an operation is queued, or
 *             is decided and waits to be run.
 *   Turns     A decided operation keeps its turn until its callback runs (or
 *             its poll): a loop that stalls holds up what it was given.
 *   Orders    As in weir/pool.h; a callback happens after its submit.
 *   Closing   As for threads: one that waits is told WEIR_ECLOSED, so is one
 *             that was decided but not yet told.
 *   Signals   Not async-signal-safe, as all of the pool.
 *   Fork      Operations do not exist in the child.
 *   Misuse    As in weir/async.h and weir/pool.h.  Submitting an operation that
 *             is submitted panics.
 */
typedef struct weir_pool_op weir_pool_op;

/*
 * How it ended: WEIR_OK, and item is lent to the callback; or item is null, nothing
 * is borrowed and err is WEIR_ECANCELED, WEIR_ETIMEDOUT, WEIR_ECLOSED or what
 * create said.
 */
typedef void weir_pool_op_fn(weir_pool_op *op, weir_err err,
			     weir_pool_item *item, void *user);

struct weir_pool_op {
	weir_op op_;
	weir_pool *pool_;
	const char *who_;
	struct weir_ctx *ctx_;
	weir_pool_op_fn *fn_;
	void *user_;
	uint32_t state_;
	uint32_t apart_;
	uint64_t reserved_[2];
};

/*
 * Set up *op, for any pool.  loop may be null, and fn with a null loop: then it
 * is polled, weir_pool_op_poll.
 */
WEIR_API void weir_pool_op_init(weir_pool_op *op, struct weir_loop *loop,
				weir_pool_op_fn *fn, void *user);

/*
 * Borrow a resource, until ctx ends (null: never).  `who` as in weir_pool_borrow.
 *
 *   WEIR_OK       *item is lent to the caller.  The callback does not run.
 *   WEIR_EQUEUED  It waits; its place in the queue is fixed.  The callback runs
 *                 exactly once, unless weir_pool_op_cancel comes first.
 *   others        As weir_pool_borrow; the callback does not run.
 *
 * Unless it is WEIR_OK *item is null.  If ctx ends while a resource is made, that
 * is kept for others and the error is ctx's.  Without a loop nobody watches the
 * clock: a ctx with a deadline is WEIR_EINVAL then, unless the operation is
 * polled.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_pool_op_borrow(weir_pool_op *op, weir_pool *pool, const char *who,
		    struct weir_ctx *ctx, weir_pool_item **item);

/*
 * The same with a plain deadline, which limits waiting and not create.  The
 * operation needs a loop, or is polled; else WEIR_EINVAL.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_pool_op_borrow_until(weir_pool_op *op, weir_pool *pool, const char *who,
			  int64_t deadline_ns, weir_pool_item **item);

/*
 * Call it off.
 *
 *   WEIR_OK     Prevented: the callback has not run and will not, nothing is
 *               borrowed.  The turn that it had been given meanwhile has gone to
 *               the next.  The operation's memory is the caller's.
 *   WEIR_EBUSY  Too late: its resource is being found or made, and the callback
 *               follows, has begun or has run (or, on an operation that is not
 *               submitted: nothing to cancel).  Unlike weir_op_cancel this does
 *               not wait for the resource: the operation is its owner's again
 *               when the callback has begun.  If the callback frees it, see to
 *               it that this call comes before.
 *
 * O(1), whatever the length of the queue.
 */
WEIR_API WEIR_MUST_USE weir_err weir_pool_op_cancel(weir_pool_op *op);

/*
 * For an operation without callback, from a loop of your own: WEIR_EQUEUED while
 * it waits, then once how it ended, as to a callback; *item is null unless that
 * is WEIR_OK.  Looks at the deadline, and finds or makes the resource.
 * WEIR_EINVAL: it is not submitted, or has a callback.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_pool_op_poll(weir_pool_op *op, weir_pool_item **item);

WEIR_DECLS_END

#endif /* WEIR_POOL_ASYNC_H */
