/* SPDX-License-Identifier: MIT */
/*
 * The pool of weir/pool.h.
 *
 * permits_ is a semaphore with one permit for each item; lock_, held briefly,
 * protects the items.  The state of an item is
 *
 *     EMPTY  in the list of items without a resource
 *     IDLE   in the list of items that can be lent
 *     BUSY   in no list: a callback creates, validates or destroys its resource
 *     LENT   in no list
 *
 * A thread that takes an item out of a list holds a permit, and releases the
 * permit only after the item is in a list again.  There are therefore never
 * more items outside the lists than permits taken, and a thread with a permit
 * finds an item, IDLE or EMPTY.  (A close takes IDLE items out without permits;
 * but after a close no thread searches for an item.)
 *
 * A watched pool stores the record of the permit in the item while it is LENT.
 * If another thread gives the item back, it takes that record over first, as a
 * thread does that uses a permit object of another one (record/record.h).  So the
 * loan that ends is the one that is not shown any more.
 *
 * Callbacks run while an item is BUSY, without the lock.  pool_user.c calls
 * them, and puts the item back if a callback does not return.
 */
#include "weir/pool.h"

#include <pthread.h>

#include "base/frame.h"
#include "base/lock.h"
#include "base/panic.h"
#include "base/ring.h"
#include "pattern/pool.h"
#include "core/site.h"
#include "weir/ctx.h"

/*
 * The item to lend next.  The IDLE item that was used last is lent first: its
 * resource is the most likely to be usable.  The EMPTY item that was used last
 * is lent last: a borrower that discards its item twice is detected while the
 * item is EMPTY, but not after it has been lent again.
 */
static weir_pool_item *next_item(const weir_pool *pool)
{
	return pool->idle_ ?
		       ring_entry(pool->idle_->prev_, weir_pool_item, place_) :
		       ring_entry(pool->empty_, weir_pool_item, place_);
}

/* Requires: lock_ is held. */
static bool is_too_old(const weir_pool *pool, const weir_pool_item *item,
		       int64_t now_ns)
{
	int64_t lifetime = pool->opts_.lifetime_ns;

	return lifetime && now_ns - item->made_ns_ >= lifetime;
}

bool weir_pool_is_expired_(const weir_pool *pool, const weir_pool_item *item,
			   int64_t now_ns)
{
	int64_t idle = pool->opts_.idle_ns;

	return is_too_old(pool, item, now_ns) ||
	       (idle && now_ns - item->since_ns_ >= idle);
}

/* The borrower of an item. */
struct loan {
	const char *who;
	uint32_t slot;		/* of the permit: see the head; 0: none */
};

/* Requires: lock_ is held. */
static void set_lent(weir_pool *pool, weir_pool_item *item,
		     const struct loan *loan, int64_t now_ns)
{
	item->state_ = WEIR_ITEM_LENT_;
	item->filled_ = loan->slot;
	item->who_ = loan->who;
	item->thread_ = (uint64_t)(uintptr_t)pthread_self();
	item->since_ns_ = now_ns;
	pool->lent_++;
}

/*
 * Take an item out of its list: an IDLE item if one exists, otherwise an EMPTY
 * item.  Returns null if the pool is closed.  The item is BUSY, or LENT at once
 * if no callback has to run for it.  Requires: the caller holds a permit.
 */
static weir_pool_item *take_out(weir_pool *pool, const struct loan *loan,
				int64_t now_ns, bool *expired, bool *lent)
{
	weir_pool_item *item = NULL;

	*expired = *lent = false;
	weir_lock_(&pool->lock_);
	if (!pool->closed_) {
		struct weir_ring_ **list = pool->idle_ ? &pool->idle_ :
							 &pool->empty_;

		item = next_item(pool);
		ring_remove(list, &item->place_);
		if (item->state_ == WEIR_ITEM_IDLE_)
			*expired = weir_pool_is_expired_(pool, item, now_ns);
		else
			item->resource = NULL;
		item->filled_ = item->state_ == WEIR_ITEM_IDLE_;
		item->state_ = WEIR_ITEM_BUSY_;
		*lent = item->filled_ && !*expired && !pool->opts_.validate;
		if (*lent)
			set_lent(pool, item, loan, now_ns);
	}
	weir_unlock_(&pool->lock_);
	return item;
}

static void lend(weir_pool *pool, weir_pool_item *item,
		 const struct loan *loan, int64_t now_ns)
{
	weir_lock_(&pool->lock_);
	set_lent(pool, item, loan, now_ns);
	weir_unlock_(&pool->lock_);
}

/*
 * Prepare the resource of a BUSY item.  If its resource is not usable, then it is
 * destroyed and *again is true.
 */
static weir_err prepare(weir_pool *pool, weir_pool_item *item, bool expired,
			struct weir_ctx *ctx, bool *again)
{
	if (!item->filled_)
		return weir_pool_create_(pool, item, ctx);
	*again = expired || !weir_pool_validate_(pool, item);
	if (*again)
		weir_pool_end_(pool, item, true);
	return WEIR_OK;
}

