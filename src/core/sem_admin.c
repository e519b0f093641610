/* SPDX-License-Identifier: MIT */
/* Rare calls on a semaphore: init, destroy and close. */
#include "base/atomic.h"
#include "base/hook.h"
#include "base/panic.h"
#include "core/sem_grant.h"
#include "core/sem_lock.h"
#include "core/sem_queue.h"
#include "core/sem_watched.h"
#include "core/sem_word.h"
#include "record/record.h"
#include "weir/sem.h"

static bool opts_ok(const weir_sem_opts *o)
{
	const uint32_t known = WEIR_SEM_UNBOUNDED | WEIR_SEM_INTERRUPTIBLE |
			       WEIR_SEM_TRACKED | WEIR_SEM_UNWATCHED;

	if (!weir_count_ok_(o->permits) || !weir_count_ok_(o->capacity) ||
	    o->flags & ~known || o->barge_us > WEIR_BARGE_US_MAX)
		return false;
	if (o->policy != WEIR_FIFO && o->policy != WEIR_BARGING)
		return false;
	if (o->reserved_[0] || o->reserved_[1] || o->reserved_[2])
		return false;
	return o->flags & WEIR_SEM_UNBOUNDED || !o->capacity ||
	       o->capacity >= o->permits;
}

/*
 * Add *sem to the registry if WEIR_DIAG allows it.  `asked`: add it even if it
 * has no name.  Returns its name in the registry; null: it is not watched.
 * Requires: *sem is locked, or no other thread can reach it yet.
 */
static const char *add(weir_sem *sem, const weir_sem *second,
		       enum rg_type type, bool asked, uint64_t site)
{
	struct weir_watched_ what = {
		.address = sem,
		.inner = { second },
		.type = type,
		.name = sem->name_,
		.capacity = sem->capacity_,
		.site = site,
	};

	if (sem->state_ & WEIR_STATE_BARGING_)
		what.flags |= RG_BARGING;
	/*
	 * A release that comes later is recorded, if it finds the new name.  A
	 * release that has read the old name of a static semaphore, and adds
	 * its permits to the LOCKED word after this load, is neither counted
	 * here nor recorded: its permits stay listed as held by an unknown
	 * holder.  This can happen only if permits are out before the first
	 * acquire.
	 */
	if (sem->state_ & WEIR_STATE_UNBOUNDED_)
		what.flags |= RG_UNBOUNDED;
	else
		/* relaxed: only the value matters. */
		what.out = sem->capacity_ -
			   weir_value_(at_load_relaxed(&sem->word_));
	return weir_record_add_(&what, asked);
}

/*
 * Watch *sem, which no other thread can reach yet.  Waits on *second (may be null)
 * are recorded as waits on *sem.
 */
static void watch(weir_sem *sem, weir_sem *second, enum rg_type type,
		  bool asked, uint64_t site)
{
	const char *name = add(sem, second, type, asked, site);

	/* In a build without the recorder, the name is always null. */
	// cppcheck-suppress knownConditionTrueFalse
	if (!name)
		return;
	sem->name_ = name;
	if (second)
		second->name_ = name;
	sem->state_ |= WEIR_STATE_TRACKED_;
	sem->word_ |= WEIR_SHUT_;
}

void weir_sem_watch_(weir_sem *sem, enum rg_type type)
{
	watch(sem, NULL, type, false, 0);
}

void weir_sem_watch_both_(weir_sem *sem, weir_sem *second, enum rg_type type)
{
	watch(sem, second, type, false, 0);
}

uint32_t weir_sem_watch_inner_(const struct weir_watched_ *what,
			       weir_sem *first, weir_sem *second)
{
	const char *name = weir_record_add_(what, false);

	/* In a build without the recorder, the name is always null. */
	// cppcheck-suppress knownConditionTrueFalse
	if (!name)
		return 0;
	first->name_ = name;
	if (second)
		second->name_ = name;
	return weir_record_number_(name);
}

