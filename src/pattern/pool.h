/* SPDX-License-Identifier: MIT */
#ifndef WEIR_PATTERN_POOL_H
#define WEIR_PATTERN_POOL_H

/*
 * Internals shared by the files of the pool.  The head of pool.c explains them.
 */
#include <stdbool.h>
#include <stdint.h>

#include "weir/pool.h"

enum {
	WEIR_ITEM_EMPTY_,
	WEIR_ITEM_IDLE_,
	WEIR_ITEM_BUSY_,
	WEIR_ITEM_LENT_
};

/* Returns true if pool is null, misaligned or not set up. */
static inline bool weir_pool_is_misplaced_(const weir_pool *pool)
{
	return !pool || (uintptr_t)pool % sizeof(uint64_t) || !pool->ready_;
}

/*
 * Returns true if an IDLE item exceeds idle_ns or lifetime_ns.
 * Requires: lock_ is held.
 */
bool weir_pool_is_expired_(const weir_pool *pool, const weir_pool_item *item,
			   int64_t now_ns);

/* Destroy the resource of a BUSY item, which becomes EMPTY. */
void weir_pool_end_(weir_pool *pool, weir_pool_item *item);

/*
 * Lend an item that can be used.  Requires: the caller holds a permit.  The
 * permit is released if this fails.
 */
weir_err weir_pool_lend_(weir_pool *pool, const char *who, struct weir_ctx *ctx,
			 weir_pool_item **item);

#endif /* WEIR_PATTERN_POOL_H */
