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

static const char call[] = "weir_sem_acquire";

/*
 * Stop waiting for a reason of our own.  If somebody has decided meanwhile,
 * that outcome stands: a grant wins over a deadline.
 */
static weir_err give_up(struct weir_waiter_ *w, weir_err why)
{
	bool tell_due;

	/* Cannot fail: nobody destroys a semaphore with waiters. */
	if (weir_sem_lock_(w->sem, call))
		return why;
	tell_due = w->tell;
	if (w->place == WEIR_NOWHERE_)
		why = (weir_err)w->outcome;
	else
		weir_sem_leave_(w->sem, w);
	weir_sem_unlock_(w->sem, 0);
	/* The teller is about to touch *w. */
	if (tell_due)
		weir_waiter_await_tell_(w);
	return why;
}

/* Sleep until the outcome is known.  *granted: somebody else handed it over. */
static weir_err wait_for_outcome(struct weir_waiter_ *w, int64_t deadline_ns,
				 bool *granted)
{
	*granted = true;
	for (;;) {
		int64_t taken;
		bool decided;

		switch (weir_waiter_park_(w, deadline_ns)) {
		case WEIR_PARKED_FINAL_:
			return (weir_err)w->outcome;
		case WEIR_PARKED_RETRY_:
			if (weir_sem_lock_(w->sem, call))
				return WEIR_EINVAL;
			decided = weir_sem_retry_(w->sem, w, &taken);
			*granted = !taken;
			weir_sem_unlock_(w->sem, taken);
			if (decided)
				return (weir_err)w->outcome;
			break;
		case WEIR_PARKED_LATE_:
			return give_up(w, WEIR_ETIMEDOUT);
		case WEIR_PARKED_SIGNAL_:
			if (weir_state_(w->sem) & WEIR_STATE_INTERRUPTIBLE_)
				return give_up(w, WEIR_EINTR);
			break;
		}
	}
}

/* Wait on a list of w->sem, within ctx, and keep the books. */
static weir_err wait_queued(struct weir_waiter_ *w, weir_ctx *ctx,
			    int64_t deadline_ns)
{
	weir_sem *sem = w->sem;
	weir_err ended = WEIR_OK, err;
	bool granted = true;

	weir_hook_tell_(WEIR_EVENT_QUEUED_, sem, sem->name_, w->min, WEIR_OK);
	if (ctx)
		ended = weir_ctx_join_(ctx, w);
	if (ended) {
		err = give_up(w, ended);
	} else {
		err = wait_for_outcome(w, deadline_ns, &granted);
		if (ctx)
			ended = weir_ctx_leave_(ctx, w);
	}
	if (!err && w->wants == WEIR_WANTS_PERMITS_) {
		/* relaxed: a count for stat. */
		if (granted)
			at_sub_relaxed(&sem->granted_, w->got);
		/* C13: the end of the context wins, and the next is served. */
		if (ended)
			weir_sem_put_(sem, w->got);
	}
	if (!err)
		err = ended;
	weir_hook_tell_(err ? WEIR_EVENT_LEFT_ : WEIR_EVENT_ACQUIRED_, sem,
			sem->name_, err ? w->min : w->got, err);
	return err;
}

static void prepare(struct weir_waiter_ *w, weir_sem *sem,
		    enum weir_wants_ wants, weir_ctx *ctx)
{
	*w = (struct weir_waiter_){
		.sem = sem,
		.wants = (uint8_t)wants,
		.forks = weir_forks_(),
		.since_ns = weir_now_ns(),
		.ctx = ctx,
	};
}

/* What the request that does not fit now has to do: join a list, or an error. */
static weir_err find_place(weir_sem *sem, const struct weir_waiter_ *w,
			   int64_t deadline_ns, enum weir_place_ *place)
{
	*place = WEIR_IN_QUEUE_;
	if (weir_state_(sem) & WEIR_STATE_CLOSED_)
		return WEIR_ECLOSED;
	/* relaxed: changed under the lock, which we hold. */
	if (w->min > at_load_relaxed(&sem->capacity_)) {
		*place = WEIR_ASIDE_;
		return w->ctx ? WEIR_OK : WEIR_ETOOBIG;
	}
	if (sem->max_waiters_ && sem->waiters_ >= sem->max_waiters_)
		return WEIR_EBUSY;
	return w->since_ns >= deadline_ns ? WEIR_ETIMEDOUT : WEIR_OK;
}

