/* SPDX-License-Identifier: MIT */
/*
 * Contexts: a tree with one lock, in the root.  docs/design/ctx.md.
 *
 * Lock order: the tree, then a semaphore.  Whoever holds a semaphore's lock
 * never takes a tree's.
 *
 * ended_ is written once: by a cancel under the tree's lock, or by whoever first
 * notices that the deadline has passed.  It is read without the lock.
 *
 * Pairs
 *
 *   [X1] end   release: end_with   acquire: weir_ctx_cancelled_
 *              Who sees the end sees what was done before the cancel.
 */
#include "weir/ctx.h"

#include <errno.h>
#include <stdbool.h>

#include "base/atomic.h"
#include "base/cpu.h"
#include "base/lock.h"
#include "base/panic.h"
#include "base/timer.h"
#include "core/ctx_wait.h"
#include "core/sem_queue.h"

#define DESTROYED UINT32_C(0x64656164)

_Static_assert(sizeof(void *) != 8 || sizeof(weir_ctx) == 96, "public layout");

static bool is_misplaced(const weir_ctx *ctx)
{
	return !ctx || (uintptr_t)ctx % _Alignof(weir_ctx);
}

static weir_err check(const weir_ctx *ctx, const char *call)
{
	if (is_misplaced(ctx))
		return WEIR_EINVAL;
	/* relaxed: found by luck or not at all; using it is a mistake. */
	if (at_load_relaxed(&ctx->state_) == DESTROYED)
		return weir_panic_("%s: context %p is destroyed", call, ctx);
	return WEIR_OK;
}

static uint32_t *lock_of(weir_ctx *ctx)
{
	return ctx->root_ ? &ctx->root_->lock_ : &ctx->lock_;
}

static weir_ctx *ctx_of(struct weir_ring_ *sibling)
{
	return ring_entry(sibling, weir_ctx, sibling_);
}

weir_err weir_ctx_cancelled_(const weir_ctx *ctx)
{
	/* [X1] acquire */
	return (weir_err)at_load_acquire(&ctx->ended_);
}

static bool is_late(const weir_ctx *ctx)
{
	return ctx->deadline_ && weir_now_ns() >= ctx->deadline_;
}

weir_err weir_ctx_init(weir_ctx *ctx, weir_ctx *parent, int64_t deadline_ns)
{
	weir_ctx fresh = WEIR_CTX_INIT;
	weir_err err;

	if (is_misplaced(ctx) || ctx == parent)
		return WEIR_EINVAL;
	if (deadline_ns != WEIR_FOREVER)
		fresh.deadline_ = deadline_ns > 0 ? deadline_ns : 1;
	if (!parent) {
		*ctx = fresh;
		return WEIR_OK;
	}
	err = check(parent, "weir_ctx_init");
	if (err)
		return err;
	fresh.parent_ = parent;
	fresh.root_ = parent->root_ ? parent->root_ : parent;
	if (parent->deadline_ &&
	    (!fresh.deadline_ || parent->deadline_ < fresh.deadline_))
		fresh.deadline_ = parent->deadline_;
	*ctx = fresh;
	weir_lock_(lock_of(ctx));
	ctx->ended_ = (int32_t)weir_ctx_cancelled_(parent);
	ring_append(&parent->children_, &ctx->sibling_);
	weir_unlock_(lock_of(ctx));
	return WEIR_OK;
}

static struct weir_waiter_ *waiter_of(struct weir_ring_ *link)
{
	return ring_entry(link, struct weir_waiter_, ctx_link);
}

/* By more than the marks of cancels, which go away by themselves. */
static bool is_in_use(const weir_ctx *ctx)
{
	RING_EACH(link, next, end, ctx->waiters_)
		if (waiter_of(link)->wants != WEIR_WANTS_NOTHING_)
			return true;
	return ctx->children_;
}