void weir_sem_register_(weir_sem *sem, uint64_t site)
{
	uint32_t state;

	/*
	 * If this lock fails, then the lock of the caller fails, too, and
	 * panics.
	 */
	if (weir_sem_lock_no_panic_(sem))
		return;
	state = weir_state_(sem);
	if (weir_state_is_fresh_(state)) {
		const char *name = add(sem, NULL, RG_SEM, true, site);

		/* relaxed: a release that reads the old name records nothing. */
		// cppcheck-suppress knownConditionTrueFalse
		if (name)
			at_store_relaxed(&sem->name_, name);
		else
			state &= ~WEIR_STATE_TRACKED_;
		/* [S3] release.  A call that sees the state sees the name. */
		at_store_release(&sem->state_, state & ~WEIR_STATE_DRAIN_);
	}
	weir_sem_unlock_(sem, 0);
}

static weir_err init(weir_sem *sem, const weir_sem_opts *opts, uint64_t site)
{
	bool tracked = opts && opts->flags & WEIR_SEM_TRACKED;
	uint64_t word;
	int64_t capacity;
	uint32_t state = 0;

	if (weir_sem_is_misplaced_(sem) || !opts || !opts_ok(opts))
		return WEIR_EINVAL;
	word = weir_units_(opts->permits);
	capacity = opts->capacity ? opts->capacity : opts->permits;
	if (opts->flags & WEIR_SEM_UNBOUNDED) {
		state |= WEIR_STATE_UNBOUNDED_;
		capacity = WEIR_SEM_MAX;
	}
	if (opts->flags & WEIR_SEM_INTERRUPTIBLE)
		state |= WEIR_STATE_INTERRUPTIBLE_;
	if (opts->policy == WEIR_BARGING) {
		uint32_t bound = opts->barge_us ? opts->barge_us :
						  WEIR_BARGE_US;

		state |= WEIR_STATE_BARGING_ | bound << WEIR_STATE_BOUND_SHIFT_;
	}
	*sem = (weir_sem){
		.word_ = word,
		.capacity_ = capacity,
		.name_ = opts->name,
		.state_ = state,
		.max_waiters_ = opts->max_waiters,
	};
	if (tracked) {
		sem->state_ |= WEIR_STATE_TRACKED_;
		sem->word_ |= WEIR_SHUT_;
	}
	if (!(opts->flags & WEIR_SEM_UNWATCHED))
		watch(sem, NULL, RG_SEM, tracked, site);
	return WEIR_OK;
}

weir_err weir_sem_init_opts(weir_sem *sem, const weir_sem_opts *opts)
{
	return init(sem, opts, (uintptr_t)__builtin_return_address(0));
}

weir_err weir_sem_init(weir_sem *sem, int64_t permits)
{
	weir_sem_opts opts = { .permits = permits };

	return init(sem, &opts, (uintptr_t)__builtin_return_address(0));
}

weir_err weir_sem_destroy(weir_sem *sem)
{
	uint64_t object;
	weir_err err;

	if (weir_sem_is_misplaced_(sem))
		return WEIR_EINVAL;
	err = weir_sem_lock_(sem, "weir_sem_destroy");
	if (err)
		return err;
	object = weir_record_of_(sem);
	/*
	 * [S5] acquire.  granted_ does not count the caller's own permits: its
	 * acquire has returned.
	 */
	if (sem->queue_ || sem->oversized_ || at_load_acquire(&sem->granted_))
		err = WEIR_EBUSY;
	else
		/* [S3] release.  A later call sees the flag and panics. */
		at_store_release(&sem->state_,
				 sem->state_ | WEIR_STATE_DESTROYED_);
	weir_sem_unlock_(sem, 0);
	if (err)
		/* The waiters are still there, and so is *sem. */
		weir_record_misused_(object, RG_BUSY_DESTROY);
	else
		weir_record_remove_(object);
	return err;
}

/*
 * C19: refuse the waiters of the oversized list that want permits; waiters for
 * idle stay.  The queue is refused by the next unlock, and by every later one.
 */
