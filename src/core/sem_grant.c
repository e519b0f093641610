/* SPDX-License-Identifier: MIT */
/*
 * Granting: the only code that gives permits to waiters, and the unlock that
 * runs it.  sem_word.h describes the word.  docs/design/sem.md describes the
 * mechanism.
 */
#include "core/sem_grant.h"

#include "base/atomic.h"
#include "core/last_cpu.h"
#include "core/sem_contend.h"
#include "core/sem_queue.h"
#include "core/sem_word.h"
#include "record/record.h"

/* Record that w has been given as many of `open` permits as it wants. */
static void hand_over(weir_sem *sem, struct weir_waiter_ *w, int64_t open)
{
	int64_t max = weir_waiter_max_(w);

	weir_waiter_set_got_(w, open < max ? open : max);
	w->counted = true;
	/*
	 * [S5] release. weir_sem_finish_ or weir_sem_take_back_ subtracts it.
	 */
	at_add_release(&sem->granted_, weir_waiter_got_(w));
	if (!w->kind && w->record)
		weir_record_granted_(NULL, w->record);
	else if (w->kind == WEIR_MEMBER_ && w->member_record)
		weir_record_granted_(NULL, w->member_record);
	else if (w->kind >= WEIR_OPERATION_ && weir_record_waits_of_(sem))
		weir_record_granted_(w, 0);
	if (w->kind < WEIR_OPERATION_)
		weir_sem_taken_at_(sem, w->cpu);
}

int64_t weir_sem_grant_(weir_sem *sem, struct weir_waiter_ *w, int64_t open,
			struct weir_to_notify_ *to_notify)
{
	if (!weir_waiter_claim_(w)) {
		weir_sem_evict_(sem, w, WEIR_EAGAIN, to_notify);
		return 0;
	}
	if (w->roused)
		weir_sem_rousing_ended_(sem, w);
	hand_over(sem, w, open);
	to_notify->granted = sem;
	weir_sem_evict_(sem, w, WEIR_OK, to_notify);
	return weir_waiter_got_(w);
}

int64_t weir_sem_take_back_(weir_sem *sem, struct weir_waiter_ *w)
{
	int64_t back = weir_waiter_got_(w);

	/* [S5] release */
	if (w->counted)
		at_sub_release(&sem->granted_, back);
	w->counted = false;
	weir_waiter_set_got_(w, 0);
	return back;
}

int64_t weir_sem_take_first_(weir_sem *sem, struct weir_waiter_ *w)
{
	/*
	 * relaxed: the CAS that unlocks takes the permits and is the acquire.
	 */
	int64_t value = weir_value_(at_load_relaxed(&sem->word_));

	if (sem->queue_ != &w->link || value < w->min)
		return -1;
	hand_over(sem, w, value);
	weir_sem_leave_(sem, w);
	w->outcome = WEIR_OK;
	return w->got;
}

bool weir_sem_retry_(weir_sem *sem, struct weir_waiter_ *w, int64_t *taken)
{
	*taken = 0;
	w->notify = WEIR_WAITING_;
	if (w->place == WEIR_NOWHERE_)
		return true;
	*taken = weir_sem_take_first_(sem, w);
	if (*taken >= 0)
		return true;
	*taken = 0;
	/* relaxed: no other thread accesses it before the next notification. */
	at_store_relaxed(&w->state, WEIR_WAITING_);
	w->woken_to_retry = false;
	return false;
}

/*
 * Grant to the heads that fit value - taken, or refuse them if the semaphore is
 * closed.  Returns the new taken.  Stops when *left waiters have been decided;
 * the queue may then have further waiters to decide.  `now_ns` as for
 * weir_sem_may_retry_.
 */
