/* SPDX-License-Identifier: MIT */
/*
 * Parking a thread.  notify.c notifies it.
 *
 * The word `state` of a waiter
 *
 *   WAITING   set by the waiter: it runs.        -> SLEEPING by the waiter
 *   SLEEPING  set by the waiter: wake it.        -> NOTIFIED by the notifying
 *                                                   thread
 *   ROUSED    set under the guard by a thread    -> WAITING by the waiter, which
 *             that will wake the waiter ahead       then spins for a moment
 *             of its decision.
 *   NOTIFIED  set by the notifying thread, its   -> WAITING by the waiter, under
 *             last access to the waiter.            its guard, if it has to retry
 *
 * Every state but NOTIFIED may become NOTIFIED.  The notifying thread wakes the
 * waiter if it was SLEEPING.  It does not wake a ROUSED waiter: the thread that
 * set ROUSED wakes the waiter as soon as it has dropped the guard.  That wake
 * uses only the address of `state`, because the waiter may have returned.  If
 * another futex has this address by then, its sleeper wakes spuriously, which
 * every sleeper allows.
 *
 * Pairs
 *
 *   [W1] notify  release: notify_each   acquire: take_notification
 *                The notified waiter sees its outcome and, through the unlock of
 *                the notifying thread, everything that was done before the permits
 *                became free.
 */
#include "core/waiter.h"

#include "base/atomic.h"
#include "base/futex.h"
#include "base/spin.h"

bool weir_waiter_sleeps_again_(const struct weir_waiter_ *w)
{
	/* relaxed: the answer is used as a hint. */
	return at_load_relaxed(&w->state) == WEIR_SLEEPING_;
}

bool weir_waiter_is_notified_(const struct weir_waiter_ *w)
{
	/* relaxed: a hint; weir_waiter_park_ follows and synchronises. */
	return at_load_relaxed(&w->state) >= WEIR_NOTIFIED_RETRY_;
}

/* Returns true if w has been notified; *parked is the kind of notification. */
static bool take_notification(struct weir_waiter_ *w, enum weir_parked_ *parked)
{
	/* [W1] acquire */
	uint32_t state = at_load_acquire(&w->state);

	if (state < WEIR_NOTIFIED_RETRY_)
		return false;
	*parked = state == WEIR_NOTIFIED_FINAL_ ? WEIR_PARKED_FINAL_ :
						  WEIR_PARKED_RETRY_;
	return true;
}

static void announce_sleep(struct weir_waiter_ *w)
{
	uint32_t state = WEIR_WAITING_;

	/*
	 * relaxed: the CAS only announces the sleep.  It fails if the waiter
	 * has been notified or roused, or if an earlier park has set SLEEPING.
	 */
	while (!at_cas_weak_relaxed(&w->state, &state, WEIR_SLEEPING_) &&
	       state == WEIR_WAITING_)
		;
}

/*
 * If w has been roused, spin until it is notified, for a moment at most.
 * Returns false if it has not been roused.
 */
static bool spin_if_roused(struct weir_waiter_ *w)
{
	struct weir_spin_wait_ spin;
	uint32_t state = WEIR_ROUSED_;

	/* relaxed: take_notification follows and synchronises. */
	while (!at_cas_weak_relaxed(&w->state, &state, WEIR_WAITING_))
		if (state != WEIR_ROUSED_)
			return false;
	spin = weir_spin_wait_begin_(WEIR_SPIN_WAKE_NS_);
	while (!weir_waiter_is_notified_(w) && weir_spin_wait_continue_(&spin))
		;
	return true;
}

enum weir_parked_ weir_waiter_park_(struct weir_waiter_ *w,
				    int64_t deadline_ns)
{
	enum weir_parked_ parked = WEIR_PARKED_FINAL_;

	for (;;) {
		enum weir_woke_ woke;

		announce_sleep(w);
		if (take_notification(w, &parked))
			return parked;
		if (spin_if_roused(w))
			continue;
		woke = weir_futex_wait_(&w->state, WEIR_SLEEPING_, deadline_ns);
		/* A notification wins over every other end of the sleep. */
		if (take_notification(w, &parked))
			return parked;
		if (woke == WEIR_WOKE_LATE_)
			return WEIR_PARKED_LATE_;
		if (woke == WEIR_WOKE_SIGNAL_)
			return WEIR_PARKED_SIGNAL_;
	}
}

void weir_waiter_await_notification_(struct weir_waiter_ *w)
{
	while (weir_waiter_park_(w, WEIR_FOREVER) == WEIR_PARKED_SIGNAL_)
		;
}
