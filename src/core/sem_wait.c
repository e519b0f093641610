/* SPDX-License-Identifier: MIT */
/*
 * Acquiring through the lock, and waiting.  docs/design/sem.md, "A waiter's
 * life" and "Cancelling".
 */
#include "core/sem_wait.h"

#include "base/atomic.h"
#include "base/cpu.h"
#include "base/fork.h"
#include "base/hook.h"
#include "core/ctx_wait.h"
#include "core/sem_queue.h"
#include "core/sem_word.h"

/*
 * Stop waiting for a reason of our own.  If somebody has decided meanwhile,
 * that outcome stands: a grant wins over a deadline.
 */
static weir_err give_up(struct weir_waiter_ *w, weir_err why)
{
	weir_err err = weir_sem_lock_(w->sem, w->call);
	bool notification_due;

	/* Only if this thread has forked since it joined: C29. */
	if (err)
		return err;
	notification_due = w->notify;
	if (w->place == WEIR_NOWHERE_)
		why = (weir_err)w->outcome;
	else
		weir_sem_leave_(w->sem, w);
	weir_sem_unlock_(w->sem, 0);
	/* The teller is about to touch *w. */
	if (notification_due)
		weir_waiter_await_notification_(w);
	return why;
}

/* Told to look: true if it is decided. */
static bool retry(struct weir_waiter_ *w)
{
	weir_err err = weir_sem_lock_(w->sem, w->call);
	int64_t taken;
	bool decided;

	/* As in give_up. */
	if (err) {
		w->outcome = (int8_t)err;
		return true;
	}
	decided = weir_sem_retry_(w->sem, w, &taken);
	weir_sem_unlock_(w->sem, taken);
	return decided;
}

/*
 * Sleep until the outcome is known.  A barging waiter wakes once when its bound
 * is over: unlocking then makes the grants that are due, its own among them.  One
 * that was first from the start need not: only a head that was called and is
 * away holds up others, and while none is called every release comes by.
 */
static weir_err wait_for_outcome(struct weir_waiter_ *w, int64_t deadline_ns)
{
	int64_t due_ns = w->leads ? WEIR_FOREVER : weir_sem_due_ns_(w->sem, w);
	weir_err err;

	for (;;) {
		switch (weir_waiter_park_(w, due_ns < deadline_ns ? due_ns :
								    deadline_ns)) {
		case WEIR_PARKED_FINAL_:
			return (weir_err)w->outcome;
		case WEIR_PARKED_RETRY_:
			if (retry(w))
				return (weir_err)w->outcome;
			break;
		case WEIR_PARKED_LATE_:
			if (due_ns >= deadline_ns)
				return give_up(w, WEIR_ETIMEDOUT);
			due_ns = WEIR_FOREVER;
			/* Fails as in give_up. */
			err = weir_sem_lock_(w->sem, w->call);
			if (err)
				return err;
			weir_sem_unlock_(w->sem, 0);
			break;
		case WEIR_PARKED_SIGNAL_:
			if (weir_state_(w->sem) & WEIR_STATE_INTERRUPTIBLE_)
				return give_up(w, WEIR_EINTR);
			break;
		}
	}
}

/* Wait on a list of w->sem.  What was granted is in w->got. */
static weir_err wait_listed(struct weir_waiter_ *w, int64_t deadline_ns)
{
	weir_hook_emit_(WEIR_EVENT_QUEUED_, w->sem, w->sem->name_, w->min,
			WEIR_OK);
	if (w->may_spin && weir_sem_spin_(w))
		return (weir_err)w->outcome;
	return wait_for_outcome(w, deadline_ns);
}

static void prepare(struct weir_waiter_ *w, weir_sem *sem,
		    enum weir_wants_ wants, weir_ctx *ctx, const char *call)
{
	*w = (struct weir_waiter_){
		.sem = sem,
		.wants = (uint8_t)wants,
		.forks = (uint8_t)weir_forks_(),
		.ctx = ctx,
		.call = call,
	};
}

/* What the request that does not fit now has to do: join a list, or an error. */
static weir_err find_place(weir_sem *sem, const struct weir_waiter_ *w,
			   bool late, enum weir_place_ *place)
{
	*place = WEIR_IN_QUEUE_;
	if (weir_state_(sem) & WEIR_STATE_CLOSED_)
		return WEIR_ECLOSED;
	/* relaxed: changed under the lock, which we hold. */
	if (w->min > at_load_relaxed(&sem->capacity_)) {
		*place = WEIR_OVERSIZED_;
		return w->ctx ? WEIR_OK : WEIR_ETOOBIG;
	}
	if (sem->max_waiters_ && sem->waiters_ >= sem->max_waiters_)
		return WEIR_EBUSY;
	return late ? WEIR_ETIMEDOUT : WEIR_OK;
}