static void refuse_oversized(weir_sem *sem, struct weir_to_notify_ *to_notify)
{
	RING_EACH(link, next, end, sem->oversized_) {
		struct weir_waiter_ *w = weir_waiter_of_(link);

		if (w->wants == WEIR_WANTS_PERMITS_)
			weir_sem_evict_(sem, w, WEIR_ECLOSED, to_notify);
	}
}

/*
 * C6, C19: permits that were released before the close belong to the queued
 * waiters.  A release that found the door LOCKED has added its permits and left
 * the grant to this thread.  So grant them now.  A drain close also grants to
 * waiters behind a waiter that does not fit.  Returns the number of permits
 * granted.
 */
static int64_t grant_what_fits(weir_sem *sem, bool drains,
			       struct weir_to_notify_ *to_notify)
{
	/*
	 * Read the value once.  A permit that is released later is released
	 * after the close, and must not go to a waiter behind one that was
	 * refused.
	 * [S3] release: the read is an RMW, so a release after it is in its
	 * release sequence.  The releasing thread sees CLOSED if it then reads
	 * the word with acquire: weir_sem_is_closed, try_acquire.
	 */
	int64_t value = weir_value_(at_add_acq_rel(&sem->word_, 0));
	int64_t taken = 0, now_ns = 0;

	RING_EACH(link, next, end, sem->queue_) {
		struct weir_waiter_ *w = weir_waiter_of_(link);
		int64_t open = value - taken;

		if (weir_sem_evict_cancelled_(sem, w, to_notify))
			continue;
		if (open >= w->min &&
		    (drains || !weir_sem_may_retry_(sem, w, &now_ns)))
			taken += weir_sem_grant_(sem, w, open, to_notify);
		else if (!drains)
			break;
	}
	return taken;
}

void weir_sem_close(weir_sem *sem, weir_close how)
{
	static const char call[] = "weir_sem_close";
	struct weir_to_notify_ to_notify = { .first = NULL };
	uint32_t state;
	int64_t taken;

	if (weir_sem_is_misplaced_(sem)) {
		weir_panic_("%s: %p is not a semaphore", call, sem);
		return;
	}
	if (how != WEIR_CLOSE_NOW && how != WEIR_CLOSE_DRAIN) {
		weir_panic_("%s: semaphore %o: invalid close mode %d", call,
			    weir_sem_name_(sem), sem, (int64_t)how);
		return;
	}
	if (weir_sem_lock_(sem, call))
		return;
	state = weir_state_(sem);
	if (how == WEIR_CLOSE_NOW)
		state = (state & ~WEIR_STATE_DRAIN_) | WEIR_STATE_CLOSED_;
	else if (!(state & WEIR_STATE_CLOSED_))
		state |= WEIR_STATE_CLOSED_ | WEIR_STATE_DRAIN_;
	/* [S3] release */
	at_store_release(&sem->state_, state);
	weir_record_closed_(weir_record_of_(sem));
	taken = grant_what_fits(sem, state & WEIR_STATE_DRAIN_, &to_notify);
	refuse_oversized(sem, &to_notify);
	(void)weir_sem_grant_and_unlock_(sem, taken, &to_notify);
	weir_notify_all_(&to_notify);
	weir_hook_emit_(WEIR_EVENT_CLOSED_, sem, NULL, 0, WEIR_OK);
}

bool weir_sem_is_closed(const weir_sem *sem)
{
	if (weir_sem_is_misplaced_(sem)) {
		weir_panic_("weir_sem_is_closed: %p is not a semaphore", sem);
		return true;
	}
	/*
	 * [S3] acquire.  The caller may have released after the RMW of a close,
	 * in its release sequence.  Then the waiters may have been
	 * refused, and the caller must see CLOSED.
	 */
	(void)at_load_acquire(&sem->word_);
	return weir_state_(sem) & WEIR_STATE_CLOSED_;
}
