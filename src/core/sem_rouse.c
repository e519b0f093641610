/* SPDX-License-Identifier: MIT */
/*
 * Rousing: a FIFO hand-off wakes the waiter behind the granted one, so that its
 * wake-up, which takes some microseconds, overlaps the critical section of the
 * granted waiter.  See docs/design/sem.md, "Spinning".
 *
 * A roused waiter that is not granted while it spins has been woken for nothing.
 * So state_ records, under the lock, whether rousing has paid lately:
 *
 *   bits 8 .. 10   failures  the number of failures since the last success
 *   bits 11 .. 16  skips     the number of hand-offs that will rouse no waiter
 *
 * After k failures in a row the next 2^k - 1 hand-offs rouse no waiter, at most
 * 63.  Both are hints: no outcome depends on them.
 */
#include "base/atomic.h"
#include "base/cpu.h"
#include "core/last_cpu.h"
#include "core/sem_grant.h"
#include "core/sem_queue.h"
#include "core/sem_word.h"

#define FAILURES_SHIFT 8
#define SKIPS_SHIFT 11
#define FAILURES_MAX 6u

static uint32_t skips_of(uint32_t state)
{
	return (state & WEIR_STATE_ROUSING_) >> SKIPS_SHIFT;
}

static uint32_t failures_of(uint32_t state)
{
	return state >> FAILURES_SHIFT & 7;
}

static void record(weir_sem *sem, uint32_t failures, uint32_t skips)
{
	/* relaxed: changed only under the lock, which this thread holds. */
	uint32_t state = at_load_relaxed(&sem->state_);
	uint32_t next = (state & ~WEIR_STATE_ROUSING_) |
			failures << FAILURES_SHIFT | skips << SKIPS_SHIFT;

	/*
	 * relaxed: a read-modify-write continues the release sequence of the
	 * last store, [S3].  So a thread that reads the state from it sees what
	 * was done before the semaphore was closed or registered.
	 */
	if (next != state)
		(void)at_add_relaxed(&sem->state_, next - state);
}

void weir_sem_rouse_next_(weir_sem *sem, struct weir_to_notify_ *to_notify)
{
	/* relaxed: changed only under the lock, which this thread holds. */
	uint32_t state = at_load_relaxed(&sem->state_);
	struct weir_waiter_ *w;

	if (state & (WEIR_STATE_BARGING_ | WEIR_STATE_CLOSED_))
		return;
	w = weir_waiter_of_(sem->queue_);
	if (w->kind != WEIR_THREAD_ || !weir_cpu_has_others_() ||
	    !weir_sem_releaser_may_be_remote_(sem, w->cpu))
		return;
	if (skips_of(state))
		record(sem, failures_of(state), skips_of(state) - 1);
	else
		weir_waiter_rouse_(w, to_notify);
}

void weir_sem_rousing_ended_(weir_sem *sem, const struct weir_waiter_ *w)
{
	/* relaxed: changed only under the lock, which this thread holds. */
	uint32_t failures = failures_of(at_load_relaxed(&sem->state_));

	if (!weir_waiter_sleeps_again_(w)) {
		record(sem, 0, 0);
		return;
	}
	if (failures < FAILURES_MAX)
		failures++;
	record(sem, failures, (1u << failures) - 1);
}
