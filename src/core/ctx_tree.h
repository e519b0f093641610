/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CORE_CTX_TREE_H
#define WEIR_CORE_CTX_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/ring.h"
#include "core/waiter.h"
#include "weir/ctx.h"

/*
 * The parts that ctx.c, ctx_wait.c and ctx_cancel.c share.  A tree of contexts
 * has one lock, in its root.
 *
 * Lock order: the tree, then a semaphore.  A thread that holds the lock of a
 * semaphore never takes the lock of a tree.
 *
 * ended_ is written once: by a cancel under the lock of the tree, or by the
 * thread that first finds that the deadline has passed.  It is read without the
 * lock.
 *
 * Pairs
 *
 *   [X1] end   release: weir_ctx_end_with_   acquire: weir_ctx_cancelled_
 *              A thread that reads the end sees what was done before the
 *              cancel.
 */
static inline bool weir_ctx_is_misplaced_(const weir_ctx *ctx)
{
	return !ctx || (uintptr_t)ctx % _Alignof(weir_ctx);
}

static inline uint32_t *weir_ctx_lock_of_(weir_ctx *ctx)
{
	return ctx->root_ ? &ctx->root_->lock_ : &ctx->lock_;
}

static inline struct weir_waiter_ *weir_ctx_waiter_of_(struct weir_ring_ *link)
{
	return ring_entry(link, struct weir_waiter_, ctx_link);
}

/*
 * Returns WEIR_EINVAL if ctx is invalid; panics if ctx is destroyed.  `call` is
 * for the message.
 */
weir_err weir_ctx_check_(const weir_ctx *ctx, const char *call);

/*
 * Write why ctx ended, unless a reason has been written: the first reason
 * stays.  Returns the reason that stays.
 */
weir_err weir_ctx_end_with_(weir_ctx *ctx, weir_err why);

/*
 * Returns why ctx has ended, or WEIR_OK.  Ends ctx if its deadline has passed
 * and no thread has noticed that yet.
 */
weir_err weir_ctx_ended_(weir_ctx *ctx);

#endif /* WEIR_CORE_CTX_TREE_H */
