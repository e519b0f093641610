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
 *               - state_ has CLOSED or DESTROYED.
 *   LOCKED    The wait queue is being modified.  The lock holder re-examines
 *             the word before it unlocks, so a release may add permits and
 *             return.  Only releases, which add, and the lock holder change the
 *             value meanwhile.
 *
 *   The door changes only when a thread takes or drops the lock.
 *
 * A watched semaphore: state_ has TRACKED
 *
 *   Every acquire and release must reach the library, which records it.  So the
 *   low bits of an unlocked word never are OPEN or SPINNING: code that has
 *   inlined the fast paths finds SHUT and calls the library.  If the door of a
 *   watched semaphore is OPEN, its word has this form:
 *
 *      63 62 61                                              2 1    0
 *     +-----+-------------------------------------------------+------+
 *     | 1 0 |  value, 0 .. 2^60 - 1                           | SHUT |
 *     +-----+-------------------------------------------------+------+
 *
 *   Values of -2^60 .. 2^60 have the bits 00, 01 or 11 there, so no other word
 *   has 10.  weir_door_ and weir_value_ decode this form: it is OPEN.
 *   weir_take_watched_ and weir_put_watched_ are its fast paths.
 *
 *     - The lock removes the mark, bit 63 (weir_locked_): a LOCKED word is the
 *       same for every semaphore.
 *     - The unlock sets the mark (word_after) if the door would be OPEN and the
 *       value is in 0 .. 2^60 - 1.  Otherwise the door is SHUT.
 *     - An acquire leaves the mark: it takes no more than the value.
 *     - A release that would leave 2^60 permits free takes the lock.
 *     - The door of a watched semaphore is never SPINNING; it is SHUT instead.
 *
 *   Every update adds to, subtracts from or sets bits of the word that was
 *   read.  None rebuilds the word from the value alone: that would lose the
 *   door.
 *
 * Pairs
 *
 *   [S1] permit    release: put, weir_put_fast_, weir_put_marked_
 *                  acquire: grant_batch, weir_sem_stat, weir_take_fast_,
 *                  weir_take_marked_, weir_take_watched_, weir_try_fast_
 *                  Work done under a permit is visible to its next holders.
 *                  Read-modify-writes in between continue the release sequence,
 *                  so this holds for any number of acquires and releases.
 *   [S2] lock      release: grant_batch, unlock_untouched
 *                  acquire: put, read_unlocked, relock, seen_to_fail, try_lock,
 *                  weir_put_fast_, weir_put_watched_,
 *                  weir_sem_seen_to_time_out_
 *                  Work done under the lock is visible to its next holder.
 *   [S3] closed    release: grant_what_fits, weir_sem_close,
 *                  weir_sem_destroy, weir_sem_register_
 *                  acquire: weir_sem_is_closed, weir_state_
 *                  A call that returns WEIR_ECLOSED sees what the closing thread
 *                  did before the close.  A thread whose release came too late
 *                  for a close sees that the semaphore is closed.
 *   [S4] capacity  release: set_capacity   acquire: overflows, read_unlocked,
 *                  seen_to_fail, weir_sem_seen_to_time_out_
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

/*
 * A public function that is mostly a fast path.  On some x86_64 CPUs a branch that
 * crosses a boundary of 32 bytes takes a nanosecond longer.  Aligned functions
 * do not become slower when other code grows.
 */
#define WEIR_HOT_ __attribute__((aligned(32)))

#define WEIR_OPEN_ UINT64_C(0)
#define WEIR_SPINNING_ UINT64_C(1)
#define WEIR_SHUT_ UINT64_C(2)
#define WEIR_LOCKED_ UINT64_C(3)	/* both bits: OR locks from any door */

/* The mark of a watched word that is OPEN, and the bits that identify it. */
#define WEIR_MARK_ (UINT64_C(1) << 63)
#define WEIR_MARKED_ (WEIR_SHUT_ << 2 | WEIR_MARK_ >> 62)
#define WEIR_MARK_BITS_ UINT64_C(15)

/*
 * Rotated by two, the bits are the lowest four.  Constants of this size need no
 * register on x86_64.
 */
static inline bool weir_is_marked_(uint64_t word)
{
	return ((word << 2 | word >> 62) & WEIR_MARK_BITS_) == WEIR_MARKED_;
}

/*
 * Returns the value of a marked word.  Of any other word, returns a number that
 * weir_fits_mark_ refuses: rotated by two, the mark and the door are the highest four
 * bits, and they are zero after the exclusive or only if the word is marked.
 */
static inline uint64_t weir_marked_value_(uint64_t word)
{
	return (word >> 2 | word << 62) ^ (WEIR_MARKED_ << 60);
}

/*
 * Returns true if a marked word can have this value.  A shift needs no large constant,
 * a comparison does.
 */
static inline bool weir_fits_mark_(uint64_t value)
{
	return !(value >> 60);
}

/* Returns true if the word is marked, n is a valid count, and n permits are free. */
static inline bool weir_may_take_(uint64_t word, int64_t n)
{
	uint64_t value = weir_marked_value_(word);

	return weir_fits_mark_(value) && (uint64_t)n <= value;
}

/* Returns the door of any word; OPEN if the word is marked. */
static inline uint64_t weir_door_(uint64_t word)
{
	return weir_is_marked_(word) ? WEIR_OPEN_ : word & WEIR_LOCKED_;
}

/* Returns the word, which is not marked, with another door. */
static inline uint64_t weir_with_door_(uint64_t word, uint64_t door)
{
	return (word & ~WEIR_LOCKED_) | door;
}

/* Returns the LOCKED word with the same value. */
static inline uint64_t weir_locked_(uint64_t word)
{
	return (weir_is_marked_(word) ? word ^ WEIR_MARK_ : word) |
	       WEIR_LOCKED_;
}

/* Returns the value of any word. */
static inline int64_t weir_value_(uint64_t word)
{
	return (int64_t)weir_locked_(word) >> 2;
}

/* Returns n permits in the units of the word. */
static inline uint64_t weir_units_(int64_t n)
{
	return (uint64_t)n << 2;
}

/*
 * Flags of state_, which is changed under the lock and read without it.  The
 * public initialisers contain the values of UNBOUNDED, BARGING, DRAIN and TRACKED
 * and the position of the bound.
 *
 *   CLOSED with DRAIN          A request that need not wait is still granted.
 *   TRACKED with DRAIN,        The semaphore was initialised statically and is to
 *   without CLOSED             be watched.  Its first acquire registers it.  Until
 *                              then its word is not marked, so that each acquire
 *                              reaches weir_sem_wait_ or a similar function.
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
#define WEIR_STATE_ROUSING_ UINT32_C(0x1ff00) /* FIFO: see sem_rouse.c */

/* Returns true if the semaphore is to be registered: see above. */
static inline bool weir_state_is_fresh_(uint32_t state)
{
	return (state & (WEIR_STATE_TRACKED_ | WEIR_STATE_DRAIN_ |
			 WEIR_STATE_CLOSED_)) ==
	       (WEIR_STATE_TRACKED_ | WEIR_STATE_DRAIN_);
}

static inline uint32_t weir_state_(const weir_sem *sem)
{
	/* [S3] acquire */
	return at_load_acquire(&sem->state_);
}

static inline bool weir_sem_is_barging_(const weir_sem *sem)
{
	/* relaxed: the policy never changes. */
	return at_load_relaxed(&sem->state_) & WEIR_STATE_BARGING_;
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