weir_err weir_ctx_destroy(weir_ctx *ctx)
{
	struct weir_backoff_ backoff = { 0 };
	weir_err err = check(ctx, "weir_ctx_destroy");
	uint32_t *lock;
	int fd;

	if (err)
		return err;
	lock = lock_of(ctx);
	for (;;) {
		bool in_use;

		weir_backoff_recheck_(&backoff);
		weir_lock_(lock);
		in_use = is_in_use(ctx);
		if (!in_use && !ctx->waiters_)
			break;
		weir_unlock_(lock);
		if (in_use)
			return WEIR_EBUSY;
		weir_backoff_wait_(&backoff);
	}
	if (ctx->parent_)
		ring_remove(&ctx->parent_->children_, &ctx->sibling_);
	fd = ctx->fd_ - 1;
	ctx->fd_ = 0;
	/* relaxed: as in check. */
	at_store_relaxed(&ctx->state_, DESTROYED);
	weir_unlock_(lock);
	if (fd >= 0)
		weir_timer_close_(fd);
	return WEIR_OK;
}

/*
 * Write why ctx ended, unless somebody has: the first reason stays.  Returns
 * the one that stands.
 */
static weir_err end_with(weir_ctx *ctx, weir_err why)
{
	int32_t seen = WEIR_OK;

	/* [X1] release */
	while (!at_cas_weak_release(&ctx->ended_, &seen, (int32_t)why))
		if (seen)
			return weir_ctx_cancelled_(ctx);
	return why;
}

/* Why ctx has ended, also if nobody has noticed before that it is late. */
static weir_err ended(weir_ctx *ctx)
{
	weir_err why = weir_ctx_cancelled_(ctx);

	return !why && is_late(ctx) ? end_with(ctx, WEIR_ETIMEDOUT) : why;
}

/* End ctx now.  A descriptor whose deadline is past fires by itself. */
static void end_now(weir_ctx *ctx)
{
	if (!ended(ctx) && end_with(ctx, WEIR_ECANCELED) == WEIR_ECANCELED &&
	    ctx->fd_)
		weir_timer_fire_(ctx->fd_ - 1);
}

/* Take one waiter out of what it waits for. */
static enum weir_problem_ end_waiter(struct weir_waiter_ *w, weir_err why,
				     struct weir_to_notify_ *to_notify)
{
	enum weir_problem_ problem;
	int64_t back = 0;

