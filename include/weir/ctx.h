/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CTX_H
#define WEIR_CTX_H

#include <stdint.h>

#include "weir/base.h"

WEIR_DECLS_BEGIN

/*
 * weir_ctx: why a piece of work should stop: it was cancelled, its deadline
 * passed, or its parent ended.  Contexts form a tree in their owners' memory;
 * an end reaches everything below.
 *
 *     weir_ctx request;
 *     err = weir_ctx_init(&request, &server, weir_deadline_after(2000000000));
 *     err = weir_sem_acquire(&sem, 1, &request);
 *     ...
 *     err = weir_ctx_destroy(&request);
 *
 * The following holds for every function below unless its comment differs.
 *
 *   Threads   Callable from any thread between init and destroy.
 *   Memory    Allocates nothing.  A context must stay where it is.
 *   Orders    A cancel happens before every call that reports it.
 *   Signals   Not async-signal-safe.  To cancel from a signal handler, release
 *             an unbounded semaphore there and cancel in the thread it wakes.
 *   Fork      A context is not to be used in the child.
 *   Misuse    As in weir/sem.h.
 */
typedef struct weir_ctx {
	struct weir_ctx *root_;		/* owner of the tree's lock; null: self */
	struct weir_ctx *parent_;
	struct weir_ring_ *children_;	/* under the tree's lock */
	struct weir_ring_ sibling_;	/* under the tree's lock */
	struct weir_ring_ *waiters_;	/* under the tree's lock */
	int64_t deadline_;		/* earliest of own and parents'; 0: none */
	int32_t ended_;			/* weir_err, 0 while it goes on */
	uint32_t lock_;			/* the tree's lock, used in the root */
	int32_t fd_;			/* descriptor plus 1; 0: none yet */
	uint32_t state_;		/* destroyed or not */
	uint64_t reserved_[3];		/* zero, for later versions */
} weir_ctx;

/*
 * A static context without parent or deadline; zeroed memory is the same.
 *     static weir_ctx stop = WEIR_CTX_INIT;
 */
#define WEIR_CTX_INIT { 0, 0, 0, { 0, 0 }, 0, 0, 0, 0, 0, 0, { 0, 0, 0 } }

/*
 * Set up *ctx below parent (null: a root) with a deadline of its own
 * (WEIR_FOREVER: none).  The parent must outlive it, and knows of it: destroy it
 * before its memory goes away, on every way out of the function.  Below a parent
 * that has ended it begins ended.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_ctx_init(weir_ctx *ctx, weir_ctx *parent, int64_t deadline_ns);

/*
 * Retire *ctx; its memory may be reused when this returns WEIR_OK.
 * WEIR_EBUSY, with nothing changed: it has children, or calls wait with it.
 * The moment the last such call has returned it can be destroyed, even if
 * the thread that cancelled it is still inside weir_ctx_cancel.
 */
WEIR_API WEIR_MUST_USE weir_err weir_ctx_destroy(weir_ctx *ctx);

/*
 * End ctx and everything below it with WEIR_ECANCELED.  When this returns, no
 * acquire with any of them will succeed any more; their waiters have left their
 * queues, and those behind them that now fit have been granted; permits that
 * were granted to a call that has not returned yet have been taken back.  (A call
 * that found them free at this very moment, or whose context was already past
 * its own deadline, gives them back itself before it returns.)  Takes time in
 * proportion to what is below ctx.  Cancelling twice is harmless.
 */
WEIR_API void weir_ctx_cancel(weir_ctx *ctx);

/* WEIR_OK while it goes on, else why it ended; the answer then stays. */
WEIR_API WEIR_MUST_USE weir_err weir_ctx_err(weir_ctx *ctx);

/* The earliest deadline of ctx and its parents, or WEIR_FOREVER. */
WEIR_API int64_t weir_ctx_deadline(const weir_ctx *ctx);

/*
 * Wait until ctx ends and return why, or WEIR_EAGAIN if it has not by
 * deadline_ns.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_ctx_wait(weir_ctx *ctx, int64_t deadline_ns);

/*
 * A file descriptor that polls readable once ctx has ended, for an event loop.
 * Made at the first call, the same at every later one, closed by destroy and on
 * exec; do not read from it or close it.  WEIR_ESYSTEM: none can be had now
 * (errno).
 */
WEIR_API WEIR_MUST_USE weir_err weir_ctx_fd(weir_ctx *ctx, int *fd);

WEIR_DECLS_END

#endif /* WEIR_CTX_H */
