/* SPDX-License-Identifier: MIT */
#ifndef TESTS_MODEL_NAMED_ROLES_H
#define TESTS_MODEL_NAMED_ROLES_H

/*
 * Processes that several scenarios use.  "Settled" ones have made their calls
 * before the exploration begins.
 */
#include "named/lock.h"
#include "scenario.h"

/* Settled: holds n of `capacity` permits, and does nothing more. */
static inline void hold_of(int64_t capacity, int64_t n)
{
	join(capacity);
	EX_ASSERT(take(n) == WEIR_OK);
	proc_pause();
}

static inline void hold(void)
{
	hold_of(1, 1);
}

/* Settled: holds the permit; then releases it. */
static inline void hold_and_give(void)
{
	join(1);
	EX_ASSERT(take(1) == WEIR_OK);
	proc_settle();
	give(1);
}

/* Settled: waits for the permit; then releases it. */
static inline void wait_and_give(void)
{
	join(1);
	EX_ASSERT(take(1) == WEIR_OK);
	give(1);
}

/* Settled: waits for the permit, and keeps it. */
static inline void wait_and_keep(void)
{
	join(1);
	EX_ASSERT(take(1) == WEIR_OK);
	proc_pause();
}

/* Settled: has joined.  Then takes the permit and releases it. */
static inline void come_and_give(void)
{
	join(1);
	proc_settle();
	EX_ASSERT(take(1) == WEIR_OK);
	give(1);
}

/* Settled: has joined, and does nothing more. */
static inline void idle_along(void)
{
	join(1);
	proc_pause();
}

/* The process takes the lock, if it is free, and does not unlock. */
static inline bool let_lock(int proc)
{
	return nm_try_lock(handle_of(proc), handle_of(proc)->lock_id);
}

/* Returns true if the process has neither been killed nor stopped. */
static inline bool is_well(int proc)
{
	return proc_status(proc) == EX_RUNNING;
}

#endif /* TESTS_MODEL_NAMED_ROLES_H */
