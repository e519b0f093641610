/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CORE_SEM_WORD_H
#define WEIR_CORE_SEM_WORD_H

/*
 * The state of a semaphore: the state word word_, and the flags in state_,
 * which change rarely.
 *
 *    63                                                    2 1    0
 *   +-------------------------------------------------------+------+
 *   |   value = free permits - debt (signed)                | door |
 *   +-------------------------------------------------------+------+
 *
 *   door       acquire(n)                        release(n)
 *   OPEN       take n if n <= value, else lock   add n
 *   SPINNING   lock                              add n
 *   SHUT       lock                              add n and lock, then grant
 *   LOCKED     wait for the lock                 add n
 *
 *   OPEN      Neither acquire nor release needs the lock.
 *   SPINNING  The queue consists of one waiter, which spins on the word and
 *             takes released permits itself (FIFO only).  None of the
 *             conditions for SHUT holds.
 *   SHUT      Acquire and release take the lock.  May be set spuriously.  Must
 *             be set, in an unlocked word, if
 *               - a waiter is queued and does not spin (FIFO),
 *               - a waiter is queued and the head has not been woken to retry
 *                 (BARGING),
 *               - the oversized list is not empty, or
 *               - state_ has CLOSED, TRACKED or DESTROYED.
 *   LOCKED    The wait queue is being modified.  The lock holder re-examines
 *             the word before it unlocks, so a release may add permits and
 *             return.  Only releases, which add, and the lock holder change the
 *             value meanwhile.
 *
 *   The door changes only when a thread takes or drops the lock.
 *
 *   Every update adds to, subtracts from or sets bits of the word that was
 *   read.  None rebuilds the word from the value alone: that would lose the
 *   door.
 *
 * Pairs
 *
 *   [S1] permit    release: put, weir_put_fast_
 *                  acquire: grant_batch, weir_sem_stat, weir_take_fast_,
 *                  weir_try_fast_
 *                  Work done under a permit is visible to its next holders.
 *                  Read-modify-writes in between continue the release sequence,
 *                  so this holds for any number of acquires and releases.
 *   [S2] lock      release: grant_batch, unlock_untouched
 *                  acquire: put, relock, seen_to_fail, try_lock, weir_put_fast_
 *                  Work done under the lock is visible to its next holder.
 *   [S3] closed    release: grant_what_fits, weir_sem_close, weir_sem_destroy
 *                  acquire: weir_sem_is_closed, weir_state_
 *                  A call that returns WEIR_ECLOSED sees what the closing thread
 *                  did before the close.  A thread whose release came too late
 *                  for a close sees that the semaphore is closed.
 *   [S4] capacity  release: set_capacity   acquire: overflows, read_unlocked,
 *                  seen_to_fail
 *                  A thread that sees part of a resize sees that resizes_ has
 *                  changed.
 *   [S5] granted   release: hand_over, take_or_join, weir_sem_finish_,
 *                  weir_sem_take_back_   acquire: read_unlocked,
 *                  weir_sem_destroy
 *                  Every granted waiter has made its last access to the
 *                  semaphore before another thread destroys it.  A thread that
 *                  sees a grant sees the word of the lock under which it was
 *                  made, or a newer one.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "weir/sem.h"

/*
 * The fast paths are in a public header.  In the library, their accesses go
 * through the seam.
 */
#define weir_at_load_relaxed_ at_load_relaxed
#define weir_at_load_acquire_ at_load_acquire
#define weir_at_cas_weak_relaxed_ at_cas_weak_relaxed
#define weir_at_cas_weak_acquire_ at_cas_weak_acquire
#define weir_at_cas_weak_release_ at_cas_weak_release
#include "weir/inline.h"

#define WEIR_OPEN_ UINT64_C(0)
#define WEIR_SPINNING_ UINT64_C(1)
#define WEIR_SHUT_ UINT64_C(2)
#define WEIR_LOCKED_ UINT64_C(3)	/* both bits: OR locks from any door */

static inline uint64_t weir_door_(uint64_t word)
{
	return word & WEIR_LOCKED_;
}

/* Returns the word with another door. */
static inline uint64_t weir_with_door_(uint64_t word, uint64_t door)
{
	return (word & ~WEIR_LOCKED_) | door;
}

static inline int64_t weir_value_(uint64_t word)
{
	return (int64_t)word >> 2;
}

/* Returns n permits in the units of the word. */
static inline uint64_t weir_units_(int64_t n)
{
	return (uint64_t)n << 2;
}

/*
 * Flags of state_, which is changed under the lock and read without it.  The
 * public initialisers contain the values of UNBOUNDED and BARGING and the
 * position of the bound.  CLOSED with DRAIN: a request that need not wait is
 * still granted.
 */
#define WEIR_STATE_UNBOUNDED_ UINT32_C(1)
#define WEIR_STATE_BARGING_ UINT32_C(2)
#define WEIR_STATE_CLOSED_ UINT32_C(4)
#define WEIR_STATE_DRAIN_ UINT32_C(8)
#define WEIR_STATE_INTERRUPTIBLE_ UINT32_C(16)
#define WEIR_STATE_TRACKED_ UINT32_C(32)
#define WEIR_STATE_DESTROYED_ UINT32_C(64)
#define WEIR_STATE_HEAP_ UINT32_C(128)
#define WEIR_STATE_BOUND_SHIFT_ 8	/* bits above: barging bound in us */

static inline uint32_t weir_state_(const weir_sem *sem)
{
	/* [S3] acquire */
	return at_load_acquire(&sem->state_);
}

/*
 * Returns true if the semaphore is closed, and not in drain mode: no acquire
 * succeeds.
 */
static inline bool weir_state_is_shut_(uint32_t state)
{
	return (state & (WEIR_STATE_CLOSED_ | WEIR_STATE_DRAIN_)) ==
	       WEIR_STATE_CLOSED_;
}

#endif /* WEIR_CORE_SEM_WORD_H */
