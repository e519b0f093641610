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

/*
 * Take the lock.  Fails, through a panic that names `call`, on an object that
 * is destroyed or was never a semaphore, or whose queue was left behind by a
 * fork.
 */
weir_err weir_sem_lock_(weir_sem *sem, const char *call);

/*
 * The checks of weir_sem_lock_ for a release that took the lock together with
 * adding n; on an error the n are out again and the lock is dropped.
 */
weir_err weir_sem_check_locked_(weir_sem *sem, const char *call, int64_t n);

/* Whether sem looks like a live semaphore; panics if not. */
weir_err weir_sem_check_(const weir_sem *sem, const char *call);

/*
 * Take `taken` permits out of the word, grant to every head that fits, and
 * unlock.  Whoever was decided is added to tells, to be told by the caller.
 * Nothing of *sem is touched after the unlock.
 */
void weir_sem_settle_(weir_sem *sem, int64_t taken, struct weir_tells_ *tells);

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
		     struct weir_tells_ *tells);

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
