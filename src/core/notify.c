/* SPDX-License-Identifier: MIT */
/*
 * Deciding waiters, and notifying them: notify.h.  waiter.c describes the word
 * `state` of a waiter and has its pairs.
 */
#include "core/notify.h"

#include "base/atomic.h"
#include "base/futex.h"
#include "base/thread.h"

/* Set before the first operation is queued, always to the same function. */
static weir_notifier_fn_ *notifier;

void weir_waiter_set_notifier_(weir_notifier_fn_ *fn)
{
	/*
	 * relaxed: both; a thread that finds a queued operation has locked the
	 * semaphore after the submitting thread unlocked it.
	 */
	if (at_load_relaxed(&notifier) != fn)
		at_store_relaxed(&notifier, fn);
}

void weir_to_notify_add_(struct weir_to_notify_ *to_notify,
			 struct weir_waiter_ *w,
			 enum weir_wait_state_ notification)
{
	if (w->notify)
		return;
	w->notify = (uint8_t)notification;
	w->notify_next = NULL;
	if (to_notify->last)
		*to_notify->last = w;
	else
		to_notify->first = w;
	to_notify->last = &w->notify_next;
}

void weir_waiter_decide_(struct weir_waiter_ *w, weir_err outcome,
			 struct weir_to_notify_ *to_notify)
{
	w->outcome = (int8_t)outcome;
	w->place = WEIR_NOWHERE_;
	weir_to_notify_add_(to_notify, w, WEIR_NOTIFIED_FINAL_);
}

void weir_waiter_rouse_(struct weir_waiter_ *w,
			struct weir_to_notify_ *to_notify)
{
	uint32_t state = WEIR_SLEEPING_;

	/*
	 * relaxed: the CAS only announces the wake.  If it fails although w
	 * sleeps, then w is woken by its notification.
	 */
	if (w->roused || to_notify->roused ||
	    !at_cas_weak_relaxed(&w->state, &state, WEIR_ROUSED_))
		return;
	w->roused = true;
	to_notify->roused = &w->state;
}

void weir_wake_roused_(struct weir_to_notify_ *to_notify)
{
	if (to_notify->roused)
		weir_futex_wake_(to_notify->roused);
	to_notify->roused = NULL;
}

bool weir_waiter_claim_(struct weir_waiter_ *w)
{
	uint32_t undecided = 0;

	if (w->kind != WEIR_MEMBER_)
		return true;
	/*
	 * relaxed: the CAS only selects the granted member; the notification
	 * publishes the outcome.
	 */
	while (!at_cas_weak_relaxed(w->winner, &undecided, w->number))
		if (undecided)
			return false;
	return true;
}

bool weir_waiter_claim_end_(struct weir_waiter_ *w)
{
	uint32_t waits = WEIR_END_WAITS_;

	if (!w->kind)
		return w->place != WEIR_NOWHERE_;
	/*
	 * relaxed: the CAS only selects the thread that decides; the
	 * notification publishes the outcome.
	 */
	while (!at_cas_weak_relaxed(&w->end_claim, &waits, WEIR_END_CLAIMED_))
		if (waits != WEIR_END_WAITS_)
			return false;
	return true;
}

void weir_callbacks_run_(void)
{
	/* relaxed: as in notify_each. */
	weir_notifier_fn_ *fn = at_load_relaxed(&notifier);

	if (fn)
		(void)fn(NULL);
}

/* Notify every waiter.  Returns true if this thread has callbacks to run. */
static bool notify_each(struct weir_to_notify_ *to_notify)
{
	struct weir_waiter_ *w = to_notify->first;
	bool runs = false;

	while (w) {
		struct weir_waiter_ *next = w->notify_next;
		uint32_t *state = &w->state;

		if (w->kind == WEIR_MEMBER_)
			runs |= w->notified(w);
		else if (w->kind)
			/* relaxed: set before the operation was queued. */
			runs |= at_load_relaxed(&notifier)(w);
		/* [W1] release.  This is the last access to *w. */
		else if (at_swap_release(state, w->notify) == WEIR_SLEEPING_)
			weir_futex_wake_(state);
		w = next;
	}
	weir_wake_roused_(to_notify);
	return runs;
}

void weir_notify_all_(struct weir_to_notify_ *to_notify)
{
	if (notify_each(to_notify))
		weir_callbacks_run_();
}

void weir_notify_without_callbacks_(struct weir_to_notify_ *to_notify)
{
	(void)notify_each(to_notify);
	*to_notify = (struct weir_to_notify_){ .first = NULL };
}

bool weir_callbacks_hold_(void)
{
	struct weir_to_run_ *mine = weir_thread_to_run_();
	bool outer = mine->running;

	mine->running = true;
	return outer;
}

void weir_callbacks_resume_(bool outer)
{
	weir_thread_to_run_()->running = outer;
	weir_callbacks_run_();
}
