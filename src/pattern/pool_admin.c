/* SPDX-License-Identifier: MIT */
/* The pool: init, destroy, trim, close and statistics. */
#include "weir/pool.h"

#include "base/hook.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/panic.h"
#include "base/ring.h"
#include "core/notify.h"
#include "core/sem_watched.h"
#include "pattern/pool.h"
#include "pattern/unused.h"

weir_err weir_pool_unready_(weir_pool *pool, const char *call,
			    enum weir_refusal_ refusal)
{
	struct weir_object_ o = { .kind = "pool", .object = pool };

	if (!weir_is_misaligned_(pool)) {
		o.name = pool->opts_.name;
		o.ready = &pool->ready_;
		o.lock = &pool->lock_;
		o.sems[0] = &pool->permits_;
	}
	return weir_unready_(&o, call, refusal);
}

static bool opts_ok(const weir_pool_opts *o)
{
	return o && o->max >= 1 && o->max <= WEIR_POOL_MAX && o->create &&
	       o->destroy && o->idle_ns >= 0 && o->lifetime_ns >= 0 &&
	       !o->flags && !o->reserved_[0] && !o->reserved_[1] &&
	       !o->reserved_[2] && !o->reserved_[3];
}

weir_err weir_pool_init(weir_pool *pool, void *memory,
			const weir_pool_opts *opts)
{
	weir_sem_opts permits;
	bool owned = !memory;

	if (!pool || (uintptr_t)pool % sizeof(uint64_t) ||
	    (uintptr_t)memory % sizeof(uint64_t) || !opts_ok(opts))
		return WEIR_EINVAL;
	if (owned)
		memory = weir_mem_alloc_(WEIR_POOL_BYTES(opts->max));
	if (!memory)
		return WEIR_ENOMEM;
	*pool = (weir_pool){
		.opts_ = *opts,
		.items_ = memory,
		.owned_ = owned,
		.ready_ = weir_generation_,
	};
	permits = (weir_sem_opts){
		.permits = opts->max,
		.name = opts->name,
		.max_waiters = opts->max_waiters,
		.flags = WEIR_SEM_UNWATCHED,
	};
	(void)!weir_sem_init_opts(&pool->permits_, &permits);
	weir_sem_watch_(&pool->permits_, RG_POOL);
	for (int64_t i = 0; i < opts->max; i++) {
		pool->items_[i] = (weir_pool_item){
			.state_ = WEIR_ITEM_EMPTY_ };
		ring_append(&pool->empty_, &pool->items_[i].place_);
	}
	return WEIR_OK;
}

/*
 * Take out the item that has been idle longest, and set it to BUSY.  Returns
 * null if no item is idle.  With `expired`, take out an expired item and
 * acquire a permit for it, in one step.  A permit acquired before an item has
 * been found could make a concurrent try_borrow fail although an item is
 * available (C5).
 */
static weir_pool_item *take_idle(weir_pool *pool, bool expired)
{
	int64_t now_ns = expired ? weir_now_ns() : 0;
	weir_pool_item *taken = NULL;
	/*
	 * try_acquire may notify operations, but no callback may run under
	 * lock_ (C27), and neither may the hook.
	 */
	bool outer = weir_callbacks_hold_();
	struct weir_held_event_ held;

	weir_hook_hold_(&held);
	weir_lock_(&pool->lock_);
	/* Items beyond their lifetime may be anywhere in the list. */
	RING_EACH(node, next, end, pool->idle_) {
		weir_pool_item *item =
			ring_entry(node, weir_pool_item, place_);

		if (expired && !weir_pool_is_expired_(pool, item, now_ns))
			continue;
		/*
		 * No permit is free: keep the items, because borrowers need
		 * them.
		 */
		if (expired && weir_sem_try_acquire(&pool->permits_, 1))
			break;
		ring_remove(&pool->idle_, node);
		item->state_ = WEIR_ITEM_BUSY_;
		taken = item;
		break;
	}
	weir_unlock_(&pool->lock_);
	weir_hook_deliver_(&held);
	weir_callbacks_resume_(outer);
	return taken;
}

