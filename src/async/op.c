/* SPDX-License-Identifier: MIT */
/* Operations: submit, cancel, poll.  docs/design/async.md. */
#include "async/op.h"

#include <stddef.h>
#include <string.h>

#include "async/count.h"
#include "async/end.h"
#include "async/inbox.h"
#include "async/run.h"
#include "async/timers.h"
#include "base/atomic.h"
#include "base/cpu.h"
#include "base/fork.h"
#include "base/hook.h"
#include "base/panic.h"
#include "core/ctx_wait.h"
#include "core/sem_grant.h"
#include "core/sem_lock.h"
#include "core/sem_queue.h"
#include "core/sem_wait.h"
#include "core/sem_watched.h"
#include "core/sem_word.h"
#include "weir/async.h"
#include "weir/ctx.h"

static bool is_misplaced(const weir_op *op)
{
	return !op || (uintptr_t)op % _Alignof(weir_op);
}

void weir_op_init(weir_op *op, struct weir_loop *loop, weir_op_fn *fn,
		  void *user)
{
	struct weir_waiter_ *w = weir_op_inside_of_(op);

	if (is_misplaced(op) || (loop && !fn)) {
		weir_panic_("weir_op_init: operation %p: invalid pointer, or "
			    "a loop without a callback", op);
		return;
	}
	/*
	 * In two parts: some compilers clear all 128 bytes with an instruction that
	 * takes longer than these stores.
	 */
	memset(w, 0, offsetof(struct weir_waiter_, fn));
	w->kind = loop ? WEIR_OP_ON_LOOP_ :
		  fn   ? WEIR_OP_ON_THREAD_ :
			 WEIR_OP_POLLED_;
	w->fn = (void (*)(void))fn;
	w->user = user;
	w->runner = loop;
	w->deadline_ns = 0;
	w->timer = (struct weir_ring_){ NULL, NULL };
}

void weir_op_start_timer_(struct weir_waiter_ *w)
{
	weir_loop *loop = w->runner;
	bool sooner;

	if (w->kind != WEIR_OP_ON_LOOP_ || w->deadline_ns == WEIR_FOREVER)
		return;
	weir_run_lock_(loop);
	sooner = weir_timers_add_(loop, w);
	weir_run_unlock_(loop);
	if (sooner)
		weir_inbox_raise_(loop);
}

void weir_op_stop_timer_(struct weir_waiter_ *w)
{
	if (w->kind != WEIR_OP_ON_LOOP_ || w->deadline_ns == WEIR_FOREVER)
		return;
	weir_run_lock_(w->runner);
	weir_timers_remove_(w->runner, w);
	weir_run_unlock_(w->runner);
}

void weir_op_set_free_(struct weir_waiter_ *w)
{
	weir_op_uncount_(w);
	/* [A4] release */
	at_store_release(&w->state, WEIR_OP_FREE_);
}

/* The slow path.  Once w is queued, it may be decided and freed. */
static weir_err enqueue(struct weir_waiter_ *w)
{
	weir_sem *sem = w->sem;
	const char *name = sem->name_;
	int64_t n = w->min;
	weir_err err;

	if (w->ctx) {
		err = weir_ctx_join_(w->ctx, w);
		if (err)
			return err;
	}
	weir_op_start_timer_(w);
	if (weir_sem_enqueue_(w, w->deadline_ns, &err)) {
		weir_hook_emit_(WEIR_EVENT_QUEUED_, sem, name, n, WEIR_OK);
		return WEIR_EQUEUED;
	}
	weir_op_stop_timer_(w);
	return weir_sem_finish_(w, name, err);
}

/* Not inlined, and called last: core/sem_watched.h, "WEIR_SITE_". */
__attribute__((noinline))
static weir_err submit(weir_op *op, weir_sem *sem, int64_t n, weir_ctx *ctx,
		       int64_t deadline_ns)
{
	struct weir_waiter_ *w = weir_op_inside_of_(op);
	weir_err err;

	if (is_misplaced(op) || !weir_request_ok_(sem, n, n))
		return WEIR_EINVAL;
	/* relaxed: a concurrent call is a misuse, detected by chance. */
	if (at_load_relaxed(&w->state) != WEIR_OP_FREE_)
		return weir_panic_("weir_op_submit: operation %p is already "
				   "submitted", op);
	if (deadline_ns != WEIR_FOREVER && w->kind == WEIR_OP_ON_THREAD_)
		return WEIR_EINVAL;
	err = ctx ? weir_ctx_err(ctx) : WEIR_OK;
	if (err)
		return err;
	if (weir_take_fast_(sem, n, n) >= 0) {
		/* C13: a cancel that came meanwhile wins over the permits. */
		err = ctx ? weir_ctx_cancelled_(ctx) : WEIR_OK;
		if (err)
			weir_sem_put_(sem, n);
		return err;
	}
	weir_waiter_set_notifier_(weir_run_notify_);
	weir_record_call_(WEIR_SITE_);
	weir_sem_register_fresh_(sem, WEIR_SITE_);
	w->sem = sem;
	w->ctx = ctx;
	w->min = n;
	w->forks = (uint8_t)weir_forks_();
	w->wants = WEIR_WANTS_PERMITS_;
	w->place = WEIR_NOWHERE_;
	w->notify = 0;
	w->woken_to_retry = w->counted = w->spinning = false;
	w->deadline_ns = deadline_ns;
	w->timer = (struct weir_ring_){ NULL, NULL };
	weir_op_count_(w);
	/* relaxed: published by the semaphore's lock. */
	at_store_relaxed(&w->state, WEIR_OP_QUEUED_);
	err = enqueue(w);
	if (err != WEIR_EQUEUED)
		weir_op_set_free_(w);
	return err;
}

