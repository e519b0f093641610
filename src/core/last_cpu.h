/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CORE_LAST_CPU_H
#define WEIR_CORE_LAST_CPU_H

#include <stdbool.h>

#include "base/atomic.h"
#include "weir/sem.h"

/*
 * The CPUs from which the next release may come.  If permits are held and
 * returned, the next release comes from the thread that took them.  If permits
 * are used as signals, the next release comes from the thread that released
 * last.  cpu_ contains the CPU of the last take in its low half and the CPU of
 * the last release in its high half.  cpu_ is a hint: no outcome depends on it.
 */

/*
 * Record the CPU of a take, or of a release.  Requires: the semaphore is
 * locked.
 */
static inline void weir_sem_taken_at_(weir_sem *sem, uint8_t cpu)
{
	/* relaxed: both accesses; cpu_ is a hint. */
	uint8_t released = at_load_relaxed(&sem->cpu_) & 0xf0;

	at_store_relaxed(&sem->cpu_, (uint8_t)(released | cpu));
}

static inline void weir_sem_released_at_(weir_sem *sem, uint8_t cpu)
{
	/* relaxed: both accesses; cpu_ is a hint. */
	uint8_t taken = at_load_relaxed(&sem->cpu_) & 0x0f;

	at_store_relaxed(&sem->cpu_, (uint8_t)(cpu << 4 | taken));
}

/* Returns true if the next release may come from another CPU than `cpu`. */
static inline bool weir_sem_releaser_may_be_remote_(const weir_sem *sem,
						    uint8_t cpu)
{
	/* relaxed: cpu_ is a hint. */
	return at_load_relaxed(&sem->cpu_) != (cpu << 4 | cpu);
}

/* Returns true if the last release came from another CPU than `cpu`. */
static inline bool weir_sem_released_elsewhere_(const weir_sem *sem,
						uint8_t cpu)
{
	/* relaxed: cpu_ is a hint. */
	return at_load_relaxed(&sem->cpu_) >> 4 != cpu;
}

#endif /* WEIR_CORE_LAST_CPU_H */
