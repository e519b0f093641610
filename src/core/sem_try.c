/* SPDX-License-Identifier: MIT */
/*
 * Requests that may not wait: weir_sem_try_acquire after the fast path of
 * weir/inline.h has failed, and acquires whose deadline has passed.  Most of them
 * fail without the lock, so that a thread that polls delays no other call.
 */
#include "base/atomic.h"
#include "base/fork.h"
#include "base/hook.h"
#include "core/sem_grant.h"
#include "core/sem_lock.h"
#include "core/sem_queue.h"
#include "core/sem_wait.h"
#include "core/sem_watched.h"
#include "core/sem_word.h"

/*
 * Returns true if n permits cannot be taken now: too few are free, or (FIFO) a
 * waiter is queued.  Reads the state without the lock.  A queued waiter is no
 * proof while the semaphore is locked or has a spinner, because that waiter may
 * be granted next; nor during a resize, which queues waiters that its unlock
 * then grants.
 *
 * C29: in the child of a fork the door must be OPEN.  Otherwise the semaphore
 * may have waiters of the parent, which only the lock detects.
 */
static bool seen_to_fail(weir_sem *sem, int64_t n)
{
	/* [S4] acquire */
	uint16_t resizes = at_load_acquire(&sem->resizes_);
	/* [S2] acquire: waiters_ is as of that unlock, or newer. */
	uint64_t word = at_load_acquire(&sem->word_);
	uint32_t state = weir_state_(sem);

	if (n <= 0 || state & WEIR_STATE_CLOSED_ ||
	    (weir_door_(word) != WEIR_OPEN_ && weir_forks_()))
		return false;
	if (weir_value_(word) < n)
		return true;
	/* [S6] acquire.  relaxed: ordered after the load of waiters_. */
	return !(state & WEIR_STATE_BARGING_) &&
	       weir_door_(word) == WEIR_SHUT_ &&
	       at_load_acquire(&sem->waiters_) &&
	       at_load_relaxed(&sem->resizes_) == resizes;
}

bool weir_sem_seen_to_time_out_(weir_sem *sem, int64_t n)
{
	/* [S4] acquire */
	uint16_t before = at_load_acquire(&sem->resizes_);
	/* [S2] acquire: waiters_ is as of that unlock, or newer. */
	uint64_t seen = at_load_acquire(&sem->word_);
	/* [S4] acquire */
	int64_t capacity = at_load_acquire(&sem->capacity_);

	/*
	 * The door of a closed semaphore is SHUT.  A request for 0 permits never
	 * fails, but the value may be negative.  relaxed: both loads; ordered
	 * behind the acquire loads above.
	 */
	return weir_door_(seen) == WEIR_OPEN_ && n && weir_value_(seen) < n &&
	       n <= capacity && !at_load_relaxed(&sem->waiters_) &&
	       at_load_relaxed(&sem->resizes_) == before &&
	       !weir_sem_problem_(sem);
}

weir_err weir_sem_try_wait_(weir_sem *sem, int64_t n)
{
	static const char call[] = "weir_sem_try_acquire";
	uint64_t site = WEIR_SITE_, object;
	uint32_t state;
	int64_t taken;
	weir_err err;

	if (weir_sem_is_misplaced_(sem) || !weir_count_ok_(n))
		return WEIR_EINVAL;
	if (weir_take_recorded_(sem, n, site, false))
		return WEIR_OK;
	err = weir_sem_panic_(sem, call, weir_sem_problem_(sem));
	if (err)
		return err;
	weir_sem_register_fresh_(sem, site);
	if (seen_to_fail(sem, n)) {
		weir_record_failed_(weir_record_of_(sem), WEIR_EAGAIN);
		return WEIR_EAGAIN;
	}
	err = weir_sem_lock_(sem, call);
	if (err)
		return err;
	object = weir_record_of_(sem);
	state = weir_state_(sem);
	taken = weir_state_is_shut_(state) ? -1 : weir_sem_takeable_(sem, n, n);
	weir_sem_unlock_(sem, taken < 0 ? 0 : taken);
	if (taken < 0) {
		err = state & WEIR_STATE_CLOSED_ ? WEIR_ECLOSED : WEIR_EAGAIN;
		weir_record_failed_(object, err);
		return err;
	}
	weir_hook_emit_(WEIR_EVENT_ACQUIRED_, sem, sem->name_, n, WEIR_OK);
	weir_record_tried_(object, n, site);
	return WEIR_OK;
}
