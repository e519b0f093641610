/* SPDX-License-Identifier: MIT */
#ifndef TESTS_MODEL_SCENARIO_H
#define TESTS_MODEL_SCENARIO_H

/* What the scenarios of the core share. */
#include <string.h>

#include "core/waiter.h"
#include "explore.h"
#include "weir/ctx.h"
#include "weir/sem.h"

#include "ledger.h"

/* Nobody waits, nothing is in flight, the word is as it should be. */
static inline void check_quiet(weir_sem *sem)
{
	weir_sem_info info;

	EX_ASSERT(weir_sem_stat(sem, &info) == WEIR_OK);
	EX_ASSERT(info.waiters == 0 && info.oversized == 0);
	EX_ASSERT(info.granted == 0 && info.free >= 0 && info.held >= 0);
	EX_ASSERT((sem->word_ & 1) == 0);
	/* Open again, unless closed: an idle semaphore costs nothing. */
	EX_ASSERT(info.closed || (sem->word_ & 2) == 0);
}

#endif /* TESTS_MODEL_SCENARIO_H */
