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
 * lock_ serialises submit, op_done and cancel.
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
#include "core/site.h"
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
 * The registry: the permits of the semaphores below acquiring_ are recorded as
 * those of the thread that has acquired them (holder_).  While the operation waits,
 * its callback may run on any thread and release them, so the semaphores are marked
 * as lent: no verdict then relies on this thread.  If the callback runs on the same
 * thread, the record is exact again, and the marks end.  Otherwise they become
 * marks that remain.
 */
#define NO_HOLDER UINT64_MAX

static void lend(weir_all *all)
{
	weir_sem *sem = NULL;
	int64_t n;

	if (all->holder_ == NO_HOLDER)
		all->holder_ = weir_record_self_();
	while ((sem = weir_reqs_above_(all->reqs_, all->k_, sem, &n)) &&
	       sem != all->acquiring_) {
		uint64_t id = weir_record_of_(sem);

		if (all->holder_)
			weir_record_lend_(id);
		else
			weir_record_moved_(id);
	}
}

/*
 * Requires: the operation has been queued; its semaphores exist.  If it had acquired
 * nothing yet, then the thread that goes on is the holder.
 */
static void end_lend(weir_all *all)
{
	bool same = all->holder_ == weir_record_self_(), any = false;
	weir_sem *sem = NULL;
	int64_t n;

	while ((sem = weir_reqs_above_(all->reqs_, all->k_, sem, &n)) &&
	       sem != all->acquiring_) {
		uint64_t id = weir_record_of_(sem);

		any = true;
		if (!all->holder_)
			break;
		if (!same)
			weir_record_moved_(id);
		weir_record_end_lend_(id);
	}
	if (!any)
		all->holder_ = NO_HOLDER;
	else if (!same)
		all->holder_ = 0;
}

/*
 * Acquire the semaphores above acquiring_.  The permits of acquiring_, and of
 * the semaphores below it, are held.  Requires: lock_ is held, and the callbacks of
 * this thread are held back.  Once the operation is queued and the lock released,
 * *all may be finished and freed.
 */
static weir_err acquire_rest(weir_all *all)
{
	for (;;) {
		int64_t n;
		weir_sem *next = weir_reqs_above_(all->reqs_, all->k_,
						  all->acquiring_, &n);
		bool watched;
		weir_err err;

		if (!next)
			return WEIR_OK;
		all->acquiring_ = next;
		watched = weir_site_begin_(next, all->site_);
		err = weir_op_submit(&all->op_, next, n, all->ctx_);
		weir_site_end_(watched);
		/* The callback waits for the lock. */
		if (err == WEIR_EQUEUED)
			lend(all);
		else if (err)
			release_held(all, false);
		if (err)
			return err;
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
	end_lend(all);
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
	weir_err err;
	bool outer;

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
	all->site_ = WEIR_SITE_;
	all->holder_ = NO_HOLDER;
	outer = weir_callbacks_hold_();
	weir_lock_(&all->lock_);
	err = acquire_rest(all);
	weir_unlock_(&all->lock_);
	/* If it is queued, *all may not exist any more. */
	if (err != WEIR_EQUEUED)
		set(all, FREE);
	weir_callbacks_resume_(outer);
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
	uint32_t state;

	if (is_misplaced(all))
		return WEIR_EINVAL;
	/* [A5] acquire */
	state = at_load_acquire(&all->state_);
	if (state == FREE)
		return err;
	if (state > STOPPED)
		return weir_panic_("weir_all_cancel: operation %p was not "
				   "initialised", all);
	outer = weir_callbacks_hold_();
	weir_lock_(&all->lock_);
	/* relaxed: a first guess; stop() reads it again. */
	going = at_load_relaxed(&all->state_) == GOING;
	if (going) {
		err = weir_op_cancel(&all->op_);
		if (!err) {
			end_lend(all);
			release_held(all, false);
		}
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
