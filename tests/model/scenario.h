/* SPDX-License-Identifier: MIT */
#ifndef TESTS_MODEL_SCENARIO_H
#define TESTS_MODEL_SCENARIO_H

/* Shared by the scenarios of the core. */
#include <string.h>

#include "core/sem_grant.h"
#include "core/sem_lock.h"
#include "core/sem_word.h"
#include "core/waiter.h"
#include "explore.h"
#include "weir/ctx.h"
#include "weir/sem.h"

#include "ledger.h"

/* Take the lock and drop it.  The ledger checks the semaphore at the unlock. */
static inline void lock_and_unlock(weir_sem *sem)
{
	EX_ASSERT(weir_sem_lock_(sem, "scenario") == WEIR_OK);
	weir_sem_unlock_(sem, 0);
}

/* Check that no thread waits, no grant is in progress and the door is open. */
static inline void check_quiet(weir_sem *sem)
{
	weir_sem_info info;

	lock_and_unlock(sem);
	EX_ASSERT(weir_sem_stat(sem, &info) == WEIR_OK);
	EX_ASSERT(info.waiters == 0 && info.oversized == 0);
	EX_ASSERT(info.granted == 0 && info.free >= 0 && info.held >= 0);
	EX_ASSERT(info.free - info.debt == weir_value_(sem->word_));
	EX_ASSERT((sem->word_ & 1) == 0);
	/* A door that stays SHUT would keep later calls off the fast path. */
	EX_ASSERT(info.closed || weir_door_(sem->word_) == WEIR_OPEN_ ||
		  (info.debt && sem->state_ & WEIR_STATE_TRACKED_));
	/* C47: no inlined code changes the word of a watched semaphore. */
	EX_ASSERT(!(sem->state_ & WEIR_STATE_TRACKED_) || sem->word_ & 2);
}

#endif /* TESTS_MODEL_SCENARIO_H */
