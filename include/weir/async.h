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
 * weir_op: an acquire that nobody stands still for.  It waits in the semaphore's
 * queue among the threads, and when it is decided its callback runs.
 *
 *     struct request { weir_op op; ... };
 *
 *     weir_op_init(&r->op, &loop, ready, r);
 *     switch (weir_op_submit(&r->op, &sem, 1, NULL)) {
 *     case WEIR_OK:      work(r); break;          // at once, no callback
 *     case WEIR_EQUEUED: break;                   // ready() will tell
 *     default:           refuse(r);               // no callback
 *     }
 *
 * Where a callback runs
 *   With a loop: in weir_loop_dispatch, on the loop's thread, in the order of
 *   the decisions (two threads that decide at once may come in either order).
 *   Without one: on the thread whose call decided the operation (a release, a
 *   close, a cancel, a resize; also an acquire, a submit or a stat that found a
 *   grant to be due), inside that call, after every lock is dropped.  One
 *   callback at a time on a thread: what a callback's own calls decide runs when
 *   it has returned, so the stack stays as it is however long the chain.
 *   It may run before weir_op_submit has returned.
 *
 * What a callback may do: everything.  Its operation is its own again: submit it
 * afresh, or free it.  It should not wait: others wait behind it.
 *
 * The following holds for every function below unless its comment differs.
 *
 *   Threads   Callable from any thread; one call at a time for one operation,
 *             except that the callback may begin during weir_op_cancel.  The
 *             submit in a callback is a call as well: who submits again there,
 *             and cancels on another thread, keeps the two apart, with a mutex
 *             and a flag; else the cancel may wait for the new one to end.
 *   Memory    Allocates nothing.  The operation is its owner's memory and must
 *             stay where it is from submit to the callback.  Its semaphore
 *             must not be destroyed, nor its context or loop, before that.
 *   Orders    As in weir/sem.h; a callback happens after its submit, and after
 *             the release that it got its permits from.
 *   Signals   Not async-signal-safe.  A signal handler may release a semaphore
 *             if the operations that wait there have a loop, or are polled:
 *             user code never runs in a handler.  With operations of neither
 *             kind waiting there, it must not.
 *   Barging   An operation is never called to try again: it is handed its
 *             permits.  So newcomers do not pass one that is first.
 *   Fork      Operations do not exist in the child.
 *   Misuse    As in weir/sem.h.  Submitting an operation that is submitted
 *             panics.
 */
typedef struct __attribute__((may_alias)) weir_op {
	uint64_t space_[16];
} weir_op;

/*
 * How it ended: WEIR_OK, and the n permits are the callback's; or nothing is
 * held and err is WEIR_ECANCELED, WEIR_ETIMEDOUT, WEIR_ECLOSED or (a shrink made
 * it impossible) WEIR_ETOOBIG.
 */
typedef void weir_op_fn(weir_op *op, weir_err err, void *user);

/*
 * Set up *op.  loop may be null: "Where a callback runs".  fn may be null, with
 * a null loop: then the operation is polled, weir_op_poll.
 */
WEIR_API void weir_op_init(weir_op *op, struct weir_loop *loop, weir_op_fn *fn,
			   void *user);

/*
 * Acquire n permits, until ctx ends (null: never).
 *
 *   WEIR_OK       The caller holds n permits.  The callback does not run.
 *   WEIR_EQUEUED  It waits; its place in the queue is fixed.  The callback runs
 *                 exactly once, unless weir_op_cancel comes first.
 *   others        As weir_sem_acquire; the callback does not run.
 *
 * Without a loop nobody watches the clock: a ctx with a deadline is WEIR_EINVAL
 * then, unless the operation is polled.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_op_submit(weir_op *op, weir_sem *sem, int64_t n, struct weir_ctx *ctx);

/*
 * The same with a plain deadline, as weir_sem_acquire_until: a grant that meets
 * it wins.  The operation needs a loop, or is polled; else WEIR_EINVAL.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_op_submit_until(weir_op *op, weir_sem *sem, int64_t n,
		     int64_t deadline_ns);

/*
 * Call it off.  When this returns, the operation's memory is the caller's.
 *
 *   WEIR_OK     Prevented: the callback has not run and will not, nothing is
 *               held.  What it had been granted meanwhile has gone to the next.
 *   WEIR_EBUSY  Too late: the callback has begun or has run (or, on an operation
 *               that is not submitted: nothing to cancel).  The library is done
 *               with *op.  If the callback frees it, see to it that this call
 *               comes before.
 *
 * O(1), whatever the length of the queue.  A call on the semaphore, as others.
 */
WEIR_API WEIR_MUST_USE weir_err weir_op_cancel(weir_op *op);

/*
 * For an operation without callback, from a loop of your own: WEIR_EQUEUED while
 * it waits, then once how it ended, as to a callback.  Looks at the deadline.
 * WEIR_EINVAL: it is not submitted, or has a callback.
 */
WEIR_API WEIR_MUST_USE weir_err weir_op_poll(weir_op *op);

WEIR_DECLS_END

#endif /* WEIR_ASYNC_H */
