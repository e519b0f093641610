/* SPDX-License-Identifier: MIT */
#ifndef WEIR_PATTERN_POOL_H
#define WEIR_PATTERN_POOL_H

/*
 * Internals shared by the files of the pool.  The head of pool.c explains them.
 */
#include <stdbool.h>
#include <stdint.h>

#include "core/sem_word.h"
#include "pattern/ready.h"
#include "record/record.h"
#include "weir/pool.h"

struct weir_pool_op;	/* weir/pool_async.h */

enum {
	WEIR_ITEM_EMPTY_,
	WEIR_ITEM_IDLE_,
	WEIR_ITEM_BUSY_,
	WEIR_ITEM_LENT_
};

weir_err weir_pool_unready_(weir_pool *pool, const char *call,
			    enum weir_refusal_ refusal);

/* The check at the beginning of every call: ready.h. */
static inline weir_err weir_pool_check_(weir_pool *pool, const char *call,
					enum weir_refusal_ refusal)
{
	return weir_is_ready_(pool) ?
		       WEIR_OK : weir_pool_unready_(pool, call, refusal);
}

/*
 * Returns true if an IDLE item exceeds idle_ns or lifetime_ns.
 * Requires: lock_ is held.
 */
bool weir_pool_is_expired_(const weir_pool *pool, const weir_pool_item *item,
			   int64_t now_ns);

/*
 * Calls of the user's functions for a BUSY item, pool_user.c.  If such a
 * function does not return, then the item is put back into a list and the
 * permit is released.  `permit` is false if the caller holds no permit.
 *
 * create: on failure the item is EMPTY again.  end: destroy the resource; the
 * item becomes EMPTY.
 */
weir_err weir_pool_create_(weir_pool *pool, weir_pool_item *item,
			   struct weir_ctx *ctx);
bool weir_pool_validate_(weir_pool *pool, weir_pool_item *item);
void weir_pool_end_(weir_pool *pool, weir_pool_item *item, bool permit);

/* Returns the record of the permit that this thread has acquired; 0: none. */
static inline uint32_t weir_pool_slot_(const weir_pool *pool)
{
	bool watched = weir_state_(&pool->permits_) & WEIR_STATE_TRACKED_;

	return watched ? weir_record_slot_(weir_record_of_(&pool->permits_)) :
			 0;
}

/*
 * Lend an item that can be used.  Requires: the caller holds a permit.  The
 * permit is released if this fails.
 */
weir_err weir_pool_lend_(weir_pool *pool, const char *who, struct weir_ctx *ctx,
			 weir_pool_item **item);

/*
 * Cancel the operation, so that it can be freed; WEIR_OK also if it was not
 * submitted or its callback has begun.  WEIR_EBUSY: a resource is being selected
 * or created for it.
 */
weir_err weir_pool_op_end_(struct weir_pool_op *op);

#endif /* WEIR_PATTERN_POOL_H */
