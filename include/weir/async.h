/* SPDX-License-Identifier: MIT */
#ifndef WEIR_ASYNC_H
#define WEIR_ASYNC_H

#include <stdint.h>

#include "weir/base.h"
#include "weir/sem.h"

WEIR_DECLS_BEGIN

struct weir_ctx;	/* weir/ctx.h */
struct weir_loop;	/* weir/loop.h */

/*
 * weir_op: an asynchronous acquire.  It blocks no thread.  It waits in the
 * queue of its semaphore, in order of arrival among the threads.  When it is
 * decided, its callback runs.
 *
 *     struct request { weir_op op; ... };
 *
 *     weir_op_init(&r->op, &loop, ready, r);
 *     switch (weir_op_submit(&r->op, &sem, 1, NULL)) {
 *     case WEIR_OK:      work(r); break;          // at once, no callback
 *     case WEIR_EQUEUED: break;                   // ready() will be called
 *     default:           refuse(r);               // no callback
 *     }
 *
 * Where a callback runs
 *
 *   If the operation has a loop, then its callback runs in weir_loop_dispatch,
 *   on the thread that dispatches, in the order of the decisions.  (If two
 *   threads decide concurrently, then either order is possible.) If it has no
 *   loop, then its callback runs on the thread whose call decided it, inside
 *   that call, after every lock is dropped.  That call is a release, a close, a
 *   cancel or a resize, or an acquire, a submit or a stat that made a grant
 *   which was due.  A thread runs one callback at a time: if a callback's own
 *   calls decide further operations, then their callbacks run after it has
 *   returned.  A chain of callbacks therefore needs no more stack than one
 *   callback.  A callback may run before weir_op_submit has returned.
 *
 * A callback may make every call.  Its operation belongs to its owner again:
 * the callback may submit it again or free it.  A callback should not wait: the
 * callbacks behind it would wait as well.
 *
 * A callback should return.  If it does not, then
 *
 *   exception, pthread_exit   On a loop: the exception leaves
 *                 weir_loop_dispatch, or the thread ends.  Operations that are
 *                 ready stay ready, and the loop can be dispatched again, also
 *                 by another thread.  Without a loop: panics, because the call
 *                 that runs the callback may be half done.
 *   pthread_cancel            On a loop: as pthread_exit.  Without a loop: the
 *                 thread is cancelled after its callbacks have returned.
 *   longjmp                   Not allowed.  It cannot be detected at once: a
 *                 later call of the thread that waits, dispatches or runs
 *                 callbacks panics.  On a stack that is not the thread's own
 *                 (a coroutine's) it may go undetected.
 *
 * The following holds for every function below unless its comment differs.
 *
 *   Threads   Every function may be called from any thread, but only one call
 *             on one operation may run at a time.  One exception: the callback
 *             may begin during weir_op_cancel.  If a callback submits its
 *             operation again and another thread cancels it, then the program
 *             must keep the two calls apart, for instance with a mutex and a
 *             flag; otherwise the cancel may wait until the operation that was
 *             submitted again has ended.
 *   Memory    No function allocates.  The operation is in its owner's memory.
 *             From submit to the callback it must not move, and its semaphore,
 *             context and loop must not be destroyed.
 *   Orders    As in weir/sem.h.  The submit, and the release whose permits were
 *             granted, happen before the callback.
 *   Signals   No function is async-signal-safe.  If a signal handler releases a
 *             semaphore, then every operation that waits on it must have a loop
 *             or be polled.  If an operation with a callback and no loop is
 *             granted by that release, then the callback runs in the handler,
 *             and the release may wait for ever for a lock that the interrupted
 *             thread holds.
 *   Barging   An operation is never woken to retry; it is granted its permits.
 *             If an operation is at the head of the queue, then new requests do
 *             not overtake it.
 *   Fork      Operations do not exist in the child.
 *   Misuse    As in weir/sem.h.  If an operation is submitted while it is
 *             submitted already, then the call panics.  If an operation was not
 *             initialised, then a cancel panics when it detects that.  If an
 *             operation is initialised again while it is submitted, then its
 *             init cannot detect that: the memory may be uninitialised.  If it
 *             is the oldest waiter of its semaphore, and was submitted without a
 *             context, then each later call that needs the queue of the
 *             semaphore panics, except that weir_sem_try_release returns
 *             WEIR_EINVAL; otherwise the behaviour is undefined.
 */
