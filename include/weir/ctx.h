/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CTX_H
#define WEIR_CTX_H

#include <stdint.h>

#include "weir/base.h"

WEIR_DECLS_BEGIN

/*
 * weir_ctx: a context.  It ends when it is cancelled, when its deadline passes
 * or when its parent ends; the work done under it should then stop.  Contexts
 * form a tree in their owners' memory.  If a context ends, then every context
 * below it ends.
 *
 *     weir_ctx request;
 *     err = weir_ctx_init(&request, &server, weir_deadline_after(2000000000));
 *     err = weir_sem_acquire(&sem, 1, &request);
 *     ...
 *     err = weir_ctx_destroy(&request);
 *
 * The following holds for every function below unless its comment differs.
 *
 *   Threads   Every function may be called from any thread between init and
 *             destroy.
 *   Memory    No function allocates.  A context must not move.
 *   Orders    A cancel happens before every call that reports it.
 *   Signals   No function is async-signal-safe.  To cancel on a signal, release
 *             an unbounded semaphore in the handler and cancel in a thread that
 *             waits on it.  If a signal handler runs during weir_ctx_wait, then
 *             the wait continues.
 *   Fork      The child must not use a context of the parent.
 *   Misuse    As in weir/sem.h.
 */
typedef struct weir_ctx {
	struct weir_ctx *root_;		/* has the tree's lock; null: self */
	struct weir_ctx *parent_;
	struct weir_ring_ *children_;	/* under the tree's lock */
	struct weir_ring_ sibling_;	/* under the tree's lock */
	struct weir_ring_ *waiters_;	/* under the tree's lock */
	int64_t deadline_;		/* earliest up to the root; 0: none */
	int32_t ended_;			/* weir_err; 0: not ended */
	uint32_t lock_;			/* the tree's lock, used in the root */
	int32_t fd_;			/* descriptor plus 1; 0: none yet */
	uint32_t state_;		/* destroyed or not */
	const void *cause_;		/* if ended_ is WEIR_ECANCELED */
	uint64_t reserved_[2];		/* zero, for later versions */
} weir_ctx;

/*
 * A static context without parent or deadline; zeroed memory is the same.
 *     static weir_ctx stop = WEIR_CTX_INIT;
 */
#define WEIR_CTX_INIT                                                          \
	{ WEIR_NULL_, WEIR_NULL_, WEIR_NULL_, { WEIR_NULL_, WEIR_NULL_ },      \
	  WEIR_NULL_, 0, 0, 0, 0, 0, WEIR_NULL_, { 0, 0 } }

/*
 * Set up *ctx below parent (null: as a root), with its own deadline
 * (WEIR_FOREVER: none).  If parent has ended, then *ctx starts as ended.
 * Requires: parent outlives *ctx.  The parent refers to *ctx, so *ctx must be
 * destroyed before its memory is reused, on every path out of its scope, and
 * before it is initialised again.  If *ctx is the first or the last child of
 * parent, then the call panics.  Otherwise a second init is detected later, by
 * the destroy of *ctx or of a sibling next to it, which panics; if a cancel of
 * the parent comes first, then the behaviour is undefined.  (*ctx itself cannot
 * be examined: it may be uninitialised memory.)
 */
WEIR_API WEIR_MUST_USE weir_err
weir_ctx_init(weir_ctx *ctx, weir_ctx *parent, int64_t deadline_ns);

/*
 * Retire *ctx.  If the result is WEIR_OK, then its memory may be reused.
 * WEIR_EBUSY: *ctx has children, or calls wait with it; nothing has changed.
 * As soon as the last such call has returned, *ctx can be destroyed, even if
 * the thread that cancelled it is still inside weir_ctx_cancel.
 */
WEIR_API WEIR_MUST_USE weir_err weir_ctx_destroy(weir_ctx *ctx);

