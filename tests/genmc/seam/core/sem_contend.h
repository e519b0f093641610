/* SPDX-License-Identifier: MIT */
#ifdef CONTENDED
#include_next "core/sem_contend.h"
#elif !defined(WEIR_CORE_SEM_CONTEND_H)
#define WEIR_CORE_SEM_CONTEND_H

/*
 * A thread that would wait for the lock of a semaphore ends its execution
 * instead: GenMC explores the executions in which the lock is free as well.
 * tests/genmc/contend.c defines CONTENDED and uses the core's own file.
 */
#include <stdbool.h>
#include <stdint.h>

#include "weir/sem.h"

struct weir_contender_ {
	uint32_t unused;
};

/* All semaphores share one entry, also of the published numbers. */
#define WEIR_CONTENDED_ 1u
static struct weir_contender_ weir_contended_[WEIR_CONTENDED_];
#define weir_contended_of_(sem) ((void)(sem), weir_contended_)

#define weir_sem_await_unlock_(...) ((void)(__VA_ARGS__), __VERIFIER_assume(0))
#define weir_sem_end_contention_(sem, contender) ((void)(contender))
#define weir_sem_is_awaited_(sem) false
#define weir_sem_yield_to_starved_(sem) ((void)0)
#define weir_sem_unlocked_(sem) ((void)0)

#endif /* WEIR_CORE_SEM_CONTEND_H */
