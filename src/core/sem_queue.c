/* SPDX-License-Identifier: MIT */
/*
 * The queue of a semaphore: the lock, joining, leaving, and the one place where
 * permits are handed to waiters.  The word: sem_word.h.  The mechanism:
 * docs/design/sem.md.
 */
#include "core/sem_queue.h"

#include "base/atomic.h"
#include "base/cpu.h"
#include "base/fork.h"
#include "base/panic.h"
#include "core/ctx_wait.h"
#include "core/last_cpu.h"
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

/* Drop the lock as it was taken, `back` permits less, without a look. */
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
	/* relaxed: a hint for those who wait for the lock very long. */
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
		 * The holder may be a thread that this process never had.
		 * relaxed: if it is one of ours it has left its mark by now.
		 */
		if (weir_backoff_is_long_(&backoff) &&
		    at_load_relaxed(&sem->forks_) != (uint8_t)weir_forks_())
			return WEIR_WAS_LOCKED_;
	}
}

/*
 * C6: what was released before this call belongs to the one that watches, even
 * if it has not looked yet.
 */
static void serve_spinner(weir_sem *sem)
{
	/* relaxed: the lock looks again; our own releases are there. */
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
 * Nobody passes an overdue waiter.  FIFO: every waiter, from the start; also an
 * operation, which cannot be called to look.
 */
static bool is_overdue(const weir_sem *sem, const struct weir_waiter_ *w)
{
	/* relaxed: the policy never changes. */
	return !(at_load_relaxed(&sem->state_) & WEIR_STATE_BARGING_) ||
	       w->kind || weir_now_ns() >= weir_sem_due_ns_(sem, w);
}

/*
 * Whether the head may be called, and not served: it may be away, and then the
 * next must wake by itself when its bound is over.  An operation does not, nor
 * one that a resize put there: those ahead of it may be younger.  Of one alone the
 * next is itself.
 */
static bool may_be_woken_to_retry(const weir_sem *sem, const struct weir_waiter_ *head)
{
	const struct weir_waiter_ *next = weir_waiter_of_(head->link.next_);

	if (next->kind || next->moved)
		return false;
	return !is_overdue(sem, head);
}

int64_t weir_sem_takeable_(const weir_sem *sem, int64_t min, int64_t max)
{
	/* relaxed: the CAS that unlocks takes them and is the acquire. */
	int64_t value = weir_value_(at_load_relaxed(&sem->word_));
	int64_t open = value > 0 ? value : 0;

	if (sem->queue_ && is_overdue(sem, weir_waiter_of_(sem->queue_)))
		open = 0;
	if (open < min)
		return -1;
	return open < max ? open : max;
}

static void count_waiters(weir_sem *sem, uint32_t change)
{
	/* [S4] release: under the lock; try_acquire glances at it. */
	at_store_release(&sem->waiters_, sem->waiters_ + change);
}

void weir_sem_join_(weir_sem *sem, struct weir_waiter_ *w,
		    enum weir_place_ place)
{
	bool queued = place == WEIR_IN_QUEUE_;

	ring_append(queued ? &sem->queue_ : &sem->oversized_, &w->link);
	w->place = (uint8_t)place;
	if (queued)
		count_waiters(sem, 1);
}

void weir_sem_leave_(weir_sem *sem, struct weir_waiter_ *w)
{
	bool queued = w->place == WEIR_IN_QUEUE_;

	ring_remove(queued ? &sem->queue_ : &sem->oversized_, &w->link);
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

bool weir_sem_evict_cancelled_(weir_sem *sem, struct weir_waiter_ *w,
			       struct weir_to_notify_ *to_notify)
{
	weir_err why = w->ctx ? weir_ctx_cancelled_(w->ctx) : WEIR_OK;

	if (why)
		weir_sem_evict_(sem, w, why, to_notify);
	return why != WEIR_OK;
}

/* w, which still waits, shall have what it wants of `open`. */
static void hand_over(weir_sem *sem, struct weir_waiter_ *w, int64_t open)
{
	int64_t max = weir_waiter_max_(w);

	weir_waiter_set_got_(w, open < max ? open : max);
	w->counted = true;
	/* relaxed: a count for stat; the waiter takes it out again. */
	at_add_relaxed(&sem->granted_, weir_waiter_got_(w));
	weir_sem_taken_at_(sem, w->cpu);
}

int64_t weir_sem_grant_(weir_sem *sem, struct weir_waiter_ *w, int64_t open,
			struct weir_to_notify_ *to_notify)
{
	if (!weir_waiter_claim_(w)) {
		weir_sem_evict_(sem, w, WEIR_EAGAIN, to_notify);
		return 0;
	}
	hand_over(sem, w, open);
	weir_sem_evict_(sem, w, WEIR_OK, to_notify);
	return weir_waiter_got_(w);
}

int64_t weir_sem_take_back_(weir_sem *sem, struct weir_waiter_ *w)
{
	int64_t back = weir_waiter_got_(w);

	/* relaxed: a count for stat. */
	if (w->counted)
		at_sub_relaxed(&sem->granted_, back);
	w->counted = false;
	weir_waiter_set_got_(w, 0);
	return back;
}

int64_t weir_sem_take_first_(weir_sem *sem, struct weir_waiter_ *w)
{
	/* relaxed: the CAS that unlocks takes them and is the acquire. */
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
	/* relaxed: the tell has come; nobody else looks until the next one. */
	at_store_relaxed(&w->state, WEIR_WAITING_);
	w->woken_to_retry = false;
	return false;
}

/*
 * Grant to the heads that fit value - taken, or refuse them if it is closed;
 * returns the new taken.  Stops when *left have been decided: then there may be
 * more.
 */
static int64_t grant_heads(weir_sem *sem, int64_t value, int64_t taken,
			   struct weir_to_notify_ *to_notify, int *left)
{
	/* relaxed: changed under the lock, which we hold. */
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
		if (open < w->min)
			break;
		if (may_be_woken_to_retry(sem, w)) {
			if (!w->woken_to_retry)
				weir_to_notify_add_(to_notify, w, WEIR_NOTIFIED_RETRY_);
			w->woken_to_retry = true;
			break;
		}
		taken += weir_sem_grant_(sem, w, open, to_notify);
	}
	return taken;
}

static void serve_idle(weir_sem *sem, struct weir_to_notify_ *to_notify)
{
	RING_EACH(link, next, end, sem->oversized_) {
		struct weir_waiter_ *w = weir_waiter_of_(link);

		if (w->wants == WEIR_WANTS_IDLE_)
			weir_sem_evict_(sem, w, WEIR_OK, to_notify);
	}
}

/* The door to leave behind. */
static uint64_t door_after(const weir_sem *sem)
{
	const uint32_t shut = WEIR_STATE_CLOSED_ | WEIR_STATE_TRACKED_ |
			      WEIR_STATE_DESTROYED_;
	const struct weir_waiter_ *head;

	/* relaxed: changed under the lock, which we hold. */
	if (at_load_relaxed(&sem->state_) & shut || sem->oversized_)
		return WEIR_SHUT_;
	if (!sem->queue_)
		return WEIR_OPEN_;
	head = weir_waiter_of_(sem->queue_);
	if (head->spinning && sem->waiters_ == 1)
		return WEIR_SPINNING_;
	return head->woken_to_retry && may_be_woken_to_retry(sem, head) ? WEIR_OPEN_ :
							  WEIR_SHUT_;
}

/*
 * Settle once and unlock.  True: a batch was decided, and there may be more.
 */
static bool grant_batch(weir_sem *sem, int64_t taken, int64_t *excess,
			 struct weir_to_notify_ *to_notify)
{
	/* relaxed: a first guess, the CAS checks it. */
	uint64_t word = at_load_relaxed(&sem->word_);
	/* relaxed: changed under the lock, which we hold. */
	int64_t capacity = at_load_relaxed(&sem->capacity_);
	int left = WEIR_BATCH_;
	uint64_t next;
	bool more;

	do {
		int64_t over = weir_value_(word) - taken - capacity;

		if (over > 0) {
			taken += over;
			*excess += over;
		}
		taken = grant_heads(sem, weir_value_(word), taken, to_notify, &left);
		if (sem->oversized_ && weir_value_(word) - taken == capacity)
			serve_idle(sem, to_notify);
		more = !left && sem->queue_;
		next = weir_with_door_(word - weir_units_(taken),
				       door_after(sem));
		/*
		 * [S2] release, and [S1] acquire for those who were granted
		 * what others added meanwhile.  Fails if somebody added since
		 * we looked: look again.  The last access to *sem.
		 */
	} while (!at_cas_weak_acq_rel(&sem->word_, &word, next));
	return more;
}

/* Take the lock again, unless somebody else has it: he goes on. */
static bool relock(weir_sem *sem)
{
	/* relaxed: a first guess, the CAS checks it. */
	uint64_t word = at_load_relaxed(&sem->word_);

	while (weir_door_(word) != WEIR_LOCKED_)
		/* [S2] acquire */
		if (at_cas_weak_acquire(&sem->word_, &word,
					word | WEIR_LOCKED_))
			return true;
	return false;
}

int64_t weir_sem_grant_and_unlock_(weir_sem *sem, int64_t taken,
			 struct weir_to_notify_ *to_notify)
{
	int64_t excess = 0;

	/*
	 * Between two batches *sem stays: those that were decided have not been
	 * told, so their calls have not returned.
	 */
	while (grant_batch(sem, taken, &excess, to_notify) && relock(sem))
		taken = 0;
	return excess;
}

void weir_sem_unlock_(weir_sem *sem, int64_t taken)
{
	struct weir_to_notify_ to_notify = { NULL, NULL };

	(void)weir_sem_grant_and_unlock_(sem, taken, &to_notify);
	weir_notify_all_(&to_notify);
}
