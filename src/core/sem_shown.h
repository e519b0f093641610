/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CORE_SEM_SHOWN_H
#define WEIR_CORE_SEM_SHOWN_H

/*
 * The numbers that a stat has found in the lists of a semaphore, for the stats
 * that follow.
 *
 * The sum of the weights and the wait of the head are in the waiters, which only
 * the lock holder may access.  So the first stat after a change of the lists
 * takes the lock, and publishes these numbers before it unlocks.  Until the
 * lists change again, every other stat reads them here and takes no lock.
 *
 * The numbers are in a table in static memory, as in sem_contend.h: a semaphore
 * has no room for them, and the address of a semaphore determines its entry.
 * If two semaphores with waiters share an entry, then each stat of one replaces
 * the numbers of the other, and takes the lock.
 *
 *   published   The first waiter, weir_sem_first_, is marked `shown`.
 *   withdrawn   Before a waiter joins or leaves a list.  Only the lock holder
 *               changes the lists, and it looks at the mark alone: a semaphore
 *               whose stat is never called has no other cost.
 */
#include <stdbool.h>
#include <stdint.h>

#include "core/waiter.h"
#include "weir/sem.h"

struct weir_shown_ {
	uint32_t waiters;
	uint32_t oversized;
	int64_t permits;	/* that all queued waiters want together */
	int64_t since_ns;	/* start of the wait of the head of the queue */
	int64_t until_ns;	/* then an unlock evicts the head: C7 */
	uint32_t round;		/* of the entry */
};

/*
 * Publish the numbers.  Requires: the lock is held, and `first` is the first
 * waiter.
 */
void weir_sem_show_(const weir_sem *sem, struct weir_waiter_ *first,
		    const struct weir_shown_ *shown);

/* Returns false if no valid numbers of *sem are published. */
bool weir_sem_read_shown_(const weir_sem *sem, struct weir_shown_ *shown);

/*
 * Called after all other reads of a snapshot.  Returns true if the numbers that
 * were read with `shown` have remained valid until now.
 */
bool weir_sem_still_shown_(const weir_sem *sem,
			   const struct weir_shown_ *shown);

/*
 * Withdraw the numbers.  Requires: the lock is held, and `first` is the first
 * waiter and has the mark.
 */
void weir_sem_withdraw_shown_(const weir_sem *sem, struct weir_waiter_ *first);

#endif /* WEIR_CORE_SEM_SHOWN_H */
