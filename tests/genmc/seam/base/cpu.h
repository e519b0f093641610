/* SPDX-License-Identifier: MIT */
#ifndef WEIR_BASE_CPU_H
#define WEIR_BASE_CPU_H

/*
 * One CPU.  With ROUSES, a hand-off rouses the next waiter, as on several CPUs.
 * A thread that would wait for a lock ends its execution instead: GenMC explores
 * the executions in which the lock is free as well.
 */
#include <stdbool.h>
#include <stdint.h>

struct weir_backoff_ {
	uint32_t rounds;
};

#define weir_cpu_() ((uint8_t)1)
#ifdef ROUSES
#define weir_cpu_has_others_() true
#else
#define weir_cpu_has_others_() false
#endif
#define weir_cpu_pause_() ((void)0)
#define weir_cpu_yield_() ((void)0)
#define weir_backoff_recheck_(backoff) ((void)(backoff))
#define weir_backoff_is_long_(backoff) ((void)(backoff), false)
#define weir_backoff_wait_(backoff) ((void)(backoff), __VERIFIER_assume(0))

#endif /* WEIR_BASE_CPU_H */