/*
 * Under the lock, which it drops: take, join or fail.  True: w has joined and
 * waits.
 */
static bool take_or_join(weir_sem *sem, struct weir_waiter_ *w,
			 int64_t deadline_ns, weir_err *err)
{
	enum weir_place_ place;
	int64_t taken = 0;

	if (weir_state_is_shut_(weir_state_(sem))) {
		*err = WEIR_ECLOSED;
	} else {
		w->got = taken = weir_sem_takeable_(sem, w->min, w->max);
		*err = WEIR_OK;
	}
	if (taken < 0) {
		taken = w->got = 0;
		*err = find_place(sem, w, deadline_ns, &place);
		if (!*err) {
			w->spins = !sem->queue_ && sem->cpu_ != weir_cpu_();
			weir_sem_join_(sem, w, place);
			weir_sem_unlock_(sem, 0);
			return true;
		}
	}
	weir_sem_unlock_(sem, taken);
	return false;
}

weir_err weir_sem_wait_(weir_sem *sem, int64_t min, int64_t max,
			weir_ctx *ctx, int64_t deadline_ns, int64_t *got)
{
	struct weir_waiter_ w;
	weir_err err;

	if (weir_sem_is_misplaced_(sem) || !weir_count_ok_(min) ||
	    !weir_count_ok_(max) || min > max)
		return WEIR_EINVAL;
	if (ctx) {
		err = weir_ctx_err(ctx);
		if (err)
			return err;
		deadline_ns = weir_ctx_deadline(ctx);
	}
	prepare(&w, sem, WEIR_WANTS_PERMITS_, ctx);
	w.min = min;
	w.max = max;
	err = weir_sem_lock_(sem, call);
	if (err)
		return err;
	if (take_or_join(sem, &w, deadline_ns, &err)) {
		err = wait_queued(&w, ctx, deadline_ns);
	} else if (!err) {
		/* C13: a cancel that came in between wins. */
		err = ctx ? weir_ctx_cancelled_(ctx) : WEIR_OK;
		if (err)
			weir_sem_put_(sem, w.got);
		else
			weir_hook_tell_(WEIR_EVENT_ACQUIRED_, sem, sem->name_,
					w.got, WEIR_OK);
	}
	if (got)
		*got = err ? 0 : w.got;
	return err;
}

weir_err weir_sem_try_wait_(weir_sem *sem, int64_t n)
{
	uint32_t state;
	int64_t taken;
	weir_err err;

	if (weir_sem_is_misplaced_(sem) || !weir_count_ok_(n))
		return WEIR_EINVAL;
	err = weir_sem_check_(sem, "weir_sem_try_acquire");
	if (err)
		return err;
	state = weir_state_(sem);
	if (weir_state_is_shut_(state))
		return WEIR_ECLOSED;
	/* Too few, or others first: that needs no lock.  n == 0 needs none. */
	if (n > 0 && !(state & WEIR_STATE_CLOSED_) &&
	    (weir_sem_available(sem) < n ||
	     /* relaxed: as good as a moment earlier or later. */
	     (!(state & WEIR_STATE_BARGING_) && at_load_relaxed(&sem->waiters_))))
		return WEIR_EAGAIN;
	err = weir_sem_lock_(sem, "weir_sem_try_acquire");
	if (err)
		return err;
	state = weir_state_(sem);
	taken = weir_state_is_shut_(state) ? -1 : weir_sem_takeable_(sem, n, n);
	weir_sem_unlock_(sem, taken < 0 ? 0 : taken);
	if (taken < 0)
		return state & WEIR_STATE_CLOSED_ ? WEIR_ECLOSED : WEIR_EAGAIN;
	weir_hook_tell_(WEIR_EVENT_ACQUIRED_, sem, sem->name_, n, WEIR_OK);
	return WEIR_OK;
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
	prepare(&w, sem, WEIR_WANTS_IDLE_, ctx);
	err = weir_sem_lock_(sem, "weir_sem_wait_idle");
	if (err)
		return err;
	/* If it is idle already, unlocking serves it at once. */
	weir_sem_join_(sem, &w, WEIR_ASIDE_);
	weir_sem_unlock_(sem, 0);
	return wait_queued(&w, ctx, ctx ? weir_ctx_deadline(ctx) : WEIR_FOREVER);
}
