/* SPDX-License-Identifier: MIT */
/* Submitting an operation to the end of a context: async/end.c. */
#include "async/count.h"
#include "async/op.h"
#include "async/run.h"
#include "base/atomic.h"
#include "base/fork.h"
#include "base/lock.h"
#include "base/panic.h"
#include "core/ctx_tree.h"
#include "core/ctx_wait.h"
#include "weir/async.h"

/*
 * Register w.  Once w is registered, it may be decided, notified and freed.  A
 * timer that fires earlier finds WEIR_END_JOINS_, and is added again.
 */
static weir_err join(struct weir_waiter_ *w)
{
	weir_ctx *ctx = w->ctx;
	uint32_t *lock = weir_ctx_lock_of_(ctx);
	weir_err why;

	weir_lock_(lock);
	why = weir_ctx_cancelled_(ctx);
	if (!why) {
		ring_append(&ctx->waiters_, &w->ctx_link);
		/* relaxed: the lock orders it; a timer only checks it. */
		at_store_relaxed(&w->end_claim, WEIR_END_WAITS_);
	}
	weir_unlock_(lock);
	return why;
}

static void prepare(struct weir_waiter_ *w, weir_ctx *ctx, int64_t deadline_ns)
{
	weir_waiter_set_notifier_(weir_run_notify_);
	w->sem = NULL;
	w->ctx = ctx;
	w->min = 0;
	w->forks = (uint8_t)weir_forks_();
	w->wants = WEIR_WANTS_END_;
	w->place = WEIR_NOWHERE_;
	w->notify = 0;
	w->woken_to_retry = w->counted = w->spinning = false;
	w->deadline_ns = deadline_ns;
	w->timer = (struct weir_ring_){ NULL, NULL };
	weir_op_count_(w);
	/* relaxed: both; published by the locks of the loop and the tree. */
	at_store_relaxed(&w->end_claim, WEIR_END_JOINS_);
	at_store_relaxed(&w->state, WEIR_OP_QUEUED_);
}

weir_err weir_op_submit_end(weir_op *op, struct weir_ctx *ctx)
{
	struct weir_waiter_ *w = weir_op_inside_of_(op);
	int64_t deadline_ns;
	weir_err err;

	if (!op || (uintptr_t)op % _Alignof(weir_op) ||
	    weir_ctx_is_misplaced_(ctx))
		return WEIR_EINVAL;
	/* relaxed: a concurrent call is a misuse, detected by chance. */
	if (at_load_relaxed(&w->state) != WEIR_OP_FREE_)
		return weir_panic_("weir_op_submit_end: operation %p is "
				   "already submitted", op);
	err = weir_ctx_err(ctx);
	if (err)
		return err;
	deadline_ns = weir_ctx_deadline(ctx);
	if (deadline_ns != WEIR_FOREVER && w->kind == WEIR_OP_ON_THREAD_)
		return WEIR_EINVAL;
	prepare(w, ctx, deadline_ns);
	weir_op_start_timer_(w);
	err = join(w);
	if (!err)
		return WEIR_EQUEUED;
	weir_op_stop_timer_(w);
	weir_op_set_free_(w);
	return err;
}