typedef struct __attribute__((may_alias)) weir_op {
	uint64_t space_[16];
} weir_op;

/*
 * A callback.  If err is WEIR_OK, then the callback owns the n permits.
 * Otherwise nothing is held, and err is WEIR_ECANCELED, WEIR_ETIMEDOUT,
 * WEIR_ECLOSED or (if a shrink made the request impossible) WEIR_ETOOBIG.
 */
typedef void weir_op_fn(weir_op *op, weir_err err, void *user);

/*
 * Set up *op.  If loop is null, then the callback runs on the deciding thread:
 * see "Where a callback runs".  If fn is null, then loop must be null, and the
 * operation is polled with weir_op_poll.
 * Requires: *op is not submitted; if it is, cancel it first.  See "Misuse".
 */
WEIR_API void weir_op_init(weir_op *op, struct weir_loop *loop, weir_op_fn *fn,
			   void *user);

/*
 * Request n permits, until ctx ends.  A null ctx never ends.
 *
 *   WEIR_OK       The caller holds n permits.  The callback does not run.
 *   WEIR_EQUEUED  The operation waits; its place in the queue is fixed.  The
 *                 callback runs exactly once, unless weir_op_cancel prevents
 *                 it.
 *   others        As weir_sem_acquire; the callback does not run.
 *
 * If the operation has a callback and no loop, then no thread checks its
 * deadline: a ctx with a deadline is WEIR_EINVAL.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_op_submit(weir_op *op, weir_sem *sem, int64_t n, struct weir_ctx *ctx);

/*
 * Request n permits with a deadline instead of a ctx, as
 * weir_sem_acquire_until: if a grant and the deadline coincide, then the grant
 * wins.  WEIR_EINVAL also if the operation has a callback and no loop.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_op_submit_until(weir_op *op, weir_sem *sem, int64_t n,
		     int64_t deadline_ns);

/*
 * Submit the operation to the end of a context instead of a semaphore: the
 * callback runs exactly once, when ctx ends, with the reason (weir_ctx_err).
 * The callback gets no permits.  Everything above about callbacks applies: with
 * a loop the callback runs in a dispatch, also if ctx ends by its deadline;
 * without a loop it runs inside the weir_ctx_cancel that ends ctx.
 *
 *   WEIR_EQUEUED  The callback will run, unless weir_op_cancel prevents it.
 *   WEIR_ECANCELED, WEIR_ETIMEDOUT  ctx has ended; the callback does not run.
 *   WEIR_EINVAL   ctx is null; or the operation has a callback and no loop, and
 *                 ctx has a deadline, which no thread would check.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_op_submit_end(weir_op *op, struct weir_ctx *ctx);

/*
 * Cancel the operation.  When this returns, the operation's memory belongs to
 * the caller.
 *
 *   WEIR_OK     Prevented: the callback has not run and will not run.  Nothing
 *               is held; permits that had been granted went to the next waiter.
 *   WEIR_EBUSY  Too late: the callback has begun or has run, or the operation
 *               was not submitted.  The library does not access *op any more.
 *               If the callback frees *op, then the program must make sure that
 *               this call comes first.
 *
 * The cost is O(1), independent of the length of the queue.  This is a call on
 * the semaphore: the semaphore must exist.
 */
WEIR_API WEIR_MUST_USE weir_err weir_op_cancel(weir_op *op);

/*
 * Poll an operation that has no callback.  Returns WEIR_EQUEUED while it waits,
 * and then once the result that a callback would get.  The poll also checks the
 * deadline.  If the deadline has passed and the operation is not polled, then
 * it does not hold up threads that wait behind it; other operations behind it
 * may wait until it is polled, or until the next call on the semaphore takes
 * permits, releases or stops waiting.
 * WEIR_EINVAL: the operation is not submitted, or it has a callback.
 */
WEIR_API WEIR_MUST_USE weir_err weir_op_poll(weir_op *op);

WEIR_DECLS_END

#endif /* WEIR_ASYNC_H */
