/* SPDX-License-Identifier: MIT */
/*
 * weir_acquire_all without a blocked thread: one operation acquires the
 * semaphores one after the other.  See docs/design/async.md.
 *
 *   FREE     not submitted                    -> GOING by submit
 *   GOING    queued, or proceeding to the     -> FREE before callback, or by
 *            next semaphore                      a cancel that finds it queued
 *                                             -> STOP by another cancel
 *   STOP     cancelled while proceeding       -> STOPPED by op_done, or FREE if
 *                                                op_done had finished already
 *   STOPPED  all permits are released         -> FREE by the cancel
 *
 * lock_ serialises op_done and cancel.
 *
 * Pairs
 *
 *   [A5] over  release: set   acquire: stop, weir_all_cancel
 *              A cancel sees that op_done has finished with *all.
 */
#include "async/all.h"
#include "async/run.h"
#include "base/atomic.h"
#include "base/cpu.h"
#include "base/lock.h"
#include "base/panic.h"
#include "core/sem_watched.h"
#include "record/record.h"

enum { FREE, GOING, STOP, STOPPED };

static void set(weir_all *all, uint32_t state)
{
	/* [A5] release */
	at_store_release(&all->state_, state);
}

static void release_held(const weir_all *all, bool got_last)
{
	uintptr_t end = (uintptr_t)all->acquiring_ + got_last;

	weir_reqs_release_below_(all->reqs_, all->k_, (void *)end);
}

/*
 * Acquire the semaphores above acquiring_.  The permits of acquiring_, and of
 * the semaphores below it, are held.  Once the operation is queued, *all may be
 * finished and freed.
 */
static weir_err acquire_rest(weir_all *all)
{
	for (;;) {
		int64_t n;
		weir_sem *next = weir_reqs_above_(all->reqs_, all->k_,
						  all->acquiring_, &n);
		weir_err err;

		if (!next)
			return WEIR_OK;
		/*
		 * The callback may run on any thread, and releases what this
		 * thread has acquired.
		 */
		if (all->acquiring_)
			weir_record_moved_(weir_record_of_(all->acquiring_));
		all->acquiring_ = next;
		err = weir_op_submit(&all->op_, next, n, all->ctx_);
		if (err == WEIR_EQUEUED)
			return err;
		if (err) {
			release_held(all, false);
			return err;
		}
	}
}

/*
 * The callback of the operation.  The operation has acquired acquiring_, or
 * failed.
 */
static void op_done(weir_op *op, weir_err err, void *user)
{
	weir_all *all = user;
	weir_all_fn *fn = all->fn_;
	void *arg = all->user_;
	bool stops;

	(void)op;
	weir_lock_(&all->lock_);
	/* relaxed: STOP is set under the lock. */
	stops = at_load_relaxed(&all->state_) == STOP;
	if (stops || err)
		release_held(all, !err);
	else
		err = acquire_rest(all);
	weir_unlock_(&all->lock_);
	if (stops) {
		set(all, STOPPED);
	} else if (err != WEIR_EQUEUED) {
		/*
		 * This is the last access to *all: the callback may reuse it.
		 */
		set(all, FREE);
		fn(all, err, arg);
	}
}

static bool is_misplaced(const weir_all *all)
{
	return !all || (uintptr_t)all % _Alignof(weir_all);
}

void weir_all_init(weir_all *all, struct weir_loop *loop, weir_all_fn *fn,
		   void *user)
{
	if (is_misplaced(all) || !fn) {
		weir_panic_("weir_all_init: operation %p: invalid pointer, or "
			    "no callback", all);
		return;
	}
	*all = (weir_all){ .fn_ = fn, .user_ = user };
	weir_op_init(&all->op_, loop, op_done, all);
}

weir_err weir_all_submit(weir_all *all, const weir_req *reqs, size_t k,
			 struct weir_ctx *ctx)
{
	bool watched;
	weir_err err;

	err = is_misplaced(all) ? WEIR_EINVAL : weir_reqs_check_(reqs, k, ctx);
	if (err)
		return err;
	/* relaxed: a concurrent call is a misuse, detected by chance. */
	if (at_load_relaxed(&all->state_) != FREE)
		return weir_panic_("weir_all_submit: operation %p is already "
				   "submitted", all);
	all->reqs_ = reqs;
	all->k_ = k;
	all->ctx_ = ctx;
	all->acquiring_ = NULL;
	set(all, GOING);
	watched = weir_reqs_watched_(reqs, k);
	if (watched)
		weir_record_begin_(WEIR_SITE_);
	err = acquire_rest(all);
	if (watched)
		weir_record_end_();
	if (err != WEIR_EQUEUED)
		set(all, FREE);
	return err;
}

/*
 * Wait until op_done, which was running, has ended.  Returns false if it
 * finished the request instead of stopping it.
 */
static bool stop(weir_all *all)
{
	struct weir_backoff_ backoff = { 0 };
	uint32_t state;

	/* [A5] acquire */
	while ((state = at_load_acquire(&all->state_)) == STOP)
		weir_backoff_wait_(&backoff);
	if (state == STOPPED)
		set(all, FREE);
	return state == STOPPED;
}

weir_err weir_all_cancel(weir_all *all)
{
	weir_err err = WEIR_EBUSY;
	bool outer, going;

	if (is_misplaced(all))
		return WEIR_EINVAL;
	/* [A5] acquire */
	if (at_load_acquire(&all->state_) == FREE)
		return err;
	outer = weir_callbacks_hold_();
	weir_lock_(&all->lock_);
	/* relaxed: a first guess; stop() reads it again. */
	going = at_load_relaxed(&all->state_) == GOING;
	if (going) {
		err = weir_op_cancel(&all->op_);
		if (!err)
			release_held(all, false);
		/* This needs a CAS: op_done may set FREE without the lock. */
		for (uint32_t seen = GOING; err && seen == GOING;)
			/*
			 * relaxed: STOP only requests an end; it publishes
			 * nothing.
			 */
			if (at_cas_weak_relaxed(&all->state_, &seen, STOP))
				break;
	}
	weir_unlock_(&all->lock_);
	if (going && !err)
		set(all, FREE);
	else if (stop(all))
		err = WEIR_OK;
	weir_callbacks_resume_(outer);
	return err;
}
