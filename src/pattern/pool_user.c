/* SPDX-License-Identifier: MIT */
/*
 * Calls of the pool's user functions: pattern/pool.h.
 *
 * A function that does not return (base/frame.h) leaves its item BUSY and the
 * permit of its caller held.  Then, while the stack is unwound,
 *
 *   create    counts as a failure; the item is EMPTY again
 *   validate  decides nothing; the item is IDLE again, or is destroyed if the
 *             pool has been closed meanwhile: the close did not find it
 *   destroy   counts as done; the item is EMPTY
 *
 * and the permit is released.
 */
#include "base/frame.h"
#include "base/lock.h"
#include "base/ring.h"
#include "pattern/pool.h"

struct user_call {
	weir_pool *pool;
	weir_pool_item *item;
	bool permit;			/* the caller holds a permit */
};

/* Requires: lock_ is held. */
static void set_empty(weir_pool *pool, weir_pool_item *item)
{
	item->resource = NULL;
	item->state_ = WEIR_ITEM_EMPTY_;
	ring_append(&pool->empty_, &item->place_);
}

static void set_failed(weir_pool *pool, weir_pool_item *item)
{
	weir_lock_(&pool->lock_);
	pool->failed_++;
	set_empty(pool, item);
	weir_unlock_(&pool->lock_);
}

static void set_destroyed(weir_pool *pool, weir_pool_item *item)
{
	weir_lock_(&pool->lock_);
	pool->destroyed_++;
	set_empty(pool, item);
	weir_unlock_(&pool->lock_);
}

static void release(const struct user_call *call)
{
	if (call->permit)
		weir_sem_release(&call->pool->permits_, 1);
}

static void left_create(void *arg)
{
	const struct user_call *call = arg;

	set_failed(call->pool, call->item);
	release(call);
}

weir_err weir_pool_create_(weir_pool *pool, weir_pool_item *item,
			   struct weir_ctx *ctx)
{
	struct user_call call = { pool, item, true };
	struct weir_frame_ frame WEIR_FRAME_;
	void *resource = NULL;
	weir_err err;

	weir_frame_enter_(&frame, "create of pool", pool, left_create, &call);
	err = pool->opts_.create(pool->opts_.user, ctx, &resource);
	weir_frame_leave_(&frame);
	if (err) {
		set_failed(pool, item);
		/* EQUEUED would tell the borrower that its operation waits. */
		return err == WEIR_EQUEUED ? WEIR_EINVAL : err;
	}
	weir_lock_(&pool->lock_);
	pool->created_++;
	item->resource = resource;
	item->made_ns_ = weir_now_ns();
	weir_unlock_(&pool->lock_);
	return WEIR_OK;
}

static void left_validate(void *arg)
{
	const struct user_call *call = arg;
	weir_pool *pool = call->pool;
	bool closed;

	weir_lock_(&pool->lock_);
	closed = pool->closed_;
	if (!closed) {
		call->item->state_ = WEIR_ITEM_IDLE_;
		ring_append(&pool->idle_, &call->item->place_);
	}
	weir_unlock_(&pool->lock_);
	if (closed)
		weir_pool_end_(pool, call->item, call->permit);
	release(call);
}

bool weir_pool_validate_(weir_pool *pool, weir_pool_item *item)
{
	struct user_call call = { pool, item, true };
	struct weir_frame_ frame WEIR_FRAME_;
	bool usable;

	weir_frame_enter_(&frame, "validate of pool", pool, left_validate,
			  &call);
	usable = pool->opts_.validate(pool->opts_.user, item->resource);
	weir_frame_leave_(&frame);
	return usable;
}

static void left_destroy(void *arg)
{
	const struct user_call *call = arg;

	set_destroyed(call->pool, call->item);
	release(call);
}

void weir_pool_end_(weir_pool *pool, weir_pool_item *item, bool permit)
{
	struct user_call call = { pool, item, permit };
	struct weir_frame_ frame WEIR_FRAME_;

	weir_frame_enter_(&frame, "destroy of pool", pool, left_destroy, &call);
	pool->opts_.destroy(pool->opts_.user, item->resource);
	weir_frame_leave_(&frame);
	set_destroyed(pool, item);
}
