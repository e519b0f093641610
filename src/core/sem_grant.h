/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CORE_SEM_GRANT_H
#define WEIR_CORE_SEM_GRANT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/notify.h"
#include "weir/sem.h"

/*
 * Granting permits to waiters, and unlocking.
 * Requires, for every function below: the semaphore is locked (sem_lock.h).
 */

/*
 * Subtract `taken` permits from the word, grant to every head of the queue that
 * fits, and unlock.  Waiters that were decided are added to to_notify; the
 * caller notifies them.  The unlock is the last access to *sem.
 *
 * A negative `taken` adds permits.  The unlock never leaves more permits free
 * than the capacity: it subtracts permits that were released by mistake in the
 * middle of a resize, or released in addition to permits that are returned
 * here.  Returns the number of permits that it subtracted for this reason.
 */
int64_t weir_sem_grant_and_unlock_(weir_sem *sem, int64_t taken,
				   struct weir_to_notify_ *to_notify);

/* weir_sem_grant_and_unlock_, followed by the notifications. */
void weir_sem_unlock_(weir_sem *sem, int64_t taken);

/*
 * The two steps of weir_sem_unlock_.  Between them, the caller waits for nothing:
 * the roused waiter is woken in the second step, after the granted waiters.
 */
void weir_sem_unlock_and_list_(weir_sem *sem, int64_t taken,
			       struct weir_to_notify_ *to_notify);

static inline void weir_sem_notify_(struct weir_to_notify_ *to_notify)
{
	if (to_notify->first || to_notify->roused)
		weir_notify_all_(to_notify);
}

/*
 * Grant w as many of `open` permits as it wants, at least its min.  Returns the
 * number of permits granted.  Returns 0 if w is a member of an any-of request
 * that has been decided; w is then off its list and has no permits.
 */
int64_t weir_sem_grant_(weir_sem *sem, struct weir_waiter_ *w, int64_t open,
			struct weir_to_notify_ *to_notify);

/*
 * FIFO: rouse the head of the queue, if that is expected to pay.  The roused
 * waiter is woken after the unlock, ahead of its grant.  Requires: a waiter of
 * *sem has been granted, and another one is queued.
 */
void weir_sem_rouse_next_(weir_sem *sem, struct weir_to_notify_ *to_notify);

/* Record whether rousing w has paid.  Called when w is granted. */
void weir_sem_rousing_ended_(weir_sem *sem, const struct weir_waiter_ *w);

/*
 * C13: revoke the permits that w was granted or has taken.  Called by a
 * canceller while w is registered with its context, or by the call of w itself,
 * after w has left its context; so the call of w has not returned yet.  Returns
 * the number of revoked permits; the caller passes it, negated, to
 * weir_sem_grant_and_unlock_.
 */
int64_t weir_sem_take_back_(weir_sem *sem, struct weir_waiter_ *w);

/*
 * If w is the head and enough permits are free, take them and decide w.
 * Returns the number of permits taken, which the caller passes to the unlock;
 * -1 if w has to wait.
 */
int64_t weir_sem_take_first_(weir_sem *sem, struct weir_waiter_ *w);

/*
 * Called by w after it was woken to retry.  Takes its permits if w is the head
 * and they are free.  Returns true if w is decided; *taken is the number to
 * pass to the unlock.  Returns false if w continues to wait.
 */
bool weir_sem_retry_(weir_sem *sem, struct weir_waiter_ *w, int64_t *taken);

#endif /* WEIR_CORE_SEM_GRANT_H */
