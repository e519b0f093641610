/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CORE_SEM_QUEUE_H
#define WEIR_CORE_SEM_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/waiter.h"
#include "weir/sem.h"

/*
 * The queue of a semaphore and the lock that guards it.  Whatever changes the
 * queue, the capacity or the state goes
 *
 *     err = weir_sem_lock_(sem, "weir_sem_resize");
 *     if (err)
 *             return err;
 *     ...
 *     weir_sem_unlock_(sem, taken);
 *
 * and the unlock makes every grant that has become possible (C7).
 */

/* What can be wrong with a semaphore, as far as it can be noticed. */
enum weir_problem_ {
	WEIR_IS_WELL_,
	WEIR_IS_DESTROYED_,
	WEIR_IS_NO_SEMAPHORE_,
	WEIR_HAD_WAITERS_,	/* at a fork; this is the child */
	WEIR_WAS_LOCKED_	/* at a fork; this is the child */
};

/* What can be seen from outside. */
enum weir_problem_ weir_sem_problem_(const weir_sem *sem);

/* Panic about it, naming `call`; WEIR_OK if there is none. */
weir_err weir_sem_panic_(const weir_sem *sem, const char *call,
			    enum weir_problem_ problem);

/*
 * Take the lock, or tell why not.  lock_ also complains, and first sees to it
 * that one that watches has what was released before.
 */
enum weir_problem_ weir_sem_lock_no_panic_(weir_sem *sem);
weir_err weir_sem_lock_(weir_sem *sem, const char *call);

/*
 * The rest of locking, for a release that set LOCKED in the step that added
 * its permits.  On a problem these are out again and the lock is dropped.
 */
enum weir_problem_ weir_sem_enter_(weir_sem *sem, int64_t added);

/*
 * Take `taken` permits out of the word, grant to every head that fits, and
 * unlock.  Whoever was decided is added to tells, to be told by the caller.
 * Nothing of *sem is touched after the unlock.
 *
 * A negative `taken` gives back.  It never leaves more free than the capacity:
 * what was released by mistake, in the middle of a resize or in place of what is
 * given back here, is taken out.  Returns how many that were.
 */
int64_t weir_sem_grant_and_unlock_(weir_sem *sem, int64_t taken,
			 struct weir_to_notify_ *to_notify);

/* The same, and tell them. */
void weir_sem_unlock_(weir_sem *sem, int64_t taken);

/*
 * The rest needs the lock.
 */

/* How many of min..max a newcomer may take now; -1 if it has to wait. */
int64_t weir_sem_takeable_(const weir_sem *sem, int64_t min, int64_t max);

/* Put w at the end of the queue or aside, and take it off again. */
void weir_sem_join_(weir_sem *sem, struct weir_waiter_ *w,
		    enum weir_place_ place);
void weir_sem_leave_(weir_sem *sem, struct weir_waiter_ *w);

/* Take w off its list and decide it. */
void weir_sem_evict_(weir_sem *sem, struct weir_waiter_ *w, weir_err outcome,
		     struct weir_to_notify_ *to_notify);

/*
 * Grant w what it wants of `open` permits, at least its min; returns how many.
 * 0, and w is off its list: one of several, and another has been granted.
 */
int64_t weir_sem_grant_(weir_sem *sem, struct weir_waiter_ *w, int64_t open,
			struct weir_to_notify_ *to_notify);

/* C13: if w's context has been cancelled, evict it: it must not be granted. */
bool weir_sem_evict_cancelled_(weir_sem *sem, struct weir_waiter_ *w,
			       struct weir_to_notify_ *to_notify);

/* When w, a thread, is due (BARGING); WEIR_FOREVER if that is no matter of time. */
int64_t weir_sem_due_ns_(const weir_sem *sem, const struct weir_waiter_ *w);

/*
 * C13: take what w was granted, or took, but has not returned with; its context
 * has ended and still knows of it.  Returns how many, to settle with, negated.
 */
int64_t weir_sem_take_back_(weir_sem *sem, struct weir_waiter_ *w);

/*
 * If w is first and what it wants is there, take it and decide w.  Returns how
 * many, to pass to unlock, or -1.
 */
int64_t weir_sem_take_first_(weir_sem *sem, struct weir_waiter_ *w);

/*
 * A barging waiter was told to look.  True: it is decided, also by taking its
 * permits now, and *taken tells how many to pass to unlock.  False: wait on.
 */
bool weir_sem_retry_(weir_sem *sem, struct weir_waiter_ *w, int64_t *taken);

static inline struct weir_waiter_ *weir_waiter_of_(struct weir_ring_ *link)
{
	return ring_entry(link, struct weir_waiter_, link);
}

#endif /* WEIR_CORE_SEM_QUEUE_H */