static int64_t grant_heads(weir_sem *sem, int64_t value, int64_t taken,
			   struct weir_to_notify_ *to_notify, int *left,
			   int64_t *now_ns)
{
	/* relaxed: changed only under the lock, which this thread holds. */
	bool closed = at_load_relaxed(&sem->state_) & WEIR_STATE_CLOSED_;

	for (; sem->queue_ && *left; --*left) {
		struct weir_waiter_ *w = weir_waiter_of_(sem->queue_);
		int64_t open = value - taken;

		if (weir_sem_evict_cancelled_(sem, w, to_notify))
			continue;
		if (closed) {
			weir_sem_evict_(sem, w, WEIR_ECLOSED, to_notify);
			continue;
		}
		if ((open < w->min || w->kind == WEIR_MEMBER_) &&
		    weir_waiter_is_late_(w)) {
			weir_sem_evict_(sem, w, WEIR_ETIMEDOUT, to_notify);
			continue;
		}
		if (open < w->min)
			break;
		if (weir_sem_may_retry_(sem, w, now_ns)) {
			if (!w->woken_to_retry)
				weir_to_notify_add_(to_notify, w,
						    WEIR_NOTIFIED_RETRY_);
			w->woken_to_retry = true;
			break;
		}
		taken += weir_sem_grant_(sem, w, open, to_notify);
	}
	return taken;
}

/*
 * C7: the head is an operation, or a member of one, with a deadline, and does
 * not fit `open`.  When the deadline passes, it is possible that no running
 * thread notices it.  So the first thread behind the head, if it is among the
 * next WEIR_BATCH_ waiters, is woken to wait again with this deadline as a
 * limit: see wait_for_outcome.
 */
static void limit_next_thread(const weir_sem *sem, int64_t open,
			      struct weir_to_notify_ *to_notify)
{
	const struct weir_waiter_ *head;
	struct weir_waiter_ *w;
	int left = WEIR_BATCH_;
	int64_t at_ns;

	if (!sem->queue_ || open <= 0)
		return;
	head = weir_waiter_of_(sem->queue_);
	at_ns = weir_waiter_evicted_at_ns_(head);
	if (at_ns == WEIR_FOREVER)
		return;
	for (w = weir_waiter_of_(head->link.next_); w->kind != WEIR_THREAD_;
	     w = weir_waiter_of_(w->link.next_))
		if (w == head || !left--)
			return;
	if (w->recheck_ns && w->recheck_ns <= at_ns)
		return;
	w->recheck_ns = at_ns;
	weir_to_notify_add_(to_notify, w, WEIR_NOTIFIED_RETRY_);
}

/* The semaphore is idle: decide the waiters that wait for that. */
static void serve_idle(weir_sem *sem, struct weir_to_notify_ *to_notify)
{
	RING_EACH(link, next, end, sem->oversized_) {
		struct weir_waiter_ *w = weir_waiter_of_(link);

		if (w->wants == WEIR_WANTS_IDLE_)
			weir_sem_evict_(sem, w, WEIR_OK, to_notify);
	}
}

/* Returns the door that the unlock has to set. */
static uint64_t door_after(const weir_sem *sem, uint32_t state,
			   int64_t *now_ns)
{
	const uint32_t shut = WEIR_STATE_CLOSED_ | WEIR_STATE_DESTROYED_;
	const struct weir_waiter_ *head;

	if (state & shut || sem->oversized_)
		return WEIR_SHUT_;
	if (!sem->queue_)
		return WEIR_OPEN_;
	head = weir_waiter_of_(sem->queue_);
	if (head->spinning && sem->waiters_ == 1)
		return WEIR_SPINNING_;
	return head->woken_to_retry && weir_sem_may_retry_(sem, head, now_ns) ?
		       WEIR_OPEN_ : WEIR_SHUT_;
}

/*
 * Returns the word that the unlock has to store.  `word` is LOCKED and has the
 * new value.
 */
