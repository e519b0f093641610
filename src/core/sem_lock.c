/* SPDX-License-Identifier: MIT */
/*
 * The lock of a semaphore, and the misuse that is detected when it is taken.
 * The word: sem_word.h.  The unlock: sem_grant.c.
 *
 * Locked at a fork (C29).  If a thread of the parent held the lock at the fork,
 * no thread of the child ever unlocks.  forks_ is the fork count of the last
 * lock holder, stored just after the lock was taken.  So if a thread finds the
 * lock held and another count in forks_, then there are two possible reasons:
 * the lock is held since the fork, or a thread of this process has taken the
 * lock and has not stored its count yet.  The second state lasts for two
 * instructions, unless that thread is preempted.  So the waiting thread
 * measures, by the clock, for how long it finds another count: after a second
 * it reports WEIR_WAS_LOCKED_.  If its deadline passes before that, or its
 * context is cancelled, it reports WEIR_GAVE_UP_; but not within the first
 * GRACE_NS, so that a call whose deadline has passed already does not fail
 * spuriously.  The clock runs on while the process is stopped; therefore no
 * single wait counts for more than STEP_NS.
 */
#include "core/sem_lock.h"

#include "base/atomic.h"
#include "base/fork.h"
#include "base/panic.h"
#include "core/ctx_wait.h"
#include "core/sem_contend.h"
#include "core/sem_grant.h"
#include "core/sem_queue.h"
#include "core/sem_word.h"
#include "record/record.h"

#define ORPHANED_NS 1000000000	/* then the lock is held since a fork */
#define STEP_NS 100000000	/* one wait counts for at most this */
#define GRACE_NS 10000000	/* before this, the call's limit is ignored */

const char *weir_sem_name_(const weir_sem *sem)
{
	/* relaxed: for a message. */
	return weir_record_user_name_(at_load_relaxed(&sem->name_));
}

enum weir_problem_ weir_sem_problem_(const weir_sem *sem)
{
	uint32_t state = weir_state_(sem);

	if (state & WEIR_STATE_DESTROYED_)
		return WEIR_IS_DESTROYED_;
	if ((state & (WEIR_STATE_CLOSED_ | WEIR_STATE_DRAIN_ |
		      WEIR_STATE_TRACKED_)) == WEIR_STATE_DRAIN_ ||
	    (!(state & WEIR_STATE_BARGING_) &&
	     (state & ~WEIR_STATE_ROUSING_) >> WEIR_STATE_BOUND_SHIFT_))
		return WEIR_IS_NO_SEMAPHORE_;
	return WEIR_IS_WELL_;
}

weir_err weir_sem_report_(const weir_sem *sem, const char *call,
			  enum weir_problem_ problem)
{
	switch (problem) {
	case WEIR_IS_DESTROYED_:
		return weir_panic_("%s: semaphore %p is destroyed", call, sem);
	case WEIR_IS_NO_SEMAPHORE_:
		return weir_panic_("%s: %p is not a semaphore", call, sem);
	case WEIR_HAD_WAITERS_:
		return weir_panic_("%s: semaphore %o had waiters at a fork "
				   "and is used in the child", call,
				   weir_sem_name_(sem), sem);
	case WEIR_LOST_WAITER_:
		/*
		 * The call and the semaphore may be inside a channel or a pool; the
		 * operation is the caller's.  No call takes the lock any more, so the
		 * list does not change.
		 */
		return weir_panic_("%s: semaphore %o: its oldest waiter, "
				   "operation %p, was initialised again while "
				   "it was submitted", call, weir_sem_name_(sem),
				   sem, weir_sem_first_(sem));
	case WEIR_IS_WELL_:
	case WEIR_WAS_LOCKED_:
	case WEIR_GAVE_UP_:
		break;
	}
	return weir_panic_("%s: semaphore %o was in use at a fork and is used "
			   "in the child", call, weir_sem_name_(sem), sem);
}

/* Subtract `back` permits and drop the lock without granting. */
static void unlock_untouched(weir_sem *sem, int64_t back)
{
	/* relaxed: a first guess, the CAS reloads. */
	uint64_t word = at_load_relaxed(&sem->word_);

	/* [S2] release, [S7] acquire */
	while (!at_cas_weak_acq_rel(&sem->word_, &word,
				    weir_with_door_(word - weir_units_(back),
						    WEIR_SHUT_)))
		;
	weir_sem_unlocked_(sem);
}

enum weir_problem_ weir_sem_enter_(weir_sem *sem, int64_t added)
{
	const struct weir_waiter_ *first = weir_sem_first_(sem);
	uint8_t forks = (uint8_t)weir_forks_();

