/* SPDX-License-Identifier: MIT */
/*
 * A consistent snapshot of a semaphore, for people and for tests.
 *
 * Without waiters the snapshot needs no lock: capacity, value and granted_ are
 * read between two reads of the word and of resizes_, and are valid if neither
 * has changed.  So a thread that calls stat in a loop delays no other call.
 * With waiters, only the lock holder can determine the sum of their weights and
 * the wait of the head: both are computed from the waiters, which are guarded
 * by the lock.  The semaphore has no room to keep both (C26: 64 bytes), so stat
 * takes the lock, like any other call.  It reads the head only, however long
 * the queue is, if all queued waiters want the same number of permits; if not,
 * it reads every queued waiter.
 */
#include "base/atomic.h"
#include "core/sem_grant.h"
#include "core/sem_lock.h"
#include "core/sem_queue.h"
#include "core/sem_word.h"
#include "record/record.h"
#include "weir/sem.h"

/* Attempts without the lock; the semaphore may change during each of them. */
#define ATTEMPTS 4

static int64_t add_saturating(int64_t a, int64_t b)
{
	return a > INT64_MAX - b ? INT64_MAX : a + b;
}

static int64_t multiply_saturating(int64_t a, int64_t b)
{
	return a > INT64_MAX / b ? INT64_MAX : a * b;
}

/* Returns the number of permits that all queued waiters want together. */
static int64_t waiting_permits(const weir_sem *sem)
{
	int64_t sum = 0;

	if (sem->queue_ && !weir_waiter_of_(sem->queue_)->mixed)
		return multiply_saturating(weir_waiter_of_(sem->queue_)->min,
					   sem->waiters_);
	RING_EACH(link, next, end, sem->queue_)
		sum = add_saturating(sum, weir_waiter_of_(link)->min);
	return sum;
}

static void count_waiting(const weir_sem *sem, weir_sem_info *info)
{
	info->waiting_permits = waiting_permits(sem);
	RING_EACH(link, next, end, sem->oversized_)
		info->oversized++;
	if (sem->queue_) {
		int64_t waited = weir_waiter_waited_ns_(
			weir_waiter_of_(sem->queue_), weir_now_ns());

		/* The clock of some machines goes back. */
		info->oldest_wait_ns = waited > 0 ? waited : 0;
	}
}

/*
 * Fill in the numbers that were read from *sem, and compute `held` from them.
 */
static void fill(const weir_sem *sem, weir_sem_info *info, uint32_t state,
		 int64_t capacity, int64_t value, int64_t granted)
{
	*info = (weir_sem_info){
		.name = weir_record_user_name_(sem->name_),
		.capacity = capacity,
		.free = value > 0 ? value : 0,
		.debt = value < 0 ? -value : 0,
		.granted = granted,
		.policy = state & WEIR_STATE_BARGING_ ? WEIR_BARGING :
							WEIR_FIFO,
		.unbounded = state & WEIR_STATE_UNBOUNDED_,
		.closed = state & WEIR_STATE_CLOSED_,
	};
	if (!info->unbounded) {
		int64_t out = capacity - value;

		/*
		 * Granted permits may have been released by mistake; and
		 * without the lock, granted_ may be newer than the word.
		 */
		if (info->granted > out)
			info->granted = out > 0 ? out : 0;
		info->held = out - info->granted;
	}
}

/*
 * Take the snapshot of a semaphore without waiters, without the lock.  If the
 * door is OPEN, the oversized list is empty; the queue is empty if waiters_ is
 * 0, too.  Returns false if the lock is needed: there are waiters, or the
 * semaphore has changed meanwhile.
 */
static bool read_unlocked(weir_sem *sem, weir_sem_info *info)
{
	/* [S4] acquire: this load and the next two. */
	uint16_t resizes = at_load_acquire(&sem->resizes_);
	uint64_t word = at_load_acquire(&sem->word_);
	int64_t capacity = at_load_acquire(&sem->capacity_);
	/* [S6] acquire: waiters_ is as of that unlock, or newer. */
	uint32_t waiters = at_load_acquire(&sem->waiters_);
	uint32_t state = weir_state_(sem);
	/*
	 * [S5] acquire: the second read of the word is not older than this one.
	 */
	int64_t granted = at_load_acquire(&sem->granted_);

	/* relaxed: both loads; ordered behind the acquire loads above. */
	if (weir_door_(word) != WEIR_OPEN_ || waiters ||
	    at_load_relaxed(&sem->word_) != word ||
	    at_load_relaxed(&sem->resizes_) != resizes)
		return false;
	fill(sem, info, state, capacity, weir_value_(word), granted);
	return true;
}

weir_err weir_sem_stat(weir_sem *sem, weir_sem_info *info)
{
	static const char call[] = "weir_sem_stat";
	int64_t value;
	weir_err err;

	if (weir_sem_is_misplaced_(sem) || !info)
		return WEIR_EINVAL;
	err = weir_sem_panic_(sem, call, weir_sem_problem_(sem));
	if (err)
		return err;
	for (int i = 0; i < ATTEMPTS; i++)
		if (read_unlocked(sem, info))
			return WEIR_OK;
	err = weir_sem_lock_(sem, call);
	if (err)
		return err;
	/*
	 * [S1] acquire.  granted_ is read after the word.  granted_ can only
	 * decrease meanwhile, so `held` is not negative.  relaxed: granted_ may
	 * change at any time; the acquire load above keeps this load after it.
	 * capacity_ changes under the lock only.
	 */
	value = weir_value_(at_load_acquire(&sem->word_));
	fill(sem, info, weir_state_(sem), at_load_relaxed(&sem->capacity_),
	     value, at_load_relaxed(&sem->granted_));
	info->waiters = sem->waiters_;
	count_waiting(sem, info);
	weir_sem_unlock_(sem, 0);
	return WEIR_OK;
}
