/* SPDX-License-Identifier: MIT */
#ifndef TESTS_MODEL_PATTERN_SCENARIO_H
#define TESTS_MODEL_PATTERN_SCENARIO_H

/*
 * Shared by the scenarios of patterns.  A pattern uses its semaphores itself,
 * so the ledger does not see these calls.
 */
#include <string.h>

#include "explore.h"
#include "weir/ctx.h"
#include "weir/sem.h"

/* Check that no thread waits and no grant is in progress. */
static inline void check_calm(weir_sem *sem)
{
	weir_sem_info info;

	EX_ASSERT(weir_sem_stat(sem, &info) == WEIR_OK);
	EX_ASSERT(info.waiters == 0 && info.oversized == 0 && info.granted == 0);
	EX_ASSERT(info.unbounded || info.capacity == info.free + info.held -
						info.debt);
}

#endif /* TESTS_MODEL_PATTERN_SCENARIO_H */