int64_t weir_pool_trim(weir_pool *pool)
{
	weir_pool_item *item;
	int64_t n = 0;

	if (weir_pool_check_(pool, __func__, WEIR_BY_PANIC_))
		return 0;
	while ((item = take_idle(pool, true))) {
		weir_pool_end_(pool, item, true);
		weir_sem_release(&pool->permits_, 1);
		n++;
	}
	return n;
}

static void end_idle(weir_pool *pool)
{
	weir_pool_item *item;

	while ((item = take_idle(pool, false)))
		weir_pool_end_(pool, item, false);
}

void weir_pool_close(weir_pool *pool)
{
	if (weir_pool_check_(pool, __func__, WEIR_BY_PANIC_))
		return;
	weir_lock_(&pool->lock_);
	pool->closed_ = 1;
	weir_unlock_(&pool->lock_);
	weir_sem_close(&pool->permits_, WEIR_CLOSE_NOW);
	end_idle(pool);
}

weir_err weir_pool_wait_idle(weir_pool *pool, struct weir_ctx *ctx)
{
	if (weir_pool_check_(pool, __func__, WEIR_BY_ERROR_))
		return WEIR_EINVAL;
	return weir_sem_wait_idle(&pool->permits_, ctx);
}

weir_err weir_pool_destroy(weir_pool *pool)
{
	weir_pool_info info;
	weir_err err = weir_pool_check_(pool, __func__, WEIR_BY_ERROR_);

	if (!err)
		err = weir_pool_stat(pool, &info);
	if (err)
		return err;
	err = info.lent ? WEIR_EBUSY : weir_sem_check_unused_(&pool->permits_);
	if (err)
		return err;
	/* Close the pool first: destroy callbacks may call the pool. */
	weir_pool_close(pool);
	err = weir_sem_destroy(&pool->permits_);
	if (err)
		return err;
	if (pool->owned_)
		weir_mem_free_(pool->items_);
	pool->ready_ = WEIR_DESTROYED_;
	return WEIR_OK;
}

weir_err weir_pool_loans(weir_pool *pool, weir_pool_loan *loans, size_t max,
			 size_t *n)
{
	if (weir_pool_check_(pool, __func__, WEIR_BY_ERROR_) ||
	    (!loans && max) || !n)
		return WEIR_EINVAL;
	*n = 0;
	weir_lock_(&pool->lock_);
	for (int64_t i = 0; i < pool->opts_.max; i++) {
		const weir_pool_item *item = &pool->items_[i];

		if (item->state_ != WEIR_ITEM_LENT_)
			continue;
		if (*n < max)
			loans[*n] = (weir_pool_loan){
				.resource = item->resource,
				.who = item->who_,
				.thread = item->thread_,
				.since_ns = item->since_ns_,
			};
		++*n;
	}
	weir_unlock_(&pool->lock_);
	return WEIR_OK;
}

weir_err weir_pool_stat(weir_pool *pool, weir_pool_info *info)
{
	int64_t now_ns, oldest = WEIR_FOREVER, idle = 0;
	weir_sem_info permits;
	weir_err err;

	if (weir_pool_check_(pool, __func__, WEIR_BY_ERROR_) || !info)
		return WEIR_EINVAL;
	err = weir_sem_stat(&pool->permits_, &permits);
	if (err)
		return err;
	now_ns = weir_now_ns();
	weir_lock_(&pool->lock_);
	for (int64_t i = 0; i < pool->opts_.max; i++) {
		const weir_pool_item *item = &pool->items_[i];

		idle += item->state_ == WEIR_ITEM_IDLE_;
		if (item->state_ == WEIR_ITEM_LENT_ && item->since_ns_ < oldest)
			oldest = item->since_ns_;
	}
	*info = (weir_pool_info){
		.name = pool->opts_.name,
		.max = pool->opts_.max,
		.idle = idle,
		.lent = pool->lent_,
		.created = pool->created_,
		.destroyed = pool->destroyed_,
		.failed = pool->failed_,
		.oldest_loan_ns = oldest < now_ns ? now_ns - oldest : 0,
		.waiters = permits.waiters,
		.closed = pool->closed_,
	};
	weir_unlock_(&pool->lock_);
	return WEIR_OK;
}
