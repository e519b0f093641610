/* SPDX-License-Identifier: MIT */
/*
 * Any one of several semaphores: a waiter in each queue, a *member*, and one word
 * that says which of them is granted.  docs/design/async.md, "Several semaphores".
 *
 * taken_   0, then for good: the number of a member, from 1; or why none.
 * left_    events until the outcome can be told: the submit is done asking, and
 *          taken_ is decided.  Whoever counts the last one tells the head.
 *
 * A member's state: FREE, ASKED while it is on a list or about to be told, TOLD by
 * its teller, who is then done with the whole.
 *
 * Pairs
 *
 *   [A6] event  release and acquire: event
 *               Who tells the outcome sees what led to it.
 *   [A7] member release: weir_any_notified_   acquire: withdraw
 *               Nobody is left at work on it when it is over.
 */
#include "async/any.h"

#include "async/all.h"
#include "async/op.h"
#include "async/run.h"
#include "base/atomic.h"
#include "base/cpu.h"
#include "base/fork.h"
#include "base/futex.h"
#include "base/panic.h"
#include "core/ctx_wait.h"
#include "core/sem_queue.h"
#include "core/sem_wait.h"
#include "weir/ctx.h"
#include "weir/multi.h"

/* Values of taken_ that are no member. */
#define NOBODY UINT32_C(0)
#define REFUSED UINT32_C(0xfffffffc)
#define LATE UINT32_C(0xfffffffd)
#define ENDED UINT32_C(0xfffffffe)
#define CANCELLED UINT32_C(0xffffffff)

static struct weir_waiter_ *head_of(weir_any *any)
{
	return weir_op_inside_of_(&any->head_);
}

static struct weir_waiter_ *end_of(weir_any *any)
{
	return weir_op_inside_of_(&any->end_);
}

static struct weir_waiter_ *member_of(weir_any *any, size_t i)
{
	return weir_op_inside_of_(&any->places_[i]);
}

static weir_any *any_of(struct weir_waiter_ *head)
{
	return ring_entry(head, weir_any, head_);
}

/* Decide, if nobody has. */
static bool decide(weir_any *any, uint32_t how)
{
	uint32_t seen = NOBODY;

	/* relaxed: decides; event() publishes. */
	while (!at_cas_weak_relaxed(&any->taken_, &seen, how))
		if (seen != NOBODY)
			return false;
	return true;
}

/* True: the last of the two. */
static bool event(weir_any *any)
{
	/* [A6] release, [A6] acquire */
	return at_sub_acq_rel(&any->left_, 1) == 1;
}

/* One place is of no use any more.  True: it was the last, and all is over. */
static bool refused(weir_any *any, weir_err err)
{
	int32_t none = WEIR_OK;

	/* relaxed: read when all is over. */
	while (!at_cas_weak_relaxed(&any->first_err_, &none, (int32_t)err))
		if (none)
			break;
	/* [A6] release, [A6] acquire */
	return at_sub_acq_rel(&any->open_, 1) == 1 && decide(any, REFUSED) &&
	       event(any);
}

bool weir_any_notified_(struct weir_waiter_ *w)
{
	weir_any *any = w->user;
	bool over = false, runs = false;

	if (!w->outcome)
		over = event(any);
	else if (w->outcome != WEIR_EAGAIN)
		over = refused(any, (weir_err)w->outcome);
	if (over)
		runs = weir_run_notify_(head_of(any));
	/* [A7] release.  The last access to *w and *any. */
	at_store_release(&w->state, WEIR_OP_NOTIFIED_);
	return runs;
}

bool weir_any_late_(struct weir_waiter_ *head)
{
	return decide(any_of(head), LATE) && event(any_of(head));
}

/* C13: what the winner got, if there is one, goes to the next. */
static void take_back(weir_any *any)
{
	struct weir_to_notify_ to_notify = { NULL, NULL };
	/* relaxed: decided for good. */
	uint32_t taken = at_load_relaxed(&any->taken_);
	struct weir_waiter_ *w;

	if (taken > any->k_)
		return;
	w = member_of(any, taken - 1);
	if (weir_sem_lock_no_panic_(w->sem))
		return;
	(void)weir_sem_grant_and_unlock_(w->sem, -weir_sem_take_back_(w->sem, w), &to_notify);
	weir_notify_without_callbacks_(&to_notify);
}

/* Its context was cancelled.  Under the tree's lock, which keeps *any. */
static void ended(struct weir_waiter_ *w, weir_err why)
{
	weir_any *any = ring_entry(w, weir_any, end_);

	(void)why;
	if (!decide(any, ENDED))
		take_back(any);
	else if (event(any))
		(void)weir_run_notify_(head_of(any));	/* the cancel flushes */
}

/*
 * Take w off its list; if it was decided, wait until that has been told.  Not with
 * tells of our own unsent: w may be among them, or what its teller waits for.  True
 * if some were sent, and callbacks may be left to run.
 */