/*
 * End ctx and every context below it with WEIR_ECANCELED.  When this returns:
 *
 *   - No acquire with one of these contexts will succeed any more.
 *   - Their waiters have left their queues, and the waiters behind them that
 *     now fit have been granted.
 *   - Permits that were granted to a call that has not returned have been taken
 *     back.  (A call that took free permits at the same moment, or whose
 *     context had already passed its deadline, returns them itself before it
 *     returns.)
 *
 * A cancel takes time in proportion to the number of contexts and waiters below
 * ctx.  Cancelling twice is harmless.
 */
WEIR_API void weir_ctx_cancel(weir_ctx *ctx);

/*
 * Cancel with a cause.  The cause is an address that tells the program why the
 * work should stop; weir neither reads nor frees the memory there.  The first
 * cancel that ends a context fixes its cause, also for the contexts below it
 * that this cancel ends.  weir_ctx_cancel has the cause null.
 */
WEIR_API void weir_ctx_cancel_with(weir_ctx *ctx, const void *cause);

/*
 * Returns the cause with which ctx was cancelled.  Null: ctx has not ended, was
 * cancelled without a cause, or passed its deadline.
 */
WEIR_API const void *weir_ctx_cause(const weir_ctx *ctx);

/*
 * Returns WEIR_OK if ctx has not ended, otherwise the reason: WEIR_ECANCELED or
 * WEIR_ETIMEDOUT.  The reason never changes.
 */
WEIR_API WEIR_MUST_USE weir_err weir_ctx_err(weir_ctx *ctx);

/* Returns the earliest deadline of ctx and its parents; WEIR_FOREVER: none. */
WEIR_API int64_t weir_ctx_deadline(const weir_ctx *ctx);

/*
 * Wait until ctx ends and return the reason, or return WEIR_EAGAIN at
 * deadline_ns.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_ctx_wait(weir_ctx *ctx, int64_t deadline_ns);

/*
 * Set *fd to a file descriptor that polls readable once ctx has ended, for an
 * event loop.  The first call creates the descriptor, and later calls return
 * the same one.  The descriptor is closed by weir_ctx_destroy and on exec.  Do
 * not read from it or close it.  WEIR_ESYSTEM: no file descriptor is available;
 * errno has the reason.
 */
WEIR_API WEIR_MUST_USE weir_err weir_ctx_fd(weir_ctx *ctx, int *fd);

/*
 * Cancel *ctx and retire it, at the end of a scope.  Panics if the destroy
 * returns WEIR_EBUSY: a context below it, or a call that waits with it, would
 * outlive the scope.
 */
WEIR_API void weir_ctx_end(weir_ctx *ctx);

/*
 * Written before a declaration: the context is cancelled and retired at the end
 * of its block.  weir/permit.h says which paths out of a block count.
 *
 *     WEIR_SCOPED_CTX weir_ctx request = WEIR_CTX_INIT;
 *
 * The block form declares ctx, sets it up with weir_ctx_init and runs the
 * statement.  If weir_ctx_init fails, then the statement is skipped.  err, an
 * lvalue of type weir_err, is set to the result.  break and continue leave the
 * statement, not an enclosing loop.
 *
 *     WEIR_WITH_CTX(err, request, &server, weir_deadline_after(2000000000)) {
 *             err = weir_sem_acquire(&sem, 1, &request);
 *             ...
 *     }
 */
#define WEIR_SCOPED_CTX WEIR_CLEANUP_(weir_ctx_end)
#define WEIR_WITH_CTX(err, ctx, parent, deadline_ns)                           \
	WEIR_WITH_CTX_(WEIR_AT_LINE_(weir_once_, __LINE__), err, ctx, parent,  \
		       deadline_ns)
#define WEIR_WITH_CTX_(once, err, ctx, parent, deadline_ns)                    \
	for (weir_ctx ctx WEIR_SCOPED_CTX = WEIR_CTX_INIT,                     \
	     *once = ((err) = weir_ctx_init(&ctx, (parent), (deadline_ns)))    \
			== WEIR_OK ? &ctx : WEIR_NULL_;                        \
	     once; once = WEIR_NULL_)

WEIR_DECLS_END

#endif /* WEIR_CTX_H */