	if (w->wants == WEIR_WANTS_END_) {
		if (w->place != WEIR_NOWHERE_)
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

/* A cancel at work. */
struct cancel {
	uint32_t *lock;			/* the tree's, held */
	int left;			/* of this batch */
	struct weir_to_notify_ to_notify;
	enum weir_problem_ problem;	/* the last one found, */
	const weir_sem *bad;		/* and where */
};

/*
 * Let others have the lock for a moment.  What the caller uses must be marked.  No
 * callback runs: it might destroy what our mark is in.
 */
static void end_batch(struct cancel *k)
{
	weir_unlock_(k->lock);
	weir_notify_without_callbacks_(&k->to_notify);
	k->left = WEIR_BATCH_;
	weir_lock_(k->lock);
}

/*
 * Take all waiters of ctx, which has ended, out of what they wait for.  The
 * list is turned until a mark that was its last comes to the front; whoever
 * turns it says so to those whose marks go by.  Between two batches the mark
 * keeps ctx.
 */
static void end_waiters(weir_ctx *ctx, struct cancel *k)
{
	struct weir_waiter_ mark = { .wants = WEIR_WANTS_NOTHING_,
				     .place = WEIR_OVERSIZED_ };

	if (!ctx->waiters_)
		return;
	ring_append(&ctx->waiters_, &mark.ctx_link);
	do {
		struct weir_waiter_ *w = waiter_of(ctx->waiters_);
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

/* The next of the tree below top, parents first; null at the end. */
static weir_ctx *next_below(weir_ctx *ctx, const weir_ctx *top)
{
	if (ctx->children_)
		return ctx_of(ctx->children_);
	for (; ctx != top; ctx = ctx->parent_)
		if (ctx->sibling_.next_ != ctx->parent_->children_)
			return ctx_of(ctx->sibling_.next_);
	return NULL;
}

void weir_ctx_cancel(weir_ctx *ctx)
{
	static const char call[] = "weir_ctx_cancel";
	struct cancel k = { .left = WEIR_BATCH_ };

	if (is_misplaced(ctx)) {
		weir_panic_("%s: %p is not a context", call, ctx);
		return;
	}
	if (check(ctx, call))
		return;
	k.lock = lock_of(ctx);
	weir_lock_(k.lock);
	/*
	 * Mark all before any waiter leaves its queue: what one leaves behind
	 * must not be granted to the next that is about to be ended.
	 */
	for (weir_ctx *c = ctx; c; c = next_below(c, ctx))
		end_now(c);
	for (weir_ctx *c = ctx; c; c = next_below(c, ctx))
		end_waiters(c, &k);
	/* The last access to the tree. */
	weir_unlock_(k.lock);
	weir_notify_all_(&k.to_notify);
	weir_callbacks_run_();
	(void)weir_sem_panic_(k.bad, call, k.problem);
}

weir_err weir_ctx_err(weir_ctx *ctx)
{
	weir_err err = check(ctx, "weir_ctx_err");

	return err ? err : ended(ctx);
}

int64_t weir_ctx_deadline(const weir_ctx *ctx)
{
	if (is_misplaced(ctx)) {
		weir_panic_("weir_ctx_deadline: %p is not a context", ctx);
		return WEIR_FOREVER;
	}
	(void)check(ctx, "weir_ctx_deadline");
	return ctx->deadline_ ? ctx->deadline_ : WEIR_FOREVER;
}

weir_err weir_ctx_join_(weir_ctx *ctx, struct weir_waiter_ *w)
{
	uint32_t *lock = lock_of(ctx);
	weir_err why;

	weir_lock_(lock);
	why = weir_ctx_cancelled_(ctx);
	if (!why)
		ring_append(&ctx->waiters_, &w->ctx_link);
	weir_unlock_(lock);
	return why;
}

weir_err weir_ctx_leave_(weir_ctx *ctx, struct weir_waiter_ *w, bool late)
{
	uint32_t *lock = lock_of(ctx);
	weir_err why;

	weir_lock_(lock);
	/* Seen to be late it has ended, though the clock may go back. */
	why = late ? end_with(ctx, WEIR_ETIMEDOUT) : ended(ctx);
	ring_remove(&ctx->waiters_, &w->ctx_link);
	/* The last access to the tree. */
	weir_unlock_(lock);
	return why;
}

weir_err weir_ctx_wait(weir_ctx *ctx, int64_t deadline_ns)
{
	struct weir_waiter_ w = { .wants = WEIR_WANTS_END_,
				  .place = WEIR_OVERSIZED_,
				  .outcome = WEIR_EAGAIN };
	enum weir_parked_ parked;
	weir_err err = weir_ctx_err(ctx);
	bool decided, ends_first;

	if (!err)
		err = weir_ctx_join_(ctx, &w);
	if (err)
		return err;
	ends_first = ctx->deadline_ && ctx->deadline_ <= deadline_ns;
	if (ends_first)
		deadline_ns = ctx->deadline_;
	do
		parked = weir_waiter_park_(&w, deadline_ns);
	while (parked == WEIR_PARKED_SIGNAL_);
	err = weir_ctx_leave_(ctx, &w, ends_first &&
					       parked == WEIR_PARKED_LATE_);
	/* The canceller is done with the tree; its tell may be on the way. */
	decided = w.place == WEIR_NOWHERE_;
	if (decided)
		weir_waiter_await_notification_(&w);
	return err ? err : WEIR_EAGAIN;
}

weir_err weir_ctx_fd(weir_ctx *ctx, int *fd)
{
	weir_err err = fd ? check(ctx, "weir_ctx_fd") : WEIR_EINVAL;
	uint32_t *lock;
	int made = 0;

	if (err)
		return err;
	lock = lock_of(ctx);
	weir_lock_(lock);
	if (!ctx->fd_) {
		made = weir_timer_open_(weir_ctx_cancelled_(ctx) ? 0 :
						weir_ctx_deadline(ctx));
		if (made >= 0)
			ctx->fd_ = made + 1;
	}
	*fd = ctx->fd_ - 1;
	weir_unlock_(lock);
	return made < 0 ? WEIR_ESYSTEM : WEIR_OK;
}
