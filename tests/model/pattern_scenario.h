/* SPDX-License-Identifier: MIT */
#ifndef TESTS_MODEL_PATTERN_SCENARIO_H
#define TESTS_MODEL_PATTERN_SCENARIO_H

/*
 * What the scenarios of patterns share.  Their semaphores are their own, so
 * nothing here knows of the ledger.
 */
#include <string.h>

#include "explore.h"
#include "weir/ctx.h"
#include "weir/sem.h"

/* Nobody waits, nothing is in flight. */
static inline void check_calm(weir_sem *sem)
{
	weir_sem_info info;

	EX_ASSERT(weir_sem_stat(sem, &info) == WEIR_OK);
	EX_ASSERT(info.waiters == 0 && info.oversized == 0 && info.granted == 0);
	EX_ASSERT(info.unbounded || info.capacity == info.free + info.held -
						info.debt);
}

#endif /* TESTS_MODEL_PATTERN_SCENARIO_H */
