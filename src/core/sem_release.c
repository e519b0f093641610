/* SPDX-License-Identifier: MIT */
/*
 * Semaphore: releasing.  sem_word.h describes the state word.
 */
#include "base/atomic.h"
#include "base/cpu.h"
#include "base/hook.h"
#include "base/panic.h"
#include "core/last_cpu.h"
#include "core/sem_grant.h"
#include "core/sem_lock.h"
#include "core/sem_queue.h"
#include "core/sem_wait.h"
#include "core/sem_watched.h"
#include "core/sem_word.h"
#include "record/record.h"
#include "weir/sem.h"

/*
 * Returns true if a release of n is too large: more than the permits that are
 * out, or beyond the maximum.  capacity - value permits are out; the capacity
 * of an unbounded semaphore is the maximum.  Sets *word to the word that was
 * examined.
 *
 * A resize changes the capacity and the value one after the other, in the order
 * in which the intermediate state allows a larger release (set_capacity,
 * sem_resize.c).  So a release that seems too large is too large only if
 * capacity and value were read consistently: resizes_ and the word have not
 * changed meanwhile.
 */
static bool overflows(weir_sem *sem, uint64_t *word, int64_t n)
{
	for (;;) {
		/* [S4] acquire: this load and the next three. */
		uint16_t resizes = at_load_acquire(&sem->resizes_);
		uint64_t seen = at_load_acquire(&sem->word_);
		int64_t capacity = at_load_acquire(&sem->capacity_);
		uint64_t again = at_load_acquire(&sem->word_);

		*word = seen;
		if (n <= capacity - weir_value_(seen))
			return false;
		/* relaxed: ordered after the acquire loads above. */
		if (again == seen && at_load_relaxed(&sem->resizes_) == resizes)
			return true;
	}
}

/*
 * Report a misuse.  `call` is for the message; null: the call promises an error
 * instead of a panic.
 */
static weir_err report(const weir_sem *sem, const char *call,
		       enum weir_problem_ problem)
{
	if (call)
		return weir_sem_panic_(sem, call, problem);
	return problem ? WEIR_EINVAL : WEIR_OK;
}

/* Count the release of more permits than are out. */
static weir_err refuse(const weir_sem *sem)
{
	weir_record_misused_(weir_record_of_(sem), RG_OVER_RELEASE);
	return WEIR_EOVERFLOW;
}

/* The rest of put(): n permits have been added, and the semaphore is locked. */
static weir_err grant_locked(weir_sem *sem, int64_t n, const char *call,
			     struct weir_to_notify_ *to_notify)
{
	enum weir_problem_ problem = weir_sem_enter_(sem, n);

	if (problem)
		return report(sem, call, problem);
	/* The CPU is a hint for threads that spin; operations do not. */
	if (!sem->queue_ || weir_waiter_of_(sem->queue_)->kind < WEIR_OPERATION_)
		weir_sem_released_at_(sem, weir_cpu_());
	weir_sem_unlock_and_list_(sem, 0, to_notify);
	return WEIR_OK;
}

/*
 * Add n permits, and list the waiters that are granted them.  The caller
 * notifies these.  `word` is the word for which overflows() has returned false.
 * `call`: see report().
 */
static weir_err put(weir_sem *sem, int64_t n, uint64_t word, const char *call,
		    struct weir_to_notify_ *to_notify)
{
	do {
		uint64_t more = word + weir_units_(n);

		/*
		 * If the sum does not fit a marked word, `more` decodes as
		 * SHUT.
		 */
		if (weir_door_(more) != WEIR_SHUT_) {
			/*
			 * If LOCKED, the lock holder's unlock fails, and it
			 * re-examines the word; if SPINNING, the spinner sees
			 * the permits.
			 *
			 * [S1] release.  Until this CAS succeeds, this call is
			 * running, so *sem must not be destroyed.  From then on
			 * the next holder may destroy it: this is the last
			 * access.
			 */
			if (at_cas_weak_release(&sem->word_, &word, more))
				return WEIR_OK;
			continue;
		}
		/* [S1] release, and [S2] acquire: add and lock in one step. */
		if (at_cas_weak_acq_rel(&sem->word_, &word,
					weir_locked_(word) + weir_units_(n)))
			return grant_locked(sem, n, call, to_notify);
	} while (!overflows(sem, &word, n));
	return refuse(sem);
}

/*
 * The slow path of a release by the user: checks the arguments, emits an event
 * and records the release.
 */
