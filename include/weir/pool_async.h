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
 * weir_pool_op: an asynchronous borrow.  It blocks no thread.  It waits in the
 * queue of the pool, among the threads.  When it is granted, a resource is
 * selected or created, and its callback runs.
 *
 *     weir_pool_op_init(&r->op, &loop, connected, r);
 *     switch (weir_pool_op_borrow(&r->op, &pool, __func__, NULL, &item)) {
 *     case WEIR_OK:      query(r, item); break;   // at once, no callback
 *     case WEIR_EQUEUED: break;                   // connected() will be called
 *     default:           refuse(r);               // no callback
 *     }
 *
 * weir/async.h applies: it states where a callback runs, that it runs exactly
 * once, that it may make every call and submit its operation again, and that a
 * chain of callbacks needs no more stack than one callback.  Any thread gives
 * the item back, with weir_pool_give_back or weir_pool_discard.
 *
 * The following holds for every function below unless its comment differs.
 *
 *   Threads   Every function may be called from any thread, but only one call
 *             on one operation may run at a time.  One exception: the callback
 *             may begin during weir_pool_op_cancel, but must not submit again
 *             during it (weir/async.h).  Operations and threads may borrow from
 *             one pool; they are served in order of arrival.
 *   Create    The create, destroy and validate callbacks of the pool run just
 *             before the callback, on its thread: the loop's thread, or,
 *             without a loop, the thread that gives back.  If a submit need not
 *             wait, then they run in the submit.  A slow callback delays that
 *             thread.  These callbacks may make every call, but must not submit
 *             the operation for which they run.
 *   Memory    No function allocates.  The operation is in its owner's memory.
 *             From submit to the callback, or to a cancel that returns WEIR_OK,
 *             it must not move or be accessed, and the pool, the context and
 *             the loop must not be destroyed.  `who` is not copied.  If an
 *             operation is queued, or is decided and its callback has not run,
 *             then weir_pool_destroy returns WEIR_EBUSY.
 *   Turns     A decided operation keeps its permit until its callback or its
 *             poll runs.  If a loop stalls, then it delays the resources of its
 *             own operations.
 *   Orders    As in weir/pool.h.  The submit happens before the callback.
 *   Closing   As for threads.  If the pool is closed, then an operation gets
 *             WEIR_ECLOSED if it waits, or if it is decided and its callback
 *             has not run.
 *   Signals   No function is async-signal-safe.
 *   Fork      Operations do not exist in the child.
 *   Misuse    As in weir/async.h and weir/pool.h.  If an operation is submitted
 *             while it is submitted already, then the call panics.
 */
typedef struct weir_pool_op weir_pool_op;

/*
 * A callback.  If err is WEIR_OK, then item is lent to the callback.  Otherwise
 * item is null, nothing is borrowed, and err is WEIR_ECANCELED, WEIR_ETIMEDOUT,
 * WEIR_ECLOSED or an error of create.
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
 * Set up *op, for any pool.  loop may be null.  If fn is null, then loop must
 * be null, and the operation is polled with weir_pool_op_poll.
 * Requires: *op is not submitted.
 */
WEIR_API void weir_pool_op_init(weir_pool_op *op, struct weir_loop *loop,
				weir_pool_op_fn *fn, void *user);

/*
 * Borrow a resource, until ctx ends.  A null ctx never ends.  `who` as in
 * weir_pool_borrow.
 *
 *   WEIR_OK       *item is lent to the caller.  The callback does not run.
 *   WEIR_EQUEUED  The operation waits; its place in the queue is fixed.  The
 *                 callback runs exactly once, unless weir_pool_op_cancel
 *                 prevents it.
 *   others        As weir_pool_borrow; the callback does not run.
 *
 * If the result is not WEIR_OK, then *item is null.  If ctx ends while a
 * resource is created, then the resource is kept for other borrowers and the
 * result is the error of ctx.  If the operation has a callback and no loop,
 * then no thread checks its deadline: a ctx with a deadline is WEIR_EINVAL.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_pool_op_borrow(weir_pool_op *op, weir_pool *pool, const char *who,
		    struct weir_ctx *ctx, weir_pool_item **item);

/*
 * Borrow with a deadline, which limits the wait but not create.  WEIR_EINVAL
 * also if the operation has a callback and no loop.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_pool_op_borrow_until(weir_pool_op *op, weir_pool *pool, const char *who,
			  int64_t deadline_ns, weir_pool_item **item);

/*
 * Cancel the operation.
 *
 *   WEIR_OK     Prevented: the callback has not run and will not run.  Nothing
 *               is borrowed; a permit that had been granted went to the next
 *               waiter.  The memory of the operation belongs to the caller.
 *   WEIR_EBUSY  Too late: a resource is being selected or created, and the
 *               callback will run.  Or the callback has begun or has run.  Or
 *               the operation was not submitted.  Unlike weir_op_cancel, this
 *               does not wait for the resource: the memory of the operation
 *               belongs to its owner again when the callback has begun.  If the
 *               callback frees *op, then the program must make sure that this
 *               call comes first.
 *
 * The cost is O(1), independent of the length of the queue.
 */
WEIR_API WEIR_MUST_USE weir_err weir_pool_op_cancel(weir_pool_op *op);

/*
 * Poll an operation that has no callback.  Returns WEIR_EQUEUED while it waits,
 * and then once the result that a callback would get; *item is null unless that
 * is WEIR_OK.  The poll also checks the deadline, and selects or creates the
 * resource.  WEIR_EINVAL: the operation is not submitted, or it has a callback.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_pool_op_poll(weir_pool_op *op, weir_pool_item **item);

WEIR_DECLS_END

#endif /* WEIR_POOL_ASYNC_H */
