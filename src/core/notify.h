/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CORE_NOTIFY_H
#define WEIR_CORE_NOTIFY_H

/*
 * Deciding waiters, and notifying them.
 *
 * A thread decides waiters while it holds their guard, and collects them in a
 * list.  It notifies them after the unlock, because a notified waiter may run at
 * once and would wait for the lock.
 */
#include <stdbool.h>
#include <stdint.h>

#include "core/waiter.h"

/* At most this many waiters are decided before the lock is dropped. */
#ifndef WEIR_BATCH_
#define WEIR_BATCH_ 64
#endif

/*
 * The waiters that were decided under a lock and are notified after the unlock.
 * One more waiter may be roused: it is woken after the unlock, although it has
 * not been decided.
 */
struct weir_to_notify_ {
	struct weir_waiter_ *first;
	struct weir_waiter_ **last;	/* null: the list is empty */
	const weir_sem *granted;	/* semaphore of the last grant */
	uint32_t *roused;		/* `state` of that waiter; null: none */
};

/*
 * Add w to the list, with the kind of notification.  Requires: w's guard is
 * held.  Does nothing if a notification of w is already due.
 */
void weir_to_notify_add_(struct weir_to_notify_ *to_notify,
			 struct weir_waiter_ *w,
			 enum weir_wait_state_ notification);

/*
 * Rouse w, a thread that sleeps: weir_wake_roused_ wakes it after the unlock.
 * It then spins for a moment, because its decision is expected soon.  Requires:
 * w's guard is held, and w waits in the queue.  Does nothing if w does not
 * sleep, or if the list already has a roused waiter.
 */
void weir_waiter_rouse_(struct weir_waiter_ *w,
			struct weir_to_notify_ *to_notify);

/*
 * Wake the roused waiter of the list, if there is one.  Called after the unlock,
 * before the caller waits for anything: a thread that notifies a roused waiter
 * relies on this wake and does not wake it.
 */
void weir_wake_roused_(struct weir_to_notify_ *to_notify);

/*
 * Decide w.  Requires: the caller holds w's guard and has taken w off its list.
 */
void weir_waiter_decide_(struct weir_waiter_ *w, weir_err outcome,
			 struct weir_to_notify_ *to_notify);

/*
 * Notify every waiter of the list, then run the callbacks that are left to this
 * thread.  Requires: no lock is held.  This function accesses no memory but
 * that of the waiters.
 */
void weir_notify_all_(struct weir_to_notify_ *to_notify);

/*
 * Make w the granted member of its any-of request.  Called before a grant, with
 * the guard held.  Returns false if the request has been decided already; w
 * must not be granted then.  Returns true if w is not a member.
 */
bool weir_waiter_claim_(struct weir_waiter_ *w);

/*
 * Claim w, which waits for the end of a context.  Returns true if the caller
 * has to decide w.  If w is a thread, then w's guard must be held.
 */
bool weir_waiter_claim_end_(struct weir_waiter_ *w);

/*
 * The notifier passes a decided operation to its runner.  The call is the last
 * access of the core to *w.  The notifier returns true if the calling thread
 * has to run a callback.  A call with null runs the callbacks of the calling
 * thread.  weir_notify_all_ makes that call after the whole list has been
 * notified, and only if a call for a waiter returned true: a release in a
 * signal handler must not run callbacks, although the interrupted thread may
 * have some to run.
 */
typedef bool weir_notifier_fn_(struct weir_waiter_ *w);
void weir_waiter_set_notifier_(weir_notifier_fn_ *fn);

/*
 * weir_notify_all_ in two steps, for callers that must not run callbacks yet:
 * notify and empty the list; then run the callbacks.
 */
void weir_notify_without_callbacks_(struct weir_to_notify_ *to_notify);
void weir_callbacks_run_(void);

/*
 * Between hold and resume this thread runs no callbacks.  Resume runs them,
 * unless an outer hold is in effect: `outer` is the result of hold.
 */
bool weir_callbacks_hold_(void);
void weir_callbacks_resume_(bool outer);

#endif /* WEIR_CORE_NOTIFY_H */
