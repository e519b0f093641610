/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CORE_LAST_CPU_H
#define WEIR_CORE_LAST_CPU_H

#include <stdbool.h>

#include "base/atomic.h"
#include "weir/sem.h"

/*
 * Where the next release may come from: who has taken gives back, or, where
 * permits are signals, who has released releases again.  cpu_ has both CPUs, of
 * the last to take in the low half and of the last to release in the high one.
 * A hint: whatever it says changes no outcome.
 */

/* Permits were taken, or released, on this CPU.  Under the lock. */
static inline void weir_sem_taken_at_(weir_sem *sem, uint8_t cpu)
{
	/* relaxed: both, a hint. */
	uint8_t released = at_load_relaxed(&sem->cpu_) & 0xf0;

	at_store_relaxed(&sem->cpu_, (uint8_t)(released | cpu));
}

static inline void weir_sem_released_at_(weir_sem *sem, uint8_t cpu)
{
	/* relaxed: both, a hint. */
	uint8_t taken = at_load_relaxed(&sem->cpu_) & 0x0f;

	at_store_relaxed(&sem->cpu_, (uint8_t)(cpu << 4 | taken));
}

/* Whether a release may come from another CPU than this. */
static inline bool weir_sem_releaser_may_be_remote_(const weir_sem *sem, uint8_t cpu)
{
	/* relaxed: a hint. */
	return at_load_relaxed(&sem->cpu_) != (cpu << 4 | cpu);
}

#endif /* WEIR_CORE_LAST_CPU_H */
