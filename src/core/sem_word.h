/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CORE_SEM_WORD_H
#define WEIR_CORE_SEM_WORD_H

/*
 * The state of a semaphore: the word, and the bits that change rarely.
 *
 *    63                                                    2 1    0
 *   +-------------------------------------------------------+------+
 *   |   value = free permits - debt (signed)                | door |
 *   +-------------------------------------------------------+------+
 *
 *   door       acquire(n)                    release(n)
 *   OPEN       take if n <= value, or lock   add
 *   WATCHED    lock                          add and leave
 *   SHUT       lock                          add and lock, settle
 *   LOCKED     wait for the lock             add and leave
 *
 *   LOCKED   Somebody works on the queue, and looks again before he unlocks.
 *            The value is changed by releases, which add, and by the holder.
 *   SHUT     Go through the lock.  Legal for no reason; the reasons are: a
 *            queue (FIFO), a queue whose head has not been called (BARGING),
 *            somebody aside, CLOSED, TRACKED, DESTROYED.
 *   WATCHED  The queue is one waiter that is awake and looks at the word: it
 *            takes for itself what is released.  No other reason is there.
 *   The door is changed only by whoever takes or drops the lock.
 *
 *   Updates add to, subtract from or set bits of the word that was read.  None
 *   rebuilds it from the value alone: that would lose the door.
 *
 * Pairs
 *
 *   [S1] permit    release: put, weir_put_fast_
 *                  acquire: grant_batch, weir_sem_stat, weir_take_fast_,
 *                  weir_try_fast_
 *                  What was done under a permit is visible to its next holders.
 *                  Read-modify-writes in between continue the release sequence,
 *                  so this holds for any number of acquires and releases.
 *   [S2] lock      release: grant_batch, unlock_untouched
 *                  acquire: put, relock, seen_to_fail, weir_sem_lock_no_panic_
 *                  What was done under the lock is visible to its next holder.
 *   [S3] closed    release: grant_what_fits, weir_sem_close, weir_sem_destroy
 *                  acquire: weir_state_
 *                  A call that returns WEIR_ECLOSED sees what the closing thread
 *                  did before the close.
 *   [S4] capacity  release: set_capacity   acquire: overflows, seen_to_fail
 *                  A thread that sees part of a resize sees that resizes_ has
 *                  changed.
 *   [S5] granted   release: weir_sem_finish_   acquire: weir_sem_destroy
 *                  Every granted waiter has made its last access to the semaphore
 *                  before another thread destroys it.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "weir/sem.h"

/* The short paths are a public header; here they go through the seam. */
#define weir_at_load_relaxed_ at_load_relaxed
#define weir_at_cas_weak_relaxed_ at_cas_weak_relaxed
#define weir_at_cas_weak_acquire_ at_cas_weak_acquire
#define weir_at_cas_weak_release_ at_cas_weak_release
#include "weir/inline.h"

#define WEIR_OPEN_ UINT64_C(0)
#define WEIR_SPINNING_ UINT64_C(1)
#define WEIR_SHUT_ UINT64_C(2)
#define WEIR_LOCKED_ UINT64_C(3)	/* all bits: or makes any door this */

static inline uint64_t weir_door_(uint64_t word)
{
	return word & WEIR_LOCKED_;
}

/* The same word with another door. */
static inline uint64_t weir_with_door_(uint64_t word, uint64_t door)
{
	return (word & ~WEIR_LOCKED_) | door;
}

static inline int64_t weir_value_(uint64_t word)
{
	return (int64_t)word >> 2;
}

/* n permits as they stand in the word. */
static inline uint64_t weir_units_(int64_t n)
{
	return (uint64_t)n << 2;
}

/*
 * state_: changed under the lock, read without it.  The public initialisers
 * know UNBOUNDED, BARGING and the bound's place.
 */
#define WEIR_STATE_UNBOUNDED_ UINT32_C(1)
#define WEIR_STATE_BARGING_ UINT32_C(2)
#define WEIR_STATE_CLOSED_ UINT32_C(4)
#define WEIR_STATE_DRAIN_ UINT32_C(8)	/* with CLOSED: permits may still go */
#define WEIR_STATE_INTERRUPTIBLE_ UINT32_C(16)
#define WEIR_STATE_TRACKED_ UINT32_C(32)
#define WEIR_STATE_DESTROYED_ UINT32_C(64)
#define WEIR_STATE_HEAP_ UINT32_C(128)
#define WEIR_STATE_BOUND_SHIFT_ 8	/* the rest: barging bound in us */

static inline uint32_t weir_state_(const weir_sem *sem)
{
	/* [S3] acquire */
	return at_load_acquire(&sem->state_);
}

/* Closed to everybody, and not only to those that would have to wait. */
static inline bool weir_state_is_shut_(uint32_t state)
{
	return (state & (WEIR_STATE_CLOSED_ | WEIR_STATE_DRAIN_)) ==
	       WEIR_STATE_CLOSED_;
}

#endif /* WEIR_CORE_SEM_WORD_H */
