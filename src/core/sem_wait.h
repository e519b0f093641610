/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CORE_SEM_WAIT_H
#define WEIR_CORE_SEM_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/notify.h"
#include "weir/ctx.h"
#include "weir/sem.h"

/*
 * Acquire min..max permits on the slow path.  Waits, if necessary, until ctx
 * ends (null: no context) or deadline_ns passes, whichever comes first.  *got,
 * unless got is null, is the number of permits.  `call` is for messages, `site`
 * is recorded.  Requires: weir_request_ok_(sem, min, max).
 */
weir_err weir_sem_wait_(weir_sem *sem, int64_t min, int64_t max,
			weir_ctx *ctx, int64_t deadline_ns, int64_t *got,
			const char *call, uint64_t site);

/*
 * The two halves of a wait (sem_enqueue.c).  Between the halves, a thread
 * parks, and an operation returns to its caller.
 *
 * weir_sem_enqueue_ takes the lock, then takes permits, joins a list or fails.
 * It returns true if w has joined a list.  An operation may then be decided,
 * notified and freed before the call returns.
 *
 * weir_sem_finish_ turns an outcome into the result of the call: it unregisters
 * w from its context, whose end wins over a grant (C13), and counts granted
 * permits as held.  `name` is the name of the semaphore: if nothing was
 * granted, the semaphore may not exist any more.
 */
bool weir_sem_enqueue_(struct weir_waiter_ *w, int64_t deadline_ns,
		       weir_err *err);
weir_err weir_sem_finish_(struct weir_waiter_ *w, const char *name,
			  weir_err err);

/*
 * Used instead of weir_sem_finish_ if an operation is cancelled: return w's
 * permits and unregister w from its context.  Requires: w is on no list.
 * Waiters that are granted these permits are added to to_notify.
 */
void weir_sem_cancel_(struct weir_waiter_ *w,
		      struct weir_to_notify_ *to_notify);

/*
 * weir_sem_try_acquire after the fast path of weir/inline.h has failed
 * (sem_try.c).
 */
weir_err weir_sem_try_wait_(weir_sem *sem, int64_t n);

/*
 * Returns true if a request for n permits that may not wait fails with
 * WEIR_ETIMEDOUT, and no waiter is queued.  Takes no lock.  If a waiter is
 * queued, then the caller takes the lock: its unlock may evict a late waiter and
 * grant to those behind it (C7).
 */
bool weir_sem_seen_to_time_out_(weir_sem *sem, int64_t n);

/* Return n permits that an acquire took and must not keep. */
void weir_sem_put_(weir_sem *sem, int64_t n);

/*
 * Spinning (sem_spin.c).  weir_sem_spin_pays_ returns true if w should spin
 * when it joins the queue.  Requires: the semaphore is locked.  weir_sem_spin_
 * spins; it returns true if w took its permits, and false if w has been, or
 * will be, notified.
 */
bool weir_sem_spin_pays_(const weir_sem *sem, const struct weir_waiter_ *w);
bool weir_sem_spin_(struct weir_waiter_ *w);

/*
 * Let a spinner take released permits before this thread contends for the lock.
 */
void weir_sem_yield_to_spinner_(const weir_sem *sem);

/*
 * Retry the fast path for a moment, if the policy is BARGING and the queue is
 * empty.  Called for a new request whose fast path has failed.  Returns the
 * number of permits taken, or -1.
 */
int64_t weir_sem_spin_acquire_(weir_sem *sem, int64_t min, int64_t max);

/*
 * Wait for a moment, if the policy is BARGING, until w is notified.  Called for
 * the head before it sleeps.  Returns true if w has been notified.
 */
bool weir_sem_spin_notified_(const struct weir_waiter_ *w);

/*
 * Spin until w, which was woken to retry, finds its permits free, the door not
 * OPEN or its context cancelled.  The spin lasts some microseconds at most, and
 * ends soon after until_ns.  w has to retry afterwards in any case.
 */
void weir_sem_spin_retry_(const struct weir_waiter_ *w, int64_t until_ns);

#endif /* WEIR_CORE_SEM_WAIT_H */
