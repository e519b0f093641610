/* SPDX-License-Identifier: MIT */
/*
 * The lock of a semaphore, and the misuse that is detected when it is taken.
 * The word: sem_word.h.  The unlock: sem_grant.c.
 */
#include "core/sem_lock.h"

#include "base/atomic.h"
#include "base/cpu.h"
#include "base/fork.h"
#include "base/panic.h"
#include "core/sem_grant.h"
#include "core/sem_queue.h"
#include "core/sem_word.h"

enum weir_problem_ weir_sem_problem_(const weir_sem *sem)
{
	uint32_t state = weir_state_(sem);

	if (state & WEIR_STATE_DESTROYED_)
		return WEIR_IS_DESTROYED_;
	if ((state & (WEIR_STATE_CLOSED_ | WEIR_STATE_DRAIN_)) ==
		    WEIR_STATE_DRAIN_ ||
	    (!(state & WEIR_STATE_BARGING_) && state >> WEIR_STATE_BOUND_SHIFT_))
		return WEIR_IS_NO_SEMAPHORE_;
	return WEIR_IS_WELL_;
}

weir_err weir_sem_panic_(const weir_sem *sem, const char *call,
			 enum weir_problem_ problem)
{
	switch (problem) {
	case WEIR_IS_WELL_:
		return WEIR_OK;
	case WEIR_IS_DESTROYED_:
		return weir_panic_("%s: semaphore %p is destroyed", call, sem);
	case WEIR_IS_NO_SEMAPHORE_:
		return weir_panic_("%s: %p is not a semaphore", call, sem);
	case WEIR_HAD_WAITERS_:
		return weir_panic_("%s: semaphore \"%s\" had waiters at a fork "
				   "and is used in the child", call, sem->name_);
	case WEIR_WAS_LOCKED_:
		break;
	}
	return weir_panic_("%s: semaphore \"%s\" was in use at a fork and is "
			   "used in the child", call, sem->name_);
}

/* Subtract `back` permits and drop the lock without granting. */
static void unlock_untouched(weir_sem *sem, int64_t back)
{
	/* relaxed: a first guess, the CAS reloads. */
	uint64_t word = at_load_relaxed(&sem->word_);

	/* [S2] release */
	while (!at_cas_weak_release(&sem->word_, &word,
				    weir_with_door_(word - weir_units_(back),
						    WEIR_SHUT_)))
		;
}

enum weir_problem_ weir_sem_enter_(weir_sem *sem, int64_t added)
{
	struct weir_ring_ *oldest = sem->queue_ ? sem->queue_ : sem->oversized_;

	if (oldest && weir_waiter_of_(oldest)->forks != (uint8_t)weir_forks_()) {
		unlock_untouched(sem, added);
		return WEIR_HAD_WAITERS_;
	}
	/* relaxed: a hint for threads that have waited long for the lock. */
	at_store_relaxed(&sem->forks_, (uint8_t)weir_forks_());
	return WEIR_IS_WELL_;
}

enum weir_problem_ weir_sem_lock_no_panic_(weir_sem *sem)
{
	struct weir_backoff_ backoff = { 0 };

	for (;;) {
		enum weir_problem_ problem = weir_sem_problem_(sem);
		/* relaxed: a first guess, the CAS checks it. */
		uint64_t word = at_load_relaxed(&sem->word_);

		if (problem)
			return problem;
		/* [S2] acquire */
		if (weir_door_(word) != WEIR_LOCKED_ &&
		    at_cas_weak_acquire(&sem->word_, &word,
					word | WEIR_LOCKED_))
			return weir_sem_enter_(sem, 0);
		if (weir_door_(word) != WEIR_LOCKED_)
			continue;
		weir_backoff_wait_(&backoff);
		/*
		 * The lock holder may be a thread of the parent process, which
		 * does not exist in this child.
		 * relaxed: a lock holder of this process has stored its fork
		 * count by now.
		 */
		if (weir_backoff_is_long_(&backoff) &&
		    at_load_relaxed(&sem->forks_) != (uint8_t)weir_forks_())
			return WEIR_WAS_LOCKED_;
	}
}

/*
 * C6: permits that were released before this call belong to the spinner, even
 * if the spinner has not seen them yet.
 */
static void serve_spinner(weir_sem *sem)
{
	/* relaxed: checked again under the lock; own releases are visible. */
	uint64_t word = at_load_relaxed(&sem->word_);

	if (weir_door_(word) == WEIR_SPINNING_ && weir_value_(word) > 0 &&
	    !weir_sem_lock_no_panic_(sem))
		weir_sem_unlock_(sem, 0);
}

weir_err weir_sem_lock_(weir_sem *sem, const char *call)
{
	serve_spinner(sem);
	return weir_sem_panic_(sem, call, weir_sem_lock_no_panic_(sem));
}
