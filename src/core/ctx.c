/* SPDX-License-Identifier: MIT */
/*
 * Contexts: a tree with one lock, in the root.  ctx_wait.c waits and
 * ctx_cancel.c cancels; ctx_tree.h has the parts that these files share.  See
 * docs/design/ctx.md.
 */
#include "weir/ctx.h"

#include <errno.h>
#include <stdbool.h>

#include "base/atomic.h"
#include "base/cpu.h"
#include "base/lock.h"
#include "base/panic.h"
#include "base/timer.h"
#include "core/ctx_tree.h"
#include "core/ctx_wait.h"

#define DESTROYED UINT32_C(0x64656164)

_Static_assert(sizeof(void *) != 8 || sizeof(weir_ctx) == 96, "public layout");

weir_err weir_ctx_check_(const weir_ctx *ctx, const char *call)
{
	if (weir_ctx_is_misplaced_(ctx))
		return WEIR_EINVAL;
	/* relaxed: misuse, which need not be detected in every case. */
	if (at_load_relaxed(&ctx->state_) == DESTROYED)
		return weir_panic_("%s: context %p is destroyed", call, ctx);
	return WEIR_OK;
}

weir_err weir_ctx_cancelled_(const weir_ctx *ctx)
{
	/* [X1] acquire */
	return (weir_err)at_load_acquire(&ctx->ended_);
}

weir_err weir_ctx_end_with_(weir_ctx *ctx, weir_err why)
{
	int32_t seen = WEIR_OK;

	/* [X1] release */
	while (!at_cas_weak_release(&ctx->ended_, &seen, (int32_t)why))
		if (seen)
			return weir_ctx_cancelled_(ctx);
	return why;
}

static bool is_late(const weir_ctx *ctx)
{
	return ctx->deadline_ && weir_now_ns() >= ctx->deadline_;
}

weir_err weir_ctx_ended_(weir_ctx *ctx)
{
	weir_err why = weir_ctx_cancelled_(ctx);

	return !why && is_late(ctx) ? weir_ctx_end_with_(ctx, WEIR_ETIMEDOUT) :
				      why;
}

/*
 * Returns true if ctx is already the first or the last child of parent: its
 * init would corrupt the list.  Compares addresses only, because *ctx may be
 * uninitialised memory.  Requires: the tree is locked.
 */
static bool is_first_or_last(const weir_ctx *parent, const weir_ctx *ctx)
{
	const struct weir_ring_ *first = parent->children_;

	return first && (first == &ctx->sibling_ ||
			 first->prev_ == &ctx->sibling_);
}

/*
 * Returns true if the neighbours of ctx in the list of children refer to it.
 * They do not if ctx, or one of them, was initialised again while it was in the
 * list.  Requires: the tree is locked.
 */
static bool is_linked(const weir_ctx *ctx)
{
	const struct weir_ring_ *link = &ctx->sibling_;

	return link->next_ && link->prev_ && link->next_->prev_ == link &&
	       link->prev_->next_ == link;
}

weir_err weir_ctx_init(weir_ctx *ctx, weir_ctx *parent, int64_t deadline_ns)
{
	weir_ctx fresh = WEIR_CTX_INIT;
	uint32_t *lock;
	weir_err err;
	bool live;

	if (weir_ctx_is_misplaced_(ctx) || ctx == parent)
		return WEIR_EINVAL;
	if (deadline_ns != WEIR_FOREVER)
		fresh.deadline_ = deadline_ns > 0 ? deadline_ns : 1;
	if (!parent) {
		*ctx = fresh;
		return WEIR_OK;
	}
	err = weir_ctx_check_(parent, "weir_ctx_init");
	if (err)
		return err;
	fresh.parent_ = parent;
	fresh.root_ = parent->root_ ? parent->root_ : parent;
	if (parent->deadline_ &&
	    (!fresh.deadline_ || parent->deadline_ < fresh.deadline_))
		fresh.deadline_ = parent->deadline_;
	lock = weir_ctx_lock_of_(parent);
	weir_lock_(lock);
	live = is_first_or_last(parent, ctx);
	if (!live) {
		fresh.ended_ = (int32_t)weir_ctx_cancelled_(parent);
		fresh.cause_ = parent->cause_;
		*ctx = fresh;
		ring_append(&parent->children_, &ctx->sibling_);
	}
	weir_unlock_(lock);
	if (live)
		return weir_panic_("weir_ctx_init: context %p is in use: it is "
				   "a child of %p", ctx, parent);
	return WEIR_OK;
}

