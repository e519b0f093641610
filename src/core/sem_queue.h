/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CORE_SEM_QUEUE_H
#define WEIR_CORE_SEM_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/notify.h"
#include "weir/sem.h"

/*
 * The waiters of a semaphore: the queue and the oversized list.
 * Requires, for every function below: the semaphore is locked (sem_lock.h).
 */

/*
 * Returns how many permits of min..max a new request may take now; -1 if the
 * request has to wait.
 */
int64_t weir_sem_takeable_(const weir_sem *sem, int64_t min, int64_t max);

/* Append w to the queue or to the oversized list; take w off its list. */
void weir_sem_join_(weir_sem *sem, struct weir_waiter_ *w,
		    enum weir_place_ place);
void weir_sem_leave_(weir_sem *sem, struct weir_waiter_ *w);

/* Take w off its list and decide it. */
void weir_sem_evict_(weir_sem *sem, struct weir_waiter_ *w, weir_err outcome,
		     struct weir_to_notify_ *to_notify);

/*
 * C13: if w's context has been cancelled, evict w: it must not be granted.
 * Evict w also if it is an operation in a context and its deadline has passed:
 * no call could use its permits until the operation is polled or dispatched.
 * Returns true if w was evicted.  weir_sem_evict_ended_ requires that w has a
 * context.
 */
bool weir_sem_evict_ended_(weir_sem *sem, struct weir_waiter_ *w,
			   struct weir_to_notify_ *to_notify);

static inline bool weir_sem_evict_cancelled_(weir_sem *sem,
					     struct weir_waiter_ *w,
					     struct weir_to_notify_ *to_notify)
{
	return w->ctx && weir_sem_evict_ended_(sem, w, to_notify);
}

/*
 * BARGING: the time at which w, a thread, reaches the starvation bound.
 * WEIR_FOREVER if no time limit applies to w.
 */
int64_t weir_sem_due_ns_(const weir_sem *sem, const struct weir_waiter_ *w);

/*
 * Returns true if the head may be woken to retry instead of being granted
 * (BARGING).  *now_ns is the time; 0: it has not been read since the lock was
 * taken, and is read if it is needed.
 */
bool weir_sem_may_retry_(const weir_sem *sem, const struct weir_waiter_ *head,
			 int64_t *now_ns);

static inline struct weir_waiter_ *weir_waiter_of_(struct weir_ring_ *link)
{
	return ring_entry(link, struct weir_waiter_, link);
}

/*
 * Returns the first waiter of the queue, or else of the oversized list; null:
 * there is none.
 */
static inline struct weir_waiter_ *weir_sem_first_(const weir_sem *sem)
{
	struct weir_ring_ *first = sem->queue_ ? sem->queue_ : sem->oversized_;

	return first ? weir_waiter_of_(first) : NULL;
}

#endif /* WEIR_CORE_SEM_QUEUE_H */