static weir_err put_reported(weir_sem *sem, int64_t n, const char *call,
			     uint64_t site)
{
	struct weir_to_notify_ to_notify = { .first = NULL };
	uint64_t word, object;
	weir_err err;

	if (weir_sem_is_misplaced_(sem) || !weir_count_ok_(n))
		return WEIR_EINVAL;
	err = report(sem, call, weir_sem_problem_(sem));
	if (err)
		return err;
	if (overflows(sem, &word, n))
		return refuse(sem);
	/*
	 * relaxed: for the event only; the first acquire may be storing the
	 * name.
	 */
	weir_hook_emit_(WEIR_EVENT_RELEASED_, sem, at_load_relaxed(&sem->name_),
			n, WEIR_OK);
	/* When the permits have been added, *sem may not exist any more. */
	object = weir_record_of_(sem);
	err = put(sem, n, word, call, &to_notify);
	/*
	 * Before the callbacks that run in the notification: the permits that
	 * they acquire are newer, and the newest are given back first.
	 */
	if (!err && object)
		weir_record_gave_(object, n, site);
	weir_sem_notify_(&to_notify);
	return err;
}

/* The fast path of a watched semaphore.  Returns false if nothing was done. */
static bool put_watched(weir_sem *sem, int64_t n, uint64_t site)
{
	struct rg_slot *slot;
	uint64_t object;
	bool is_ready;

	/* Only a watched semaphore has a marked word. */
	if (weir_sem_is_misplaced_(sem) || !weir_count_ok_(n) ||
	    !(weir_state_(sem) & WEIR_STATE_TRACKED_))
		return false;
	is_ready = weir_record_ready_to_give_(sem, &slot);
	/* As in put_reported. */
	object = is_ready ? 0 : weir_record_of_(sem);
	if (!weir_put_watched_(sem, n))
		return false;
	if (is_ready)
		weir_record_gave_in_(slot, n);
	else
		weir_record_gave_(object, n, site);
	return true;
}

__attribute__((noinline))
static weir_err try_release_long(weir_sem *sem, int64_t n)
{
	uint64_t site = WEIR_SITE_;

	if (put_watched(sem, n, site))
		return WEIR_OK;
	return put_reported(sem, n, NULL, site);
}

weir_err weir_sem_try_release(weir_sem *sem, int64_t n)
{
	uint64_t word;

	if (weir_put_fast_(sem, n, &word))
		return WEIR_OK;
	return try_release_long(sem, n);
}

__attribute__((noinline))
static void release_long(weir_sem *sem, int64_t n)
{
	static const char call[] = "weir_sem_release";
	uint64_t site = WEIR_SITE_;
	weir_err err;

	if (put_watched(sem, n, site))
		return;

	if (weir_sem_is_misplaced_(sem)) {
		weir_panic_("%s: %p is not a semaphore", call, sem);
		return;
	}
	if (!weir_count_ok_(n)) {
		weir_panic_("%s: semaphore %o: invalid count %d", call,
			    weir_sem_name_(sem), sem, n);
		return;
	}
	err = put_reported(sem, n, call, site);
	if (err == WEIR_EOVERFLOW) {
		/* relaxed: both loads, for the message only. */
		int64_t capacity = at_load_relaxed(&sem->capacity_);
		int64_t value = weir_value_(at_load_relaxed(&sem->word_));

		if (weir_state_(sem) & WEIR_STATE_UNBOUNDED_)
			weir_panic_("%s: semaphore %o: %d permits released, "
				    "%d free (maximum %d)", call,
				    weir_sem_name_(sem), sem, n, value,
				    capacity);
		else
			weir_panic_("%s: semaphore %o: %d permits released, "
				    "%d held (capacity %d, free %d)", call,
				    weir_sem_name_(sem), sem, n,
				    capacity - value, capacity,
				    value > 0 ? value : 0);
	}
}

/*
 * As acquire_again of sem.c, for a release of the semaphore that this thread
 * acquired last.  The fast path has loaded the word; loading it again would
 * delay the CAS.
 */
__attribute__((noinline))
static void release_again(weir_sem *sem, int64_t n, uint64_t word)
{
	struct rg_slot *slot;

	if (weir_record_ready_to_give_(sem, &slot) &&
	    weir_put_marked_(sem, word, n))
		weir_record_gave_in_(slot, n);
	else
		release_long(sem, n);
}

/* As weir_sem_acquire_long_. */
void weir_sem_release_long_(weir_sem *sem, int64_t n, uint64_t word)
	__attribute__((alias("release_again")));

WEIR_HOT_
void weir_sem_release(weir_sem *sem, int64_t n)
{
	uint64_t word;

	if (!weir_put_fast_(sem, n, &word))
		release_again(sem, n, word);
}

void weir_sem_put_(weir_sem *sem, int64_t n)
{
	struct weir_to_notify_ to_notify = { .first = NULL };
	uint64_t word;

	if (weir_put_fast_(sem, n, &word))
		return;
	if (overflows(sem, &word, n)) {
		(void)refuse(sem);
		return;
	}
	(void)put(sem, n, word, "weir_sem_acquire", &to_notify);
	weir_sem_notify_(&to_notify);
}
