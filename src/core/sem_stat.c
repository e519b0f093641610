/* SPDX-License-Identifier: MIT */
/*
 * A consistent snapshot of a semaphore, for people and for tests.
 *
 * The snapshot needs no lock: capacity, value and granted_ are read between two
 * reads of the word and of resizes_, and are valid if neither has changed.  The
 * sum of the weights and the wait of the head are in the waiters, which only
 * the lock holder may access.  So the first stat after a change of the lists
 * takes the lock and publishes both (sem_shown.h); the stats that follow read
 * what it has published.  A thread that calls stat in a loop therefore holds
 * the lock once per change of the lists, however often it calls.  Without
 * waiters nothing can be published: then every stat takes the lock while the
 * word is SHUT, that is, if the semaphore is closed, or watched and in debt.
 *
 * The stat that takes the lock reads the head only, however long the queue is,
 * if all queued waiters want the same number of permits; if not, it reads every
 * queued waiter.
 */
#include "base/atomic.h"
#include "core/sem_grant.h"
#include "core/sem_lock.h"
#include "core/sem_queue.h"
#include "core/sem_shown.h"
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

/* Requires: the lock is held. */
static void count_waiting(const weir_sem *sem, int64_t now_ns,
			  struct weir_shown_ *shown)
{
	shown->waiters = sem->waiters_;
	shown->oversized = 0;
	RING_EACH(link, next, end, sem->oversized_)
		shown->oversized++;
	shown->permits = waiting_permits(sem);
	shown->since_ns = now_ns;
	shown->until_ns = WEIR_FOREVER;
	if (sem->queue_) {
		const struct weir_waiter_ *head = weir_waiter_of_(sem->queue_);

		shown->since_ns -= weir_waiter_waited_ns_(head, now_ns);
		shown->until_ns = weir_waiter_evicted_at_ns_(head);
	}
}

static void fill_waiting(weir_sem_info *info, const struct weir_shown_ *shown,
			 int64_t now_ns)
{
	info->waiters = shown->waiters;
	info->oversized = shown->oversized;
	info->waiting_permits = shown->permits;
	/* The clock of some machines goes back. */
	if (shown->waiters && now_ns > shown->since_ns)
		info->oldest_wait_ns = now_ns - shown->since_ns;
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
 * If the door is OPEN, the oversized list is empty; the queue is empty if
 * waiters_ is 0, too.  A value that is released for the spinner is granted by
 * the next thread that takes the lock (C6).
 */
static bool needs_lock(uint64_t word, uint32_t waiters, bool is_shown)
{
	switch (weir_door_(word)) {
	case WEIR_OPEN_:
		return waiters && !is_shown;
	case WEIR_SPINNING_:
		return !is_shown || weir_value_(word) > 0;
	case WEIR_SHUT_:
		return !is_shown;
	default:
		return true;
	}
}

/*
 * Take the snapshot without the lock.  Returns false if the lock is needed: the
 * numbers of the waiters are not published, or the semaphore has changed
 * meanwhile.
 */
static bool read_unlocked(weir_sem *sem, weir_sem_info *info)
{
	struct weir_shown_ shown;
	bool is_shown = weir_sem_read_shown_(sem, &shown);
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

	/*
	 * [S2] acquire: with waiters, the unlock after a change of the lists may
	 * store the same word again.  Then the numbers are found withdrawn below.
	 */
	if (at_load_acquire(&sem->word_) != word)
		return false;
	/* relaxed: ordered behind the acquire loads above. */
	if (at_load_relaxed(&sem->resizes_) != resizes)
		return false;
	is_shown = is_shown && waiters == shown.waiters &&
		   weir_sem_still_shown_(sem, &shown);
	if (needs_lock(word, waiters, is_shown))
		return false;
	fill(sem, info, state, capacity, weir_value_(word), granted);
	if (is_shown) {
		int64_t now_ns = weir_now_ns();

		fill_waiting(info, &shown, now_ns);
		return now_ns < shown.until_ns;
	}
	return true;
}

weir_err weir_sem_stat(weir_sem *sem, weir_sem_info *info)
{
	static const char call[] = "weir_sem_stat";
	struct weir_waiter_ *first;
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
	first = weir_sem_first_(sem);
	if (first) {
		struct weir_shown_ shown;
		int64_t now_ns = weir_now_ns();

		count_waiting(sem, now_ns, &shown);
		fill_waiting(info, &shown, now_ns);
		weir_sem_show_(sem, first, &shown);
	}
	weir_sem_unlock_(sem, 0);
	return WEIR_OK;
}
