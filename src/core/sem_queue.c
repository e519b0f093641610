/* SPDX-License-Identifier: MIT */
/*
 * The lists of a semaphore's waiters: joining and leaving them, and whether a
 * new request may take permits before a queued waiter.  docs/design/sem.md
 * describes the mechanism.
 *
 * Pairs
 *
 *   [S6] waiters  release: count_waiters   acquire: read_unlocked,
 *                 seen_to_fail
 *                 A try_acquire that counts a waiter which a resize has queued
 *                 sees that resizes_ has changed.
 */
#include "core/sem_queue.h"

#include "base/atomic.h"
#include "core/ctx_wait.h"
#include "core/sem_shown.h"
#include "core/sem_word.h"

int64_t weir_sem_due_ns_(const weir_sem *sem, const struct weir_waiter_ *w)
{
	/* relaxed: the bound never changes. */
	uint32_t state = at_load_relaxed(&sem->state_);
	int64_t bound_ns = (int64_t)(state >> WEIR_STATE_BOUND_SHIFT_) * 1000;

	if (!(state & WEIR_STATE_BARGING_) ||
	    w->wants != WEIR_WANTS_PERMITS_ ||
	    bound_ns > WEIR_FOREVER - w->since_ns)
		return WEIR_FOREVER;
	return w->since_ns + bound_ns;
}

/*
 * No request passes an overdue waiter.  Under FIFO every waiter is overdue from
 * the start.  An operation is always overdue, because it cannot be woken to
 * retry.
 */
static bool is_overdue(const weir_sem *sem, const struct weir_waiter_ *w,
		       int64_t *now_ns)
{
	if (!weir_sem_is_barging_(sem) || w->kind)
		return true;
	if (!*now_ns)
		*now_ns = weir_now_ns();
	return *now_ns >= weir_sem_due_ns_(sem, w);
}

/*
 * A head that was woken to retry may not run for a while.  The waiter behind it
 * must then wake by itself when it reaches the starvation bound.  An operation
 * has no thread that could wake.  A waiter that a resize has queued may be
 * older than the head, so it may have woken at its bound already.  With one
 * waiter, next == head.
 */
bool weir_sem_may_retry_(const weir_sem *sem, const struct weir_waiter_ *head,
			 int64_t *now_ns)
{
	const struct weir_waiter_ *next = weir_waiter_of_(head->link.next_);

	if (!weir_sem_is_barging_(sem) || next->kind || next->moved)
		return false;
	return !is_overdue(sem, head, now_ns);
}

int64_t weir_sem_takeable_(const weir_sem *sem, int64_t min, int64_t max)
{
	/*
	 * relaxed: the CAS that unlocks takes the permits and is the acquire.
	 */
	int64_t value = weir_value_(at_load_relaxed(&sem->word_));
	int64_t open = value > 0 ? value : 0, now_ns = 0;

	if (sem->queue_ &&
	    is_overdue(sem, weir_waiter_of_(sem->queue_), &now_ns))
		open = 0;
	if (open < min)
		return -1;
	return open < max ? open : max;
}

static void count_waiters(weir_sem *sem, uint32_t change)
{
	/* [S6] release: under the lock; try_acquire reads it without. */
	at_store_release(&sem->waiters_, sem->waiters_ + change);
}

/*
 * The head is `mixed` unless all queued waiters want as many permits as it
 * does.  A head that leaves passes the mark on, until the queue is empty.
 */
static void note_weight(const weir_sem *sem, const struct weir_waiter_ *w)
{
	struct weir_waiter_ *head = weir_waiter_of_(sem->queue_);

	if (head->min != w->min)
		head->mixed = true;
}

/* Called before a waiter joins or leaves: see sem_shown.h. */
static void lists_change(const weir_sem *sem)
{
	struct weir_waiter_ *first = weir_sem_first_(sem);

	if (first && first->shown)
		weir_sem_withdraw_shown_(sem, first);
}

void weir_sem_join_(weir_sem *sem, struct weir_waiter_ *w,
		    enum weir_place_ place)
{
	bool queued = place == WEIR_IN_QUEUE_;

	lists_change(sem);
	w->mixed = w->shown = false;
	if (queued && sem->queue_)
		note_weight(sem, w);
	ring_append(queued ? &sem->queue_ : &sem->oversized_, &w->link);
	w->place = (uint8_t)place;
	if (queued)
		count_waiters(sem, 1);
}

void weir_sem_leave_(weir_sem *sem, struct weir_waiter_ *w)
{
	bool queued = w->place == WEIR_IN_QUEUE_;

	lists_change(sem);
	ring_remove(queued ? &sem->queue_ : &sem->oversized_, &w->link);
	/* Only a head has the mark. */
	if (w->mixed && sem->queue_)
		weir_waiter_of_(sem->queue_)->mixed = true;
	w->place = WEIR_NOWHERE_;
	w->woken_to_retry = w->spinning = false;
	if (queued)
		count_waiters(sem, (uint32_t)-1);
}

void weir_sem_evict_(weir_sem *sem, struct weir_waiter_ *w, weir_err outcome,
		     struct weir_to_notify_ *to_notify)
{
	weir_sem_leave_(sem, w);
	weir_waiter_decide_(w, outcome, to_notify);
}

bool weir_sem_evict_ended_(weir_sem *sem, struct weir_waiter_ *w,
			   struct weir_to_notify_ *to_notify)
{
	weir_err why = weir_ctx_cancelled_(w->ctx);

	if (!why && weir_waiter_is_late_(w))
		why = WEIR_ETIMEDOUT;
	if (why)
		weir_sem_evict_(sem, w, why, to_notify);
	return why != WEIR_OK;
}
