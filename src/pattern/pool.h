/* SPDX-License-Identifier: MIT */
#ifndef WEIR_PATTERN_POOL_H
#define WEIR_PATTERN_POOL_H

/* What the files of the pool share; pool.c says how it works. */
#include <stdbool.h>
#include <stdint.h>

#include "weir/pool.h"

enum {
	WEIR_ITEM_EMPTY_,
	WEIR_ITEM_IDLE_,
	WEIR_ITEM_BUSY_,
	WEIR_ITEM_LENT_
};

static inline bool weir_pool_is_misplaced_(const weir_pool *pool)
{
	return !pool || (uintptr_t)pool % sizeof(uint64_t) || !pool->ready_;
}

/* Under the lock: whether an idle one is idle or alive for too long. */
bool weir_pool_is_over_(const weir_pool *pool, const weir_pool_item *item,
			int64_t now_ns);

/* A BUSY item's resource is destroyed, and the item EMPTY. */
void weir_pool_end_(weir_pool *pool, weir_pool_item *item);

/* With a permit, which is kept if this succeeds: an item that can be used. */
weir_err weir_pool_lend_(weir_pool *pool, const char *who, struct weir_ctx *ctx,
			 weir_pool_item **item);

#endif /* WEIR_PATTERN_POOL_H */