/*
 * Returns true if ctx has children or waiters.  Marks do not count as waiters:
 * each cancel removes its mark before it returns.
 */
static bool is_in_use(const weir_ctx *ctx)
{
	RING_EACH(link, next, end, ctx->waiters_)
		if (weir_ctx_waiter_of_(link)->wants != WEIR_WANTS_NOTHING_)
			return true;
	return ctx->children_;
}

weir_err weir_ctx_destroy(weir_ctx *ctx)
{
	struct weir_backoff_ backoff = { 0 };
	weir_err err = weir_ctx_check_(ctx, "weir_ctx_destroy");
	uint32_t *lock;
	int fd;

	if (err)
		return err;
	lock = weir_ctx_lock_of_(ctx);
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
	if (ctx->parent_ && !is_linked(ctx)) {
		weir_unlock_(lock);
		return weir_panic_("weir_ctx_destroy: context %p, or a "
				   "sibling, was initialised twice", ctx);
	}
	if (ctx->parent_)
		ring_remove(&ctx->parent_->children_, &ctx->sibling_);
	fd = ctx->fd_ - 1;
	ctx->fd_ = 0;
	/* relaxed: misuse, as in weir_ctx_check_. */
	at_store_relaxed(&ctx->state_, DESTROYED);
	weir_unlock_(lock);
	if (fd >= 0)
		weir_timer_close_(fd);
	return WEIR_OK;
}

weir_err weir_ctx_err(weir_ctx *ctx)
{
	weir_err err = weir_ctx_check_(ctx, "weir_ctx_err");

	return err ? err : weir_ctx_ended_(ctx);
}

/*
 * The cause is written before ended_, by the thread that ends the context, and
 * not changed after that.  If the deadline was noticed in between, the cause has
 * no meaning.
 */
const void *weir_ctx_cause(const weir_ctx *ctx)
{
	if (weir_ctx_is_misplaced_(ctx)) {
		weir_panic_("weir_ctx_cause: %p is not a context", ctx);
		return NULL;
	}
	if (weir_ctx_check_(ctx, "weir_ctx_cause") ||
	    weir_ctx_cancelled_(ctx) != WEIR_ECANCELED)
		return NULL;
	return ctx->cause_;
}

int64_t weir_ctx_deadline(const weir_ctx *ctx)
{
	if (weir_ctx_is_misplaced_(ctx)) {
		weir_panic_("weir_ctx_deadline: %p is not a context", ctx);
		return WEIR_FOREVER;
	}
	(void)weir_ctx_check_(ctx, "weir_ctx_deadline");
	return ctx->deadline_ ? ctx->deadline_ : WEIR_FOREVER;
}

weir_err weir_ctx_fd(weir_ctx *ctx, int *fd)
{
	weir_err err = fd ? weir_ctx_check_(ctx, "weir_ctx_fd") : WEIR_EINVAL;
	uint32_t *lock;
	int made = 0;

	if (err)
		return err;
	lock = weir_ctx_lock_of_(ctx);
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

void weir_ctx_end(weir_ctx *ctx)
{
	weir_err err;

	weir_ctx_cancel(ctx);
	err = weir_ctx_destroy(ctx);
	if (err == WEIR_EBUSY)
		weir_panic_("weir_ctx_end: context %p has children, or calls "
			    "wait with it", ctx);
}
