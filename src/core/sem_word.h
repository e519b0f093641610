/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CORE_SEM_WORD_H
#define WEIR_CORE_SEM_WORD_H

/*
 * The state of a semaphore: the word, and the bits that change rarely.
 *
 *    63                                              2     1       0
 *   +-------------------------------------------------+-------+--------+
 *   |   value = free permits - debt (signed)          | SLOW  | LOCKED |
 *   +-------------------------------------------------+-------+--------+
 *
 *   SLOW    Go through the lock.  Legal to leave set for no reason; illegal
 *           to leave clear over one of: a queue (FIFO), a queue whose head has
 *           not been called (BARGING), somebody aside, CLOSED, TRACKED,
 *           DESTROYED.  Changed only by whoever takes or drops LOCKED.
 *   LOCKED  Somebody works on the queue.  Comes with SLOW, always.  While it
 *           is set the value is changed by releases, which add, and by the
 *           holder.
 *
 *           SLOW LOCKED   acquire(n)                  release(n)
 *   open      0     0     take if n <= value, or lock  add
 *   shut      1     0     lock                         add and lock, settle
 *   locked    1     1     wait for the lock            add and leave
 *
 *   Updates add to, subtract from or set bits of the word that was read.  None
 *   rebuilds it from the value alone: that would drop the flags.
 *
 * Pairs
 *
 *   [S1] permit    release: every CAS that adds permits
 *                  acquire: every CAS that takes some, and the one that unlocks
 *                  What was done under a permit is seen by its next holders.
 *                  Read-modify-writes in between continue the release
 *                  sequence, so it holds however many come and go.
 *   [S2] lock      release: the CAS that clears LOCKED
 *                  acquire: the CAS that sets it
 *                  What was done under the lock is seen by its next holder.
 *   [S3] closed    release: weir_sem_close   acquire: weir_state_
 *                  Who is told WEIR_ECLOSED sees what the closer did before.
 *   [S4] capacity  release: weir_sem_resize, weir_sem_forget
 *                  acquire: overflows (sem.c)
 *                  Who sees part of a resize sees that resizes_ has moved on.
 *   [S5] granted   release: wait_within (sem_wait.c)   acquire: weir_sem_destroy
 *                  Whoever was granted is done with the semaphore before one
 *                  that was granted beside it destroys it.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "weir/sem.h"

#define WEIR_LOCKED_ UINT64_C(1)
#define WEIR_SLOW_ UINT64_C(2)
#define WEIR_FLAGS_ (WEIR_LOCKED_ | WEIR_SLOW_)

static inline int64_t weir_value_(uint64_t word)
{
	return (int64_t)word >> 2;
}

/* n permits as they stand in the word. */
static inline uint64_t weir_units_(int64_t n)
{
	return (uint64_t)n << 2;
}

static inline bool weir_count_ok_(int64_t n)
{
	return (uint64_t)n <= (uint64_t)WEIR_SEM_MAX;
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

static inline bool weir_sem_is_misplaced_(const weir_sem *sem)
{
	return !sem || (uintptr_t)sem % _Alignof(weir_sem);
}

/* Whether min..max permits can be asked of sem at all. */
static inline bool weir_request_ok_(const weir_sem *sem, int64_t min,
				    int64_t max)
{
	return !weir_sem_is_misplaced_(sem) && weir_count_ok_(min) &&
	       weir_count_ok_(max) && min <= max;
}

#endif /* WEIR_CORE_SEM_WORD_H */