static bool withdraw(struct weir_waiter_ *w, struct weir_to_notify_ *to_notify)
{
	struct weir_backoff_ backoff = { 0 };
	bool waits = false, sent;

	/* [A7] acquire */
	if (at_load_acquire(&w->state) != WEIR_OP_QUEUED_)
		return false;
	if (!weir_sem_lock_no_panic_(w->sem)) {
		waits = w->place != WEIR_NOWHERE_;
		if (waits)
			weir_sem_leave_(w->sem, w);
		(void)weir_sem_grant_and_unlock_(w->sem, 0, to_notify);
	}
	if (waits)
		return false;
	sent = to_notify->first;
	weir_notify_without_callbacks_(to_notify);
	/* [A7] acquire */
	while (at_load_acquire(&w->state) == WEIR_OP_QUEUED_)
		weir_backoff_wait_(&backoff);
	return sent;
}

/*
 * It is decided: leave the other queues and the context.  `wanted` is false if
 * the caller prevents it; else the outcome, and *which.
 */
static weir_err conclude(weir_any *any, bool wanted, size_t *which)
{
	struct weir_to_notify_ to_notify = { NULL, NULL };
	struct weir_waiter_ *winner = NULL, *end = end_of(any);
	weir_err err = WEIR_ECANCELED, why = WEIR_OK;
	/* relaxed: decided for good. */
	uint32_t taken = at_load_relaxed(&any->taken_);
	bool sent = false;

	weir_op_stop_timer_(head_of(any));
	for (size_t i = 0; i < any->k_; i++)
		sent = withdraw(member_of(any, i), &to_notify) || sent;
	if (taken <= any->k_) {
		*which = taken - 1;
		winner = member_of(any, *which);
		err = WEIR_OK;
	} else if (taken == REFUSED) {
		err = (weir_err)any->first_err_;
	} else if (taken == LATE) {
		err = WEIR_ETIMEDOUT;
	}
	if (end->ctx)
		why = weir_ctx_leave_(end->ctx, end, err == WEIR_ETIMEDOUT);
	if (winner && (why || !wanted))
		weir_sem_cancel_(winner, &to_notify);
	else if (winner)
		(void)weir_sem_finish_(winner, winner->sem->name_, WEIR_OK);
	/* C13: the end of the context wins, and gives one reason for all. */
	if (why && (!err || err == WEIR_ETIMEDOUT || err == WEIR_ECANCELED))
		err = why;
	weir_notify_all_(&to_notify);
	if (sent)
		weir_callbacks_run_();
	return err;
}

static void set_free(weir_any *any)
{
	/* [A4] release */
	at_store_release(&head_of(any)->state, WEIR_OP_FREE_);
}

void weir_any_callback_(struct weir_waiter_ *head)
{
	weir_any *any = any_of(head);
	weir_any_fn *fn = any->fn_;
	void *user = any->user_;
	size_t which = 0;
	weir_err err = conclude(any, true, &which);

	/* The last access to *any: it is the callback's. */
	set_free(any);
	fn(any, err, which, user);
}

/* Ask for one place.  True: nobody needs to be asked any more. */
static bool ask(weir_any *any, size_t i)
{
	struct weir_waiter_ *w = member_of(any, i);
	weir_err err;

	/* relaxed: the semaphore's lock publishes it. */
	at_store_relaxed(&w->state, WEIR_OP_QUEUED_);
	if (weir_sem_enqueue_(w, WEIR_FOREVER, &err))
		return false;
	/* relaxed: nobody else has it. */
	at_store_relaxed(&w->state, WEIR_OP_FREE_);
	if (!err)
		(void)event(any);
	else if (err != WEIR_EAGAIN)
		(void)refused(any, err);
	return !err;
}

/*
 * Where to look first.  Of k calls each looks first at another place; but the next k
 * begin anywhere.  Else two lists that are asked in turn would see every other number
 * each, and for ever begin with the same one.
 */
static size_t turn(size_t k)
{
	static uint32_t calls;
	/* relaxed: any number will do. */
	uint32_t call = at_add_relaxed(&calls, 1);
	uint32_t anywhere = call / (uint32_t)k * UINT32_C(0x9e3779b9);

	return ((anywhere ^ anywhere >> 15) % k + call % k) % k;
}

static void prepare_member(weir_any *any, size_t i, const weir_req *req)
{
	struct weir_waiter_ *w = member_of(any, i);

	*w = (struct weir_waiter_){
		.sem = req->sem,
		.min = req->n,
		.forks = (uint8_t)weir_forks_(),
		.kind = WEIR_MEMBER_,
		.wants = WEIR_WANTS_PERMITS_,
	};
	w->user = any;
	w->runner = &any->taken_;
	w->deadline_ns = (int64_t)i + 1;
}

