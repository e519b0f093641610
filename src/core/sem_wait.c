/* SPDX-License-Identifier: MIT */
/*
 * A thread that waits: for permits, or for the semaphore to be idle.
 * See docs/design/sem.md, "A waiter's life" and "Cancelling".
 */
#include "core/sem_wait.h"

#include "base/atomic.h"
#include "base/fork.h"
#include "base/frame.h"
#include "base/hook.h"
#include "core/ctx_wait.h"
#include "core/sem_grant.h"
#include "core/sem_lock.h"
#include "core/sem_queue.h"
#include "core/sem_watched.h"
#include "core/sem_word.h"
#include "record/record.h"

/*
 * Stop waiting, for the reason `why`.  If w has been decided meanwhile, that
 * outcome stands: a grant wins over a deadline.
 */
static weir_err give_up(struct weir_waiter_ *w, weir_err why)
{
	weir_err err = weir_sem_lock_(w->sem, w->call);
	bool notification_due;

	/*
	 * The lock fails only if this thread has forked since it joined the
	 * queue: C29.
	 */
	if (err)
		return err;
	notification_due = w->notify;
	if (w->place == WEIR_NOWHERE_)
		why = (weir_err)w->outcome;
	else
		weir_sem_leave_(w->sem, w);
	weir_sem_unlock_(w->sem, 0);
	/* The notifying thread is about to access *w. */
	if (notification_due)
		weir_waiter_await_notification_(w);
	return why;
}

/*
 * w was woken to retry.  Returns true if w is decided.  *recheck_ns is set to
 * the time at which w has to take the lock, if it still waits then.
 */
static bool retry(struct weir_waiter_ *w, int64_t *recheck_ns)
{
	weir_err err = weir_sem_lock_(w->sem, w->call);
	int64_t taken;
	bool decided;

	/* The lock fails as in give_up. */
	if (err) {
		w->outcome = (int8_t)err;
		return true;
	}
	decided = weir_sem_retry_(w->sem, w, &taken);
	*recheck_ns = w->recheck_ns ? w->recheck_ns : WEIR_FOREVER;
	weir_sem_unlock_(w->sem, taken);
	return decided;
}

/* Take the lock and unlock: the unlock makes the grants that are due. */
static weir_err make_grants(struct weir_waiter_ *w)
{
	weir_err err = weir_sem_lock_(w->sem, w->call);

	/* As in give_up. */
	if (err)
		return err;
	w->recheck_ns = 0;
	weir_sem_unlock_(w->sem, 0);
	return WEIR_OK;
}

static int64_t earlier(int64_t a_ns, int64_t b_ns)
{
	return a_ns < b_ns ? a_ns : b_ns;
}

/*
 * Sleep until the outcome is known.  A barging waiter wakes once when it
 * reaches the starvation bound: it locks and unlocks the semaphore, and the
 * unlock makes the grants that are due, its own among them.  A waiter that
 * joined an empty queue does not wake at the bound.  Waiters are delayed only
 * by a head that was woken to retry and does not run; while no such head
 * exists, every release takes the lock and grants.
 *
 * The head of a BARGING queue spins before it sleeps.  If it is notified
 * meanwhile, it also spins before it retries.
 *
 * A waiter behind an operation with a deadline also wakes when that deadline
 * passes (recheck_ns): its unlock then evicts the operation (C7).
 */
static weir_err wait_for_outcome(struct weir_waiter_ *w, int64_t deadline_ns)
{
	int64_t due_ns = w->leads ? WEIR_FOREVER : weir_sem_due_ns_(w->sem, w);
	int64_t recheck_ns = WEIR_FOREVER;
	bool leads = w->leads && weir_sem_is_barging_(w->sem);
	weir_err err;

	for (;;) {
		int64_t wake_ns = earlier(due_ns, recheck_ns);
		bool spun = leads && weir_sem_spin_notified_(w);

		switch (weir_waiter_park_(w, earlier(wake_ns, deadline_ns))) {
		case WEIR_PARKED_FINAL_:
			return (weir_err)w->outcome;
		case WEIR_PARKED_RETRY_:
			/*
			 * The last release came soon, and the next one may,
			 * too.
			 */
			if (spun)
				weir_sem_spin_retry_(w, earlier(deadline_ns,
					weir_sem_due_ns_(w->sem, w)));
			if (retry(w, &recheck_ns))
				return (weir_err)w->outcome;
			leads = true;
			break;
		case WEIR_PARKED_LATE_:
			if (wake_ns >= deadline_ns)
				return give_up(w, WEIR_ETIMEDOUT);
			if (due_ns == wake_ns)
				due_ns = WEIR_FOREVER;
			recheck_ns = WEIR_FOREVER;
			err = make_grants(w);
			if (err)
				return err;
			break;
		case WEIR_PARKED_SIGNAL_:
			if (weir_state_(w->sem) & WEIR_STATE_INTERRUPTIBLE_)
				return give_up(w, WEIR_EINTR);
			break;
		}
	}
}