	if (first && (first->forks != forks || !first->place)) {
		/* A waiter on a list has a place, unless its memory was reset. */
		bool lost = !first->place;

		unlock_untouched(sem, added);
		return lost ? WEIR_LOST_WAITER_ : WEIR_HAD_WAITERS_;
	}
	/* relaxed: a hint for threads that have waited long for the lock. */
	at_store_relaxed(&sem->forks_, forks);
	return WEIR_IS_WELL_;
}

/* A thread that waits for the lock, and the limit of its call. */
struct wait {
	int64_t deadline_ns;
	const struct weir_ctx *ctx;	/* null: none */
	struct weir_contender_ contender;
	int64_t seen_ns;	/* when forks_ was compared last; 0: never */
	int64_t orphaned_ns;	/* for how long forks_ has been another count */
};

static bool is_orphaned(const weir_sem *sem)
{
	/* relaxed: only the lock holder's own count ends the measurement. */
	return at_load_relaxed(&sem->forks_) != (uint8_t)weir_forks_();
}

/*
 * The lock seems to be held since a fork.  Returns the reason to stop waiting
 * for it: see "Locked at a fork" above.
 */
static enum weir_problem_ check_orphaned(struct wait *wait)
{
	int64_t now_ns = weir_now_ns();
	int64_t step_ns = wait->seen_ns ? now_ns - wait->seen_ns : 0;

	wait->orphaned_ns += step_ns < STEP_NS ? step_ns : STEP_NS;
	wait->seen_ns = now_ns;
	if (wait->orphaned_ns >= ORPHANED_NS)
		return WEIR_WAS_LOCKED_;
	if (wait->orphaned_ns >= GRACE_NS &&
	    (now_ns >= wait->deadline_ns ||
	     (wait->ctx && weir_ctx_cancelled_(wait->ctx))))
		return WEIR_GAVE_UP_;
	return WEIR_IS_WELL_;
}

/* The lock is held: wait until it may be free, or return a problem. */
static enum weir_problem_ await_unlock(weir_sem *sem, struct wait *wait)
{
	if (is_orphaned(sem)) {
		enum weir_problem_ problem = check_orphaned(wait);

		if (problem)
			return problem;
	} else {
		wait->seen_ns = wait->orphaned_ns = 0;
	}
	weir_sem_await_unlock_(sem, &wait->contender);
	return WEIR_IS_WELL_;
}

/* Returns false if the lock is held; otherwise *problem is the result. */
static bool try_lock(weir_sem *sem, enum weir_problem_ *problem)
{
	/* relaxed: a first guess, the CAS checks it. */
	uint64_t word = at_load_relaxed(&sem->word_);

	*problem = weir_sem_problem_(sem);
	if (*problem)
		return true;
	while (weir_door_(word) != WEIR_LOCKED_) {
		/* [S2] acquire */
		if (at_cas_weak_acquire(&sem->word_, &word,
					weir_locked_(word))) {
			*problem = weir_sem_enter_(sem, 0);
			return true;
		}
	}
	return false;
}

/* The lock is held. */
__attribute__((noinline))
static enum weir_problem_ lock_later(weir_sem *sem, int64_t deadline_ns,
				     const struct weir_ctx *ctx)
{
	struct wait wait = { .deadline_ns = deadline_ns, .ctx = ctx };
	enum weir_problem_ problem;

	do
		problem = await_unlock(sem, &wait);
	while (!problem && !try_lock(sem, &problem));
	weir_sem_end_contention_(sem, &wait.contender);
	return problem;
}

static enum weir_problem_ lock(weir_sem *sem, int64_t deadline_ns,
			       const struct weir_ctx *ctx)
{
	enum weir_problem_ problem;

	if (weir_sem_is_awaited_(sem))
		weir_sem_yield_to_starved_(sem);
	return try_lock(sem, &problem) ? problem :
					 lock_later(sem, deadline_ns, ctx);
}

enum weir_problem_ weir_sem_lock_no_panic_(weir_sem *sem)
{
	return lock(sem, WEIR_FOREVER, NULL);
}

/*
 * C6: permits that were released before this call belong to the spinner, even
 * if the spinner has not seen them yet.
 */
static void serve_spinner(weir_sem *sem)
{
	/*
	 * relaxed: checked again under the lock; a thread sees its own
	 * releases.
	 */
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

weir_err weir_sem_lock_until_(weir_sem *sem, const char *call,
			      int64_t deadline_ns, const struct weir_ctx *ctx)
{
	enum weir_problem_ problem;
	weir_err why;

	serve_spinner(sem);
	problem = lock(sem, deadline_ns, ctx);
	if (problem != WEIR_GAVE_UP_)
		return weir_sem_panic_(sem, call, problem);
	why = ctx ? weir_ctx_cancelled_(ctx) : WEIR_OK;
	return why ? why : WEIR_ETIMEDOUT;
}
