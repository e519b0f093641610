/* SPDX-License-Identifier: MIT */
/* A consistent snapshot of a semaphore, for people and for tests. */
#include "base/atomic.h"
#include "core/sem_grant.h"
#include "core/sem_lock.h"
#include "core/sem_queue.h"
#include "core/sem_word.h"
#include "weir/sem.h"

static int64_t add_saturating(int64_t a, int64_t b)
{
	return a > INT64_MAX - b ? INT64_MAX : a + b;
}

static void count_waiting(const weir_sem *sem, weir_sem_info *info)
{
	RING_EACH(link, next, end, sem->queue_)
		info->waiting_permits = add_saturating(info->waiting_permits,
					weir_waiter_of_(link)->min);
	RING_EACH(link, next, end, sem->oversized_)
		info->oversized++;
	if (sem->queue_) {
		int64_t waited = weir_waiter_waited_ns_(
			weir_waiter_of_(sem->queue_), weir_now_ns());

		/* The clock of some machines goes back. */
		info->oldest_wait_ns = waited > 0 ? waited : 0;
	}
}

weir_err weir_sem_stat(weir_sem *sem, weir_sem_info *info)
{
	uint32_t state;
	int64_t value, granted;
	weir_err err;

	if (weir_sem_is_misplaced_(sem) || !info)
		return WEIR_EINVAL;
	err = weir_sem_lock_(sem, "weir_sem_stat");
	if (err)
		return err;
	state = weir_state_(sem);
	/*
	 * [S1] acquire.  granted_ is read after the word.  It can only decrease
	 * meanwhile, so `held` is not negative.
	 * relaxed: granted_ may change at any time; the acquire load above
	 * keeps this load after it.
	 */
	value = weir_value_(at_load_acquire(&sem->word_));
	granted = at_load_relaxed(&sem->granted_);
	*info = (weir_sem_info){
		.name = sem->name_,
		.capacity = sem->capacity_,
		.free = value > 0 ? value : 0,
		.debt = value < 0 ? -value : 0,
		.granted = granted,
		.waiters = sem->waiters_,
		.policy = state & WEIR_STATE_BARGING_ ? WEIR_BARGING :
							WEIR_FIFO,
		.unbounded = state & WEIR_STATE_UNBOUNDED_,
		.closed = state & WEIR_STATE_CLOSED_,
	};
	if (!info->unbounded) {
		int64_t out = sem->capacity_ - value;

		/* Granted permits may have been released by mistake. */
		if (info->granted > out)
			info->granted = out > 0 ? out : 0;
		info->held = out - info->granted;
	}
	count_waiting(sem, info);
	weir_sem_unlock_(sem, 0);
	return WEIR_OK;
}