/* Join the list, and drop the lock: then *w may be decided, told and gone. */
static void join(weir_sem *sem, struct weir_waiter_ *w, enum weir_place_ place)
{
	w->cpu = weir_cpu_();
	if (!w->kind) {
		w->may_spin = place == WEIR_IN_QUEUE_ &&
			   weir_sem_spin_pays_(sem, w);
		w->leads = !sem->queue_;
		w->spinning = w->may_spin;
	}
	weir_sem_join_(sem, w, place);
	weir_sem_unlock_(sem, 0);
}

/* Under the lock, which it drops: take, join or fail. */
static bool take_or_join(weir_sem *sem, struct weir_waiter_ *w,
			 int64_t deadline_ns, weir_err *err)
{
	enum weir_place_ place;
	int64_t taken = 0;

	*err = weir_state_is_shut_(weir_state_(sem)) ? WEIR_ECLOSED : WEIR_OK;
	if (!*err)
		taken = weir_sem_takeable_(sem, w->min, weir_waiter_max_(w));
	if (taken >= 0 && !*err && !weir_waiter_claim_(w)) {
		*err = WEIR_EAGAIN;
		taken = 0;
	}
	if (taken < 0) {
		int64_t now_ns = weir_now_ns();

		taken = 0;
		weir_waiter_set_since_(w, now_ns);
		*err = find_place(sem, w, now_ns >= deadline_ns, &place);
		if (!*err) {
			join(sem, w, place);
			return true;
		}
	}
	if (w->kind && !*err) {
		/* relaxed: a count for stat; weir_sem_finish_ takes it out. */
		at_add_relaxed(&sem->granted_, taken);
		w->counted = true;
	}
	weir_waiter_set_got_(w, taken);
	weir_sem_unlock_(sem, taken);
	return false;
}

bool weir_sem_enqueue_(struct weir_waiter_ *w, int64_t deadline_ns, weir_err *err)
{
	weir_sem_yield_to_spinner_(w->sem);
	*err = weir_sem_lock_(w->sem, weir_waiter_call_(w));
	if (*err)
		return false;
	/*
	 * A cancel marks the context first and locks the semaphore afterwards.
	 * So either it finds us on a list, or we find the mark here.
	 */
	*err = w->ctx ? weir_ctx_cancelled_(w->ctx) : WEIR_OK;
	if (*err) {
		weir_sem_unlock_(w->sem, 0);
		return false;
	}
	if (w->wants == WEIR_WANTS_IDLE_) {
		w->since_ns = weir_now_ns();
		/* If it is idle already, unlocking serves it at once. */
		weir_sem_join_(w->sem, w, WEIR_OVERSIZED_);
		weir_sem_unlock_(w->sem, 0);
		return true;
	}
	return take_or_join(w->sem, w, deadline_ns, err);
}

/*
 * The context ended after w got its permits: give them to the next, unless a
 * canceller has done so already.  In one step with the count of what is
 * granted, so that no destroy comes in between.
 */
static void give_back(struct weir_waiter_ *w, struct weir_to_notify_ *to_notify)
{
	/* The lock fails as in give_up. */
	if (!weir_waiter_got_(w) ||
	    weir_sem_lock_(w->sem, weir_waiter_call_(w)))
		return;
	(void)weir_sem_grant_and_unlock_(w->sem, -weir_sem_take_back_(w->sem, w), to_notify);
}

weir_err weir_sem_finish_(struct weir_waiter_ *w, const char *name,
			    weir_err err)
{
	struct weir_to_notify_ to_notify = { NULL, NULL };
	weir_err ended = WEIR_OK;
	int64_t got;

	if (w->ctx)
		ended = weir_ctx_leave_(w->ctx, w, err == WEIR_ETIMEDOUT);
	got = weir_waiter_got_(w);
	/* C13: the end of the context wins. */
	if (ended)
		give_back(w, &to_notify);
	/* [S5] release.  The last access to the semaphore. */
	else if (w->counted)
		at_sub_acq_rel(&w->sem->granted_, got);
	/* One reason for all: what the context says. */
	if (ended && (!err || err == WEIR_ETIMEDOUT || err == WEIR_ECANCELED))
		err = ended;
	weir_hook_emit_(err ? WEIR_EVENT_LEFT_ : WEIR_EVENT_ACQUIRED_, w->sem,
			name, err ? w->min : got, err);
	weir_notify_all_(&to_notify);
	return err;
}

