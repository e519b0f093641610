/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CORE_SEM_WAIT_H
#define WEIR_CORE_SEM_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/waiter.h"
#include "weir/ctx.h"
#include "weir/sem.h"

/*
 * Acquire min..max permits through the lock, waiting if need be until ctx ends
 * (null: never) or deadline_ns passes; *got (may be null) tells how many.
 * `call` is for messages.
 */
weir_err weir_sem_wait_(weir_sem *sem, int64_t min, int64_t max,
			weir_ctx *ctx, int64_t deadline_ns, int64_t *got,
			const char *call);

/*
 * The two halves of a wait, for whoever waits in another way.  ask_ goes through
 * the lock and takes, joins a list or fails; true: *w has joined, and for an
 * operation may be decided, told and gone already.  conclude_ turns an outcome
 * into the call's: it takes w off its context, whose end wins (C13), and counts
 * what was granted as held.  `name` is the semaphore's: if nothing was granted,
 * that may be gone.
 */
bool weir_sem_enqueue_(struct weir_waiter_ *w, int64_t deadline_ns, weir_err *err);
weir_err weir_sem_finish_(struct weir_waiter_ *w, const char *name,
			    weir_err err);

/*
 * Or end it: give back what w has, and take it off its context.  w is on no
 * list.  Whoever gets permits by that is added to tells.
 */
void weir_sem_cancel_(struct weir_waiter_ *w, struct weir_to_notify_ *to_notify);

/* weir_sem_try_acquire where the short path did not take. */
weir_err weir_sem_try_wait_(weir_sem *sem, int64_t n);

/* Give back n permits that an acquire took and must not keep. */
void weir_sem_put_(weir_sem *sem, int64_t n);

/*
 * Watching, sem_spin.c.  Whether one that is about to join the queue should do
 * so, under the lock; and doing it: true if w was decided by itself, false if
 * it has been, or is to be, told.
 */
bool weir_sem_spin_pays_(const weir_sem *sem, const struct weir_waiter_ *w);
bool weir_sem_spin_(struct weir_waiter_ *w);

/* Let one that watches take what has come, before contending for the lock. */
void weir_sem_yield_to_spinner_(const weir_sem *sem);

/*
 * For a newcomer that found too little on the short path: try again for a moment
 * if the policy allows that and nobody waits.  Returns how many were taken, or
 * -1.
 */
int64_t weir_sem_spin_acquire_(weir_sem *sem, int64_t min, int64_t max);

#endif /* WEIR_CORE_SEM_WAIT_H */