/* Wait on a list of w->sem.  w->got is the number of permits granted. */
static weir_err wait_listed(struct weir_waiter_ *w, int64_t deadline_ns)
{
	weir_hook_emit_(WEIR_EVENT_QUEUED_, w->sem, w->sem->name_, w->min,
			WEIR_OK);
	if (w->may_spin && weir_sem_spin_(w))
		return (weir_err)w->outcome;
	return wait_for_outcome(w, deadline_ns);
}

/*
 * The links, `cpu` and the time are set when w joins a list.  Some compilers clear
 * all 128 bytes with an instruction that takes longer than these stores.
 */
static void prepare(struct weir_waiter_ *w, weir_sem *sem,
		    enum weir_wants_ wants, weir_ctx *ctx, const char *call)
{
	w->sem = sem;
	w->ctx = ctx;
	w->min = w->max = w->got = 0;
	/* relaxed: no other thread knows w yet. */
	at_store_relaxed(&w->state, WEIR_WAITING_);
	w->forks = (uint8_t)weir_forks_();
	w->outcome = WEIR_OK;
	w->kind = WEIR_THREAD_;
	w->wants = (uint8_t)wants;
	w->place = WEIR_NOWHERE_;
	w->notify = 0;
	w->woken_to_retry = w->counted = w->spinning = w->roused = false;
	w->moved = w->any_has_ctx = w->mixed = false;
	w->call = call;
	w->recheck_ns = 0;
	w->may_spin = w->leads = false;
	w->record = 0;
}

/*
 * Returns true if w may not wait and cannot be granted now.  The deadline of a
 * context has been checked.  The clock is read last: a request that can be granted
 * needs none.
 */
static bool fails_at_once(const struct weir_waiter_ *w, int64_t deadline_ns)
{
	return !w->ctx && deadline_ns < WEIR_FOREVER &&
	       weir_sem_seen_to_time_out_(w->sem, w->min) &&
	       weir_now_ns() >= deadline_ns;
}

/*
 * Wait in w's context.  w is registered with the context before it joins the
 * queue, so that a cancel that returns has reached w.
 */
static weir_err wait_within(struct weir_waiter_ *w, int64_t deadline_ns)
{
	const char *name = w->sem->name_;
	weir_err err;

	if (w->ctx) {
		err = weir_ctx_join_(w->ctx, w);
		if (err)
			return err;
		deadline_ns = earlier(deadline_ns, weir_ctx_deadline(w->ctx));
	}
	if (fails_at_once(w, deadline_ns))
		err = WEIR_ETIMEDOUT;
	else if (weir_sem_enqueue_(w, deadline_ns, &err))
		err = wait_listed(w, deadline_ns);
	return weir_sem_finish_(w, name, err);
}

weir_err weir_sem_wait_(weir_sem *sem, int64_t min, int64_t max,
			weir_ctx *ctx, int64_t deadline_ns, int64_t *got,
			const char *call, uint64_t site)
{
	struct weir_waiter_ w;
	weir_err err;

	err = weir_frame_check_(call);
	if (!err && ctx)
		err = weir_ctx_err(ctx);
	if (err)
		return err;
	weir_sem_register_fresh_(sem, site);
	prepare(&w, sem, WEIR_WANTS_PERMITS_, ctx, call);
	w.min = min;
	w.max = max;
	weir_record_call_(site);
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
	weir_record_call_((uintptr_t)__builtin_return_address(0));
	return wait_within(&w, WEIR_FOREVER);
}
