/* SPDX-License-Identifier: MIT */
/*
 * Cancelling a context: ending its whole subtree and every wait in it.
 * docs/design/ctx.md.
 */
#include "base/lock.h"
#include "base/panic.h"
#include "base/timer.h"
#include "core/ctx_tree.h"
#include "core/ctx_wait.h"
#include "core/sem_grant.h"
#include "core/sem_lock.h"
#include "core/sem_queue.h"

static weir_ctx *ctx_of(struct weir_ring_ *sibling)
{
	return ring_entry(sibling, weir_ctx, sibling_);
}

/*
 * End ctx now.  If the deadline has passed, the timer descriptor fires by
 * itself.
 */
static void end_now(weir_ctx *ctx, const void *cause)
{
	if (weir_ctx_ended_(ctx))
		return;
	ctx->cause_ = cause;
	if (weir_ctx_end_with_(ctx, WEIR_ECANCELED) == WEIR_ECANCELED &&
	    ctx->fd_)
		weir_timer_fire_(ctx->fd_ - 1);
}

/* End the wait of one waiter.  Called with the tree locked. */
static enum weir_problem_ end_waiter(struct weir_waiter_ *w, weir_err why,
				     struct weir_to_notify_ *to_notify)
{
	enum weir_problem_ problem;
	int64_t back = 0;

	if (w->wants == WEIR_WANTS_END_) {
		if (weir_waiter_claim_end_(w))
			weir_waiter_decide_(w, why, to_notify);
		return WEIR_IS_WELL_;
	}
	if (w->wants == WEIR_WANTS_OTHER_) {
		w->end(w, why);
		return WEIR_IS_WELL_;
	}
	problem = weir_sem_lock_no_panic_(w->sem);
	if (problem)
		return problem;
	if (w->place != WEIR_NOWHERE_)
		weir_sem_evict_(w->sem, w, why, to_notify);
	else
		back = weir_sem_take_back_(w->sem, w);
	(void)weir_sem_grant_and_unlock_(w->sem, -back, to_notify);
	return WEIR_IS_WELL_;
}

/* A cancel in progress. */
struct cancel {
	uint32_t *lock;			/* of the tree; held */
	int left;			/* waiters left in this batch */
	struct weir_to_notify_ to_notify;
	enum weir_problem_ problem;	/* the last problem found */
	const weir_sem *bad;		/* its semaphore */
};

/*
 * Unlock the tree for a moment and notify the batch.  Requires: a mark of the
 * caller keeps its context from being destroyed.  No callback runs: a callback
 * that destroys this context would wait for the mark forever.
 */
static void end_batch(struct cancel *k)
{
	weir_unlock_(k->lock);
	weir_notify_without_callbacks_(&k->to_notify);
	k->left = WEIR_BATCH_;
	weir_lock_(k->lock);
}

/*
 * End the waits of all waiters of ctx, which has ended.  The list is rotated
 * until this cancel's mark, appended at the start, comes to the front.  Several
 * cancels may rotate the list: a cancel that moves the mark of another cancel
 * sets that mark's place to NOWHERE.  Between two batches the mark keeps ctx
 * from being destroyed.
 */
static void end_waiters(weir_ctx *ctx, struct cancel *k)
{
	struct weir_waiter_ mark = { .wants = WEIR_WANTS_NOTHING_,
				     .place = WEIR_OVERSIZED_ };

	if (!ctx->waiters_)
		return;
	ring_append(&ctx->waiters_, &mark.ctx_link);
	do {
		struct weir_waiter_ *w = weir_ctx_waiter_of_(ctx->waiters_);
		enum weir_problem_ found = WEIR_IS_WELL_;

		ctx->waiters_ = ctx->waiters_->next_;
		if (w->wants == WEIR_WANTS_NOTHING_)
			w->place = WEIR_NOWHERE_;
		else
			found = end_waiter(w, weir_ctx_cancelled_(ctx),
					   &k->to_notify);
		if (found) {
			k->problem = found;
			k->bad = w->sem;
		}
		if (!--k->left)
			end_batch(k);
	} while (mark.place != WEIR_NOWHERE_);
	ring_remove(&ctx->waiters_, &mark.ctx_link);
}

/*
 * Returns the next context of the subtree of top, parents first; null at the
 * end.
 */
static weir_ctx *next_below(weir_ctx *ctx, const weir_ctx *top)
{
	if (ctx->children_)
		return ctx_of(ctx->children_);
	for (; ctx != top; ctx = ctx->parent_)
		if (ctx->sibling_.next_ != ctx->parent_->children_)
			return ctx_of(ctx->sibling_.next_);
	return NULL;
}

static void cancel(weir_ctx *ctx, const void *cause, const char *call)
{
	struct cancel k = { .left = WEIR_BATCH_ };

	if (weir_ctx_is_misplaced_(ctx)) {
		weir_panic_("%s: %p is not a context", call, ctx);
		return;
	}
	if (weir_ctx_check_(ctx, call))
		return;
	k.lock = weir_ctx_lock_of_(ctx);
	weir_lock_(k.lock);
	/*
	 * End all contexts before any waiter leaves its queue: permits that a
	 * waiter leaves behind must not be granted to another waiter that this
	 * cancel is about to end.  A waiter that wakes by itself between two
	 * of these steps may still cause such a grant; the granted waiter then
	 * returns its permits (C13).
	 */
	for (weir_ctx *c = ctx; c; c = next_below(c, ctx))
		end_now(c, cause);
	for (weir_ctx *c = ctx; c; c = next_below(c, ctx))
		end_waiters(c, &k);
	/* This is the last access to the tree. */
	weir_unlock_(k.lock);
	weir_notify_all_(&k.to_notify);
	weir_callbacks_run_();
	(void)weir_sem_panic_(k.bad, call, k.problem);
}

void weir_ctx_cancel(weir_ctx *ctx)
{
	cancel(ctx, NULL, "weir_ctx_cancel");
}

void weir_ctx_cancel_with(weir_ctx *ctx, const void *cause)
{
	cancel(ctx, cause, "weir_ctx_cancel_with");
}