/* All of it before the context knows of it: a cancel may look at any place. */
static void prepare(weir_any *any, const weir_req *reqs, weir_op *places,
		    size_t k, weir_ctx *ctx)
{
	struct weir_waiter_ *head = head_of(any), *end = end_of(any);

	any->places_ = places;
	any->k_ = k;
	any->taken_ = NOBODY;
	any->left_ = 2;
	any->open_ = (uint32_t)k;
	any->first_err_ = WEIR_OK;
	for (size_t i = 0; i < k; i++)
		prepare_member(any, i, &reqs[i]);
	head->sem = NULL;
	head->notify = 0;
	head->deadline_ns = ctx ? weir_ctx_deadline(ctx) : WEIR_FOREVER;
	head->timer = (struct weir_ring_){ NULL, NULL };
	*end = (struct weir_waiter_){ .wants = WEIR_WANTS_OTHER_, .ctx = ctx };
	end->end = ended;
	/* relaxed: the locks to come publish it. */
	at_store_relaxed(&head->state, WEIR_OP_QUEUED_);
}

static weir_err submit(weir_any *any, const weir_req *reqs, weir_op *places,
		       size_t k, weir_ctx *ctx, size_t *which)
{
	struct weir_waiter_ *head = head_of(any);
	size_t from;
	weir_err err;

	if (!k || k >= REFUSED || !weir_reqs_ok_(reqs, k))
		return WEIR_EINVAL;
	/* relaxed: another call on it now is a mistake, found by luck. */
	if (at_load_relaxed(&head->state) != WEIR_OP_FREE_)
		return weir_panic_("weir_any_submit: operation %p is submitted "
				   "already", any);
	if (ctx && weir_ctx_deadline(ctx) != WEIR_FOREVER &&
	    head->kind == WEIR_OP_ON_THREAD_)
		return WEIR_EINVAL;
	weir_waiter_set_notifier_(weir_run_notify_);
	prepare(any, reqs, places, k, ctx);
	err = ctx ? weir_ctx_err(ctx) : WEIR_OK;
	if (!err && ctx)
		err = weir_ctx_join_(ctx, end_of(any));
	if (err) {
		set_free(any);
		return err;
	}
	weir_op_start_timer_(head);
	from = turn(k);
	for (size_t i = 0; i < k; i++)
		/* relaxed: a glance, to save asking in vain. */
		if (at_load_relaxed(&any->taken_) != NOBODY ||
		    ask(any, (from + i) % k))
			break;
	if (!event(any))
		return WEIR_EQUEUED;
	err = conclude(any, true, which);
	set_free(any);
	return err;
}

static bool is_misplaced(const weir_any *any)
{
	return !any || (uintptr_t)any % _Alignof(weir_any);
}

void weir_any_init(weir_any *any, struct weir_loop *loop, weir_any_fn *fn,
		   void *user)
{
	struct weir_waiter_ *head;

	if (is_misplaced(any) || !fn) {
		weir_panic_("weir_any_init: %p is not an operation, or has "
			    "nothing to call", any);
		return;
	}
	*any = (weir_any){ .fn_ = fn, .user_ = user };
	head = head_of(any);
	*head = (struct weir_waiter_){
		.kind = loop ? WEIR_OP_ON_LOOP_ : WEIR_OP_ON_THREAD_,
	};
	head->runner = loop;
}

weir_err weir_any_submit(weir_any *any, const weir_req *reqs, weir_op *places,
			 size_t k, struct weir_ctx *ctx, size_t *which)
{
	size_t ignored;

	if (is_misplaced(any) || !places ||
	    (uintptr_t)places % _Alignof(weir_op))
		return WEIR_EINVAL;
	return submit(any, reqs, places, k, ctx, which ? which : &ignored);
}

weir_err weir_any_cancel(weir_any *any)
{
	size_t which;

	if (is_misplaced(any))
		return WEIR_EINVAL;
	/* [A4] acquire */
	if (at_load_acquire(&head_of(any)->state) == WEIR_OP_FREE_)
		return WEIR_EBUSY;
	if (!decide(any, CANCELLED) && !weir_run_take_(head_of(any)))
		return WEIR_EBUSY;
	(void)conclude(any, false, &which);
	set_free(any);
	return WEIR_OK;
}

weir_err weir_acquire_any(const weir_req *reqs, size_t k, struct weir_ctx *ctx,
			  size_t *which)
{
	weir_op places[WEIR_ANY_MAX];
	weir_any any = { .fn_ = NULL };
	struct weir_waiter_ *head = head_of(&any);
	int64_t deadline_ns;
	weir_err err;

	if (!which || k > WEIR_ANY_MAX)
		return WEIR_EINVAL;
	head->kind = WEIR_OP_WAKES_;
	err = submit(&any, reqs, places, k, ctx, which);
	if (err != WEIR_EQUEUED)
		return err;
	deadline_ns = head->deadline_ns;
	/* [A2] acquire */
	while (at_load_acquire(&head->state) == WEIR_OP_QUEUED_) {
		if (weir_futex_wait_(&head->state, WEIR_OP_QUEUED_,
				     deadline_ns) != WEIR_WOKE_LATE_)
			continue;
		if (decide(&any, LATE))
			break;
		/* Decided otherwise; that is on its way. */
		deadline_ns = WEIR_FOREVER;
	}
	return conclude(&any, true, which);
}