weir_err weir_pool_lend_(weir_pool *pool, const char *who, struct weir_ctx *ctx,
			 weir_pool_item **item)
{
	struct loan loan = { who, weir_pool_slot_(pool) };
	weir_err err = WEIR_OK;

	for (;;) {
		bool expired, lent, again = false;
		weir_pool_item *found = take_out(pool, &loan, weir_now_ns(),
						 &expired, &lent);

		if (!found) {
			err = WEIR_ECLOSED;
			break;
		}
		if (!lent)
			err = prepare(pool, found, expired, ctx, &again);
		if (err)
			break;
		if (again)
			continue;
		if (!lent)
			lend(pool, found, &loan, weir_now_ns());
		/* C13: a cancel that has returned wins over the resource. */
		if (ctx)
			err = weir_ctx_err(ctx);
		if (err) {
			weir_pool_give_back(pool, found);
			return err;
		}
		*item = found;
		return WEIR_OK;
	}
	weir_sem_release(&pool->permits_, 1);
	return err;
}

weir_err weir_pool_borrow(weir_pool *pool, const char *who,
			  struct weir_ctx *ctx, weir_pool_item **item)
{
	bool watched;
	weir_err err;

	if (weir_pool_check_(pool, __func__, WEIR_BY_ERROR_) || !item ||
	    weir_frame_check_("weir_pool_borrow"))
		return WEIR_EINVAL;
	watched = weir_site_begin_(&pool->permits_, WEIR_SITE_);
	err = weir_sem_acquire(&pool->permits_, 1, ctx);
	weir_site_end_(watched);
	return err ? err : weir_pool_lend_(pool, who, ctx, item);
}

weir_err weir_pool_borrow_until(weir_pool *pool, const char *who,
				int64_t deadline_ns, weir_pool_item **item)
{
	bool watched;
	weir_err err;

	if (weir_pool_check_(pool, __func__, WEIR_BY_ERROR_) || !item ||
	    weir_frame_check_("weir_pool_borrow_until"))
		return WEIR_EINVAL;
	watched = weir_site_begin_(&pool->permits_, WEIR_SITE_);
	err = weir_sem_acquire_until(&pool->permits_, 1, deadline_ns);
	weir_site_end_(watched);
	return err ? err : weir_pool_lend_(pool, who, NULL, item);
}

weir_err weir_pool_try_borrow(weir_pool *pool, const char *who,
			      weir_pool_item **item)
{
	bool watched;
	weir_err err;

	if (weir_pool_check_(pool, __func__, WEIR_BY_ERROR_) || !item ||
	    weir_frame_check_("weir_pool_try_borrow"))
		return WEIR_EINVAL;
	watched = weir_site_begin_(&pool->permits_, WEIR_SITE_);
	err = weir_sem_try_acquire(&pool->permits_, 1);
	weir_site_end_(watched);
	return err ? err : weir_pool_lend_(pool, who, NULL, item);
}

/*
 * Giving back.
 */
static void return_item(weir_pool *pool, weir_pool_item *item, bool broken,
			const char *call)
{
	bool known, lent, ends = false;
	uint32_t slot = 0;
	int64_t now_ns;

	if (weir_pool_check_(pool, call, WEIR_BY_PANIC_))
		return;
	now_ns = weir_now_ns();
	/*
	 * An item of another pool is recognised by its address; its memory is
	 * not read.
	 */
	known = item >= pool->items_ &&
		item < pool->items_ + pool->opts_.max;
	weir_lock_(&pool->lock_);
	lent = known && item->state_ == WEIR_ITEM_LENT_;
	if (lent) {
		pool->lent_--;
		slot = item->filled_;
		ends = broken || pool->closed_ ||
		       is_too_old(pool, item, now_ns);
		item->since_ns_ = now_ns;
		item->state_ = ends ? WEIR_ITEM_BUSY_ : WEIR_ITEM_IDLE_;
		if (!ends)
			ring_append(&pool->idle_, &item->place_);
	}
	weir_unlock_(&pool->lock_);
	if (!lent) {
		weir_panic_("%s: item %p is not lent by pool %o", call, item,
			    pool->opts_.name, pool);
		return;
	}
	/* Another thread may have borrowed it. */
	if (slot)
		(void)weir_record_take_over_(weir_record_of_(&pool->permits_),
					     slot, 1);
	if (ends)
		weir_pool_end_(pool, item, true);
	weir_sem_release(&pool->permits_, 1);
}

void weir_pool_give_back(weir_pool *pool, weir_pool_item *item)
{
	return_item(pool, item, false, "weir_pool_give_back");
}

void weir_pool_discard(weir_pool *pool, weir_pool_item *item)
{
	return_item(pool, item, true, "weir_pool_discard");
}