weir_err weir_op_submit(weir_op *op, weir_sem *sem, int64_t n,
			struct weir_ctx *ctx)
{
	return submit(op, sem, n, ctx, ctx ? weir_ctx_deadline(ctx) :
					     WEIR_FOREVER);
}

weir_err weir_op_submit_until(weir_op *op, weir_sem *sem, int64_t n,
			      int64_t deadline_ns)
{
	return submit(op, sem, n, NULL, deadline_ns);
}

/*
 * Take w off its list.  Waiters that are granted as a consequence are added to
 * to_notify.  *waited is false if w had been decided before.
 */
static weir_err leave(struct weir_waiter_ *w, bool *waited,
		      struct weir_to_notify_ *to_notify)
{
	weir_err err;

	if (weir_op_awaits_end_(w)) {
		*waited = weir_waiter_claim_end_(w);
		return WEIR_OK;
	}
	err = weir_sem_lock_(w->sem, "weir_op_cancel");
	/*
	 * The lock fails only in the child of a fork (C29), or if the oldest waiter
	 * was initialised again.
	 */
	if (err)
		return err;
	*waited = w->place != WEIR_NOWHERE_;
	if (*waited)
		weir_sem_leave_(w->sem, w);
	(void)weir_sem_grant_and_unlock_(w->sem, 0, to_notify);
	return WEIR_OK;
}

/*
 * Take a decided operation away from its runner.  Returns false if its callback
 * has begun.
 */
static bool take_decided(struct weir_waiter_ *w)
{
	struct weir_backoff_ backoff = { 0 };

	if (w->kind != WEIR_OP_POLLED_)
		return weir_run_take_(w);
	/* [A2] acquire.  The operation is decided, so a notification is due. */
	while (at_load_acquire(&w->state) != WEIR_OP_NOTIFIED_)
		weir_backoff_wait_(&backoff);
	return true;
}

weir_err weir_op_cancel(weir_op *op)
{
	struct weir_waiter_ *w = weir_op_inside_of_(op);
	struct weir_to_notify_ to_notify = { .first = NULL };
	bool waited = false;
	weir_err err = WEIR_OK;
	uint32_t state;

	if (is_misplaced(op))
		return WEIR_EINVAL;
	/* [A4] acquire */
	state = at_load_acquire(&w->state);
	if (state == WEIR_OP_FREE_)
		return WEIR_EBUSY;
	if (!weir_op_is_valid_(w, state))
		return weir_panic_("weir_op_cancel: operation %p was not "
				   "initialised", op);
	if (state == WEIR_OP_QUEUED_)
		err = leave(w, &waited, &to_notify);
	if (err)
		return err;
	if (waited)
		weir_op_stop_timer_(w);
	else if (!take_decided(w))
		err = WEIR_EBUSY;
	if (!err) {
		if (weir_op_awaits_end_(w))
			(void)weir_op_end_finish_(w, WEIR_OK);
		else
			weir_sem_cancel_(w, &to_notify);
		weir_op_set_free_(w);
	}
	weir_notify_all_(&to_notify);
	return err;
}

/*
 * Returns true if w has a deadline and it has passed.  Only weir_op_poll checks
 * the deadline of a polled operation.
 */
static bool is_late(const struct weir_waiter_ *w)
{
	return w->deadline_ns != WEIR_FOREVER &&
	       weir_now_ns() >= w->deadline_ns;
}

weir_err weir_op_poll(weir_op *op)
{
	struct weir_waiter_ *w = weir_op_inside_of_(op);
	struct weir_to_notify_ to_notify = { .first = NULL };
	bool waited = true;
	weir_err err;
	uint32_t state;

	if (is_misplaced(op) || w->kind != WEIR_OP_POLLED_)
		return WEIR_EINVAL;
	/* [A2] acquire */
	state = at_load_acquire(&w->state);
	if (state == WEIR_OP_FREE_)
		return WEIR_EINVAL;
	if (state == WEIR_OP_NOTIFIED_) {
		err = (weir_err)w->outcome;
	} else {
		if (!is_late(w))
			return WEIR_EQUEUED;
		err = leave(w, &waited, &to_notify);
		if (err)
			return err;
		err = waited ? WEIR_ETIMEDOUT : WEIR_EQUEUED;
	}
	if (waited) {
		err = weir_op_awaits_end_(w) ?
			      weir_op_end_finish_(w, err) :
			      weir_sem_finish_(w, w->sem->name_, err);
		weir_op_set_free_(w);
	}
	weir_notify_all_(&to_notify);
	return err;
}