static uint64_t word_after(const weir_sem *sem, uint64_t word, int64_t *now_ns)
{
	/* relaxed: changed only under the lock, which this thread holds. */
	uint32_t state = at_load_relaxed(&sem->state_);
	uint64_t door = door_after(sem, state, now_ns);

	if (!(state & WEIR_STATE_TRACKED_))
		return weir_with_door_(word, door);
	word = weir_with_door_(word, WEIR_SHUT_);
	if (door == WEIR_OPEN_ && !weir_state_is_fresh_(state) &&
	    weir_is_marked_(word | WEIR_MARK_))
		word |= WEIR_MARK_;
	return word;
}

/*
 * Grant one batch and unlock.  Returns true if the batch was used up; the queue
 * may then have further waiters to decide.
 */
static bool grant_batch(weir_sem *sem, int64_t taken, int64_t *excess,
			struct weir_to_notify_ *to_notify)
{
	/* relaxed: a first guess, the CAS checks it. */
	uint64_t word = at_load_relaxed(&sem->word_);
	/* relaxed: changed only under the lock, which this thread holds. */
	int64_t capacity = at_load_relaxed(&sem->capacity_);
	int left = WEIR_BATCH_;
	int64_t now_ns = 0;
	uint64_t next;
	bool more;

	do {
		int64_t over = weir_value_(word) - taken - capacity;

		if (over > 0) {
			taken += over;
			*excess += over;
		}
		taken = grant_heads(sem, weir_value_(word), taken, to_notify,
				    &left, &now_ns);
		limit_next_thread(sem, weir_value_(word) - taken, to_notify);
		if (sem->oversized_ && weir_value_(word) - taken == capacity)
			serve_idle(sem, to_notify);
		more = !left && sem->queue_;
		if (to_notify->granted == sem && sem->queue_)
			weir_sem_rouse_next_(sem, to_notify);
		next = word_after(sem, word - weir_units_(taken), &now_ns);
		/*
		 * [S2] release, [S7] acquire, and [S1] acquire for waiters that
		 * were granted permits which other threads added while the lock
		 * was held.  The CAS fails if a release has added permits since
		 * the word was read: grant again.  The CAS is the last access
		 * to *sem.
		 */
	} while (!at_cas_weak_acq_rel(&sem->word_, &word, next));
	weir_sem_unlocked_(sem);
	return more;
}

/*
 * Lock again, for the next batch.  Returns false if another thread holds the
 * lock: its unlock grants the rest.
 */
static bool relock(weir_sem *sem)
{
	/* relaxed: a first guess, the CAS checks it. */
	uint64_t word = at_load_relaxed(&sem->word_);

	while (weir_door_(word) != WEIR_LOCKED_)
		/* [S2] acquire */
		if (at_cas_weak_acquire(&sem->word_, &word,
					weir_locked_(word)))
			return true;
	return false;
}

/* As weir_sem_grant_and_unlock_; the roused waiter has not been woken. */
static int64_t grant_and_unlock(weir_sem *sem, int64_t taken,
				struct weir_to_notify_ *to_notify)
{
	int64_t excess = 0;

	/*
	 * *sem still exists between two batches: the decided waiters have not
	 * been notified, so their calls have not returned.
	 */
	while (grant_batch(sem, taken, &excess, to_notify) && relock(sem))
		taken = 0;
	return excess;
}

int64_t weir_sem_grant_and_unlock_(weir_sem *sem, int64_t taken,
				   struct weir_to_notify_ *to_notify)
{
	int64_t excess = grant_and_unlock(sem, taken, to_notify);

	/*
	 * Wake the roused waiter here, not with the notifications: the caller
	 * may wait for another lock before it notifies.
	 */
	weir_wake_roused_(to_notify);
	return excess;
}

void weir_sem_unlock_and_list_(weir_sem *sem, int64_t taken,
			       struct weir_to_notify_ *to_notify)
{
	(void)grant_and_unlock(sem, taken, to_notify);
}

void weir_sem_unlock_(weir_sem *sem, int64_t taken)
{
	struct weir_to_notify_ to_notify = { .first = NULL };

	weir_sem_unlock_and_list_(sem, taken, &to_notify);
	weir_sem_notify_(&to_notify);
}
