/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CORE_SEM_CONTEND_H
#define WEIR_CORE_SEM_CONTEND_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/spin.h"
#include "weir/sem.h"

/*
 * Contention for the lock of a semaphore: sleeping until it is dropped, and a
 * bound for overtaking.  docs/design/sem.md, "Waiting for the lock".
 *
 * A semaphore has no room for this state.  The state is kept in a table in
 * static memory; the address of a semaphore determines its entry.  An entry can
 * be accessed after the unlock, when the semaphore may not exist any more.
 * Semaphores that share an entry cause needless wake-ups for each other, and
 * nothing else.
 */
struct weir_contended_ {
	uint32_t sleepers;	/* threads that sleep, or are about to */
	const weir_sem *starved; /* its lock is awaited by a starved thread */
} __attribute__((aligned(64)));

#define WEIR_CONTENDED_ 64u

/*
 * A thread that has slept this often without getting the lock is starved.  All others
 * then yield to it, which costs each of them a place in the scheduler's queue, so a
 * thread that is late by chance must not become starved.
 */
#ifndef WEIR_SLEEPS_
#define WEIR_SLEEPS_ 4
#endif

extern struct weir_contended_ weir_contended_[WEIR_CONTENDED_];

static inline struct weir_contended_ *weir_contended_of_(const weir_sem *sem)
{
	uintptr_t at = (uintptr_t)sem >> 6;

	return &weir_contended_[(at ^ at >> 6 ^ at >> 12) % WEIR_CONTENDED_];
}

/* A thread that waits for the lock.  Zeroed at the start. */
struct weir_contender_ {
	struct weir_spin_wait_ spin;
	bool spins;		/* `spin` has begun */
	bool starved;		/* it has set `starved` in the entry */
	uint32_t sleeps;	/* how often it has slept */
};

/*
 * Called while the lock is held.  Returns when the lock has been dropped, or
 * after 10 ms, or spuriously.  The caller then tries to lock, and calls this
 * function again if that fails.
 */
void weir_sem_await_unlock_(weir_sem *sem, struct weir_contender_ *contender);

/* Called when the contender has taken the lock, or has given up. */
void weir_sem_end_contention_(const weir_sem *sem,
			      const struct weir_contender_ *contender);

/* Returns true if a starved thread waits for the lock of sem. */
static inline bool weir_sem_is_awaited_(const weir_sem *sem)
{
	/* relaxed: a hint; no outcome depends on it. */
	return at_load_relaxed(&weir_contended_of_(sem)->starved) == sem;
}

/*
 * Called before the first attempt to lock, if a starved thread waits for the
 * lock: let that thread take it first.
 */
void weir_sem_yield_to_starved_(const weir_sem *sem);

/*
 * Called after the CAS that unlocks: wake a thread that sleeps until the lock
 * is dropped.  Does not access *sem.
 */
void weir_sem_wake_contender_(weir_sem *sem);

static inline void weir_sem_unlocked_(weir_sem *sem)
{
	/* relaxed: ordered behind the CAS, whose acquire is of [S7]. */
	if (at_load_relaxed(&weir_contended_of_(sem)->sleepers))
		weir_sem_wake_contender_(sem);
}

#endif /* WEIR_CORE_SEM_CONTEND_H */
