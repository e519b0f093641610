/* SPDX-License-Identifier: MIT */
/*
 * Borrows without a blocked thread: weir/pool_async.h.
 *
 * An operation (weir/async.h) waits for the permit instead of a thread.  Its
 * callback (on_permit) then takes an item with the code of the blocking calls,
 * and calls the user's callback.
 *
 *   FREE       owned by the user                 -> SUBMITTED by a submit
 *   SUBMITTED  waits, or creates its resource    -> FREE before the user's
 *                                                   callback, by cancel or poll
 *
 * state_ serves to detect misuse, and shows weir_pool_op_end_ that the resource
 * has been created.  A cancel is too late if the inner operation says so, also
 * while the resource is created.  The cancel does not wait for create, which is
 * user code: create may itself call the cancel, or wait for a thread that calls
 * it.
 *
 * Pairs
 *
 *   [PO1] over  release: set_free   acquire: weir_pool_op_end_
 *               The operation is not accessed any more, and may be freed.
 */
#include "weir/pool_async.h"

#include "base/atomic.h"
#include "base/frame.h"
#include "base/panic.h"
#include "pattern/pool.h"
#include "core/site.h"

enum { FREE, SUBMITTED };

static void set_free(void *op)
{
	/* [PO1] release.  This is the last access to *op. */
	at_store_release(&((weir_pool_op *)op)->state_, FREE);
}

/* A function of the pool did not return; the callback runs nevertheless. */
static void left_by_pool(void *arg)
{
	weir_pool_op *op = arg;
	weir_pool_op_fn *fn = op->fn_;
	void *user = op->user_;

	set_free(op);
	fn(op, WEIR_ECANCELED, NULL, user);
}

/*
 * Borrow after an acquire that returned err.  Its last access to *op sets it
 * FREE.
 */
static weir_err finish(weir_pool_op *op, weir_err err, weir_pool_item **item,
		       void (*left)(void *op))
{
	struct weir_frame_ frame WEIR_FRAME_;

	if (!err) {
		weir_frame_enter_(&frame, "weir_pool_op", op, left, op);
		err = weir_pool_lend_(op->pool_, op->who_, op->ctx_, item);
		weir_frame_leave_(&frame);
	}
	set_free(op);
	return err;
}

static void on_permit(weir_op *inner, weir_err err, void *user)
{
	weir_pool_op *op = user;
	weir_pool_op_fn *fn = op->fn_;
	void *arg = op->user_;
	weir_pool_item *item = NULL;

	(void)inner;
	err = finish(op, err, &item, left_by_pool);
	fn(op, err, item, arg);
}

static bool is_misplaced(const weir_pool_op *op)
{
	return !op || (uintptr_t)op % _Alignof(weir_pool_op);
}

void weir_pool_op_init(weir_pool_op *op, struct weir_loop *loop,
		       weir_pool_op_fn *fn, void *user)
{
	if (is_misplaced(op) || (loop && !fn)) {
		weir_panic_("weir_pool_op_init: operation %p: invalid pointer, "
			    "or a loop without a callback", op);
		return;
	}
	*op = (weir_pool_op){ .fn_ = fn, .user_ = user };
	weir_op_init(&op->op_, loop, fn ? on_permit : NULL, op);
}

static weir_err prepare(weir_pool_op *op, weir_pool *pool, const char *who,
			struct weir_ctx *ctx, weir_pool_item **item,
			const char *call)
{
	if (item)
		*item = NULL;
	if (is_misplaced(op) || weir_pool_check_(pool, call, WEIR_BY_ERROR_) ||
	    !item)
		return WEIR_EINVAL;
	/* relaxed: misuse by another thread is found only by chance. */
	if (at_load_relaxed(&op->state_) != FREE)
		return weir_panic_("%s: operation %p is already submitted",
				   call, op);
	op->pool_ = pool;
	op->who_ = who;
	op->ctx_ = ctx;
	/* relaxed: the semaphore's lock publishes the operation. */
	at_store_relaxed(&op->state_, SUBMITTED);
	return WEIR_OK;
}

/* After WEIR_EQUEUED *op may have run and been freed already. */
weir_err weir_pool_op_borrow(weir_pool_op *op, weir_pool *pool, const char *who,
			     struct weir_ctx *ctx, weir_pool_item **item)
{
	weir_err err = prepare(op, pool, who, ctx, item, __func__);
	bool watched;

	if (err)
		return err;
	watched = weir_site_begin_(&pool->permits_, WEIR_SITE_);
	err = weir_op_submit(&op->op_, &pool->permits_, 1, ctx);
	weir_site_end_(watched);
	return err == WEIR_EQUEUED ? err : finish(op, err, item, set_free);
}

weir_err weir_pool_op_borrow_until(weir_pool_op *op, weir_pool *pool,
				   const char *who, int64_t deadline_ns,
				   weir_pool_item **item)
{
	weir_err err = prepare(op, pool, who, NULL, item, __func__);
	bool watched;

	if (err)
		return err;
	watched = weir_site_begin_(&pool->permits_, WEIR_SITE_);
	err = weir_op_submit_until(&op->op_, &pool->permits_, 1, deadline_ns);
	weir_site_end_(watched);
	return err == WEIR_EQUEUED ? err : finish(op, err, item, set_free);
}

weir_err weir_pool_op_cancel(weir_pool_op *op)
{
	weir_err err;

	if (is_misplaced(op))
		return WEIR_EINVAL;
	err = weir_op_cancel(&op->op_);
	if (!err)
		/* relaxed: the operation belongs to the caller now. */
		at_store_relaxed(&op->state_, FREE);
	return err;
}

weir_err weir_pool_op_end_(weir_pool_op *op)
{
	weir_err err = weir_pool_op_cancel(op);

	/* [PO1] acquire */
	if (err == WEIR_EBUSY && at_load_acquire(&op->state_) == FREE)
		return WEIR_OK;
	return err;
}

weir_err weir_pool_op_poll(weir_pool_op *op, weir_pool_item **item)
{
	weir_err err;

	if (item)
		*item = NULL;
	if (is_misplaced(op) || !item)
		return WEIR_EINVAL;
	err = weir_op_poll(&op->op_);
	/* The operation waits, or there was nothing to poll. */
	if (err == WEIR_EQUEUED || err == WEIR_EINVAL)
		return err;
	return finish(op, err, item, set_free);
}
