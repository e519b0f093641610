/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CORE_SEM_LOCK_H
#define WEIR_CORE_SEM_LOCK_H

#include <stdint.h>

#include "weir/sem.h"

/*
 * The lock of a semaphore: the LOCKED door of its state word.  Every change of
 * the queue, the capacity or the state has this form:
 *
 *     err = weir_sem_lock_(sem, "weir_sem_resize");
 *     if (err)
 *             return err;
 *     ...
 *     weir_sem_unlock_(sem, taken);		(sem_grant.h)
 *
 * The unlock makes every grant that has become possible (C7).
 */

/* The kinds of misuse of a semaphore that can be detected. */
enum weir_problem_ {
	WEIR_IS_WELL_,
	WEIR_IS_DESTROYED_,
	WEIR_IS_NO_SEMAPHORE_,
	WEIR_HAD_WAITERS_,	/* at a fork; this is the child */
	WEIR_LOST_WAITER_,	/* its operation was initialised again */
	WEIR_WAS_LOCKED_,	/* at a fork; this is the child */
	WEIR_GAVE_UP_		/* as WAS_LOCKED; the call's limit came first */
};

/* Returns the name that the caller gave, for messages; null: none. */
const char *weir_sem_name_(const weir_sem *sem);

/* Returns the problem that can be detected without the lock, if any. */
enum weir_problem_ weir_sem_problem_(const weir_sem *sem);

/*
 * Panic with a message that names `call`.  weir_sem_panic_ returns WEIR_OK if
 * there is no problem; weir_sem_report_ requires that there is one.
 */
weir_err weir_sem_report_(const weir_sem *sem, const char *call,
			  enum weir_problem_ problem);

static inline weir_err weir_sem_panic_(const weir_sem *sem, const char *call,
				       enum weir_problem_ problem)
{
	return problem ? weir_sem_report_(sem, call, problem) : WEIR_OK;
}

/*
 * Take the lock, or return the reason why it cannot be taken.  weir_sem_lock_
 * panics in that case; before it locks, it grants permits that were released
 * earlier to a spinner.
 */
enum weir_problem_ weir_sem_lock_no_panic_(weir_sem *sem);
weir_err weir_sem_lock_(weir_sem *sem, const char *call);

/*
 * weir_sem_lock_ for a call that ends at deadline_ns or with ctx (null: none).
 * The limit applies only if the lock seems to be held since a fork, by a thread
 * that does not exist in this process.  Otherwise the lock holder unlocks soon,
 * and the call waits for that: C14, it succeeds if permits are free.  Returns
 * WEIR_ETIMEDOUT or the reason of ctx if the limit was reached.
 */
weir_err weir_sem_lock_until_(weir_sem *sem, const char *call,
			      int64_t deadline_ns, const struct weir_ctx *ctx);

/*
 * Complete the locking for a release that has set LOCKED in the CAS that added
 * its `added` permits.  If a problem is detected, subtract these permits and
 * drop the lock.
 */
enum weir_problem_ weir_sem_enter_(weir_sem *sem, int64_t added);

#endif /* WEIR_CORE_SEM_LOCK_H */