void weir_sem_cancel_(struct weir_waiter_ *w, struct weir_to_notify_ *to_notify)
{
	const char *name = w->sem->name_;

	if (w->ctx)
		(void)weir_ctx_leave_(w->ctx, w, false);
	give_back(w, to_notify);
	weir_hook_emit_(WEIR_EVENT_LEFT_, w->sem, name, w->min, WEIR_ECANCELED);
}

/*
 * Wait for what w wants, in its context.  The context knows of w before the
 * queue does, so that a cancel that returns has found it.
 */
static weir_err wait_within(struct weir_waiter_ *w, int64_t deadline_ns)
{
	const char *name = w->sem->name_;
	weir_err err;

	if (w->ctx) {
		err = weir_ctx_join_(w->ctx, w);
		if (err)
			return err;
		deadline_ns = weir_ctx_deadline(w->ctx);
	}
	if (weir_sem_enqueue_(w, deadline_ns, &err))
		err = wait_listed(w, deadline_ns);
	return weir_sem_finish_(w, name, err);
}

weir_err weir_sem_wait_(weir_sem *sem, int64_t min, int64_t max,
			weir_ctx *ctx, int64_t deadline_ns, int64_t *got,
			const char *call)
{
	struct weir_waiter_ w;
	weir_err err;

	if (!weir_request_ok_(sem, min, max))
		return WEIR_EINVAL;
	err = ctx ? weir_ctx_err(ctx) : WEIR_OK;
	if (err)
		return err;
	prepare(&w, sem, WEIR_WANTS_PERMITS_, ctx, call);
	w.min = min;
	w.max = max;
	err = wait_within(&w, deadline_ns);
	if (got)
		*got = err ? 0 : w.got;
	return err;
}

weir_err weir_sem_wait_idle(weir_sem *sem, weir_ctx *ctx)
{
	struct weir_waiter_ w;
	weir_err err;

	if (weir_sem_is_misplaced_(sem) ||
	    weir_state_(sem) & WEIR_STATE_UNBOUNDED_)
		return WEIR_EINVAL;
	err = ctx ? weir_ctx_err(ctx) : WEIR_OK;
	if (err)
		return err;
	prepare(&w, sem, WEIR_WANTS_IDLE_, ctx, "weir_sem_wait_idle");
	return wait_within(&w, WEIR_FOREVER);
}

weir_err weir_sem_try_wait_(weir_sem *sem, int64_t n)
{
	static const char trying[] = "weir_sem_try_acquire";
	uint16_t resizes;
	uint32_t state;
	uint64_t word;
	int64_t taken;
	weir_err err;

	if (weir_sem_is_misplaced_(sem) || !weir_count_ok_(n))
		return WEIR_EINVAL;
	err = weir_sem_panic_(sem, trying, weir_sem_problem_(sem));
	if (err)
		return err;
	/*
	 * Too few are free, or (FIFO) somebody is queued: that can be seen
	 * without the lock.  Not the second while it is held, or watched: then
	 * the queue may be about to be served.
	 * [S2] acquire: waiters_ is as it was at that unlock, or newer.
	 * C29: the child of a fork takes the lock if there may be a queue,
	 * which notices waiters that are not its own.
	 */
	resizes = at_load_acquire(&sem->resizes_);	/* [S4] acquire */
	word = at_load_acquire(&sem->word_);
	state = weir_state_(sem);
	if (n > 0 && !(state & WEIR_STATE_CLOSED_) &&
	    (weir_door_(word) == WEIR_OPEN_ || !weir_forks_())) {
		if (weir_value_(word) < n)
			return WEIR_EAGAIN;
		/*
		 * Not while a resize is at work either: it puts waiters into
		 * the queue that its unlock grants.
		 * [S4] acquire.  relaxed: behind it, which keeps it there.
		 */
		if (!(state & WEIR_STATE_BARGING_) &&
		    weir_door_(word) == WEIR_SHUT_ &&
		    at_load_acquire(&sem->waiters_) &&
		    at_load_relaxed(&sem->resizes_) == resizes)
			return WEIR_EAGAIN;
	}
	err = weir_sem_lock_(sem, trying);
	if (err)
		return err;
	state = weir_state_(sem);
	taken = weir_state_is_shut_(state) ? -1 : weir_sem_takeable_(sem, n, n);
	weir_sem_unlock_(sem, taken < 0 ? 0 : taken);
	if (taken < 0)
		return state & WEIR_STATE_CLOSED_ ? WEIR_ECLOSED : WEIR_EAGAIN;
	weir_hook_emit_(WEIR_EVENT_ACQUIRED_, sem, sem->name_, n, WEIR_OK);
	return WEIR_OK;
}
