/* SPDX-License-Identifier: MIT */
/*
 * Any one of several semaphores: a waiter in each queue, a *member*, and one
 * word that records which member is granted (any.h).  docs/design/async.md,
 * "Several semaphores".
 */
#include "async/any.h"

#include "async/all.h"
#include "async/count.h"
#include "async/op.h"
#include "async/run.h"
#include "base/atomic.h"
#include "base/fork.h"
#include "base/futex.h"
#include "base/panic.h"
#include "core/ctx_wait.h"
#include "core/sem_wait.h"
#include "core/sem_watched.h"
#include "weir/ctx.h"
#include "weir/multi.h"

static void set_free(weir_any *any)
{
	weir_op_uncount_(weir_any_head_(any));
	/* [A4] release */
	at_store_release(&weir_any_head_(any)->state, WEIR_OP_FREE_);
}

/* Called when the head has been taken off its runner: run the callback. */
static void complete(struct weir_waiter_ *head)
{
	weir_any *any = weir_any_of_(head);
	weir_any_fn *fn = any->fn_;
	void *user = any->user_;
	size_t which = 0;
	weir_err err = weir_any_finish_(any, true, &which);

	/* This is the last access to *any: the callback may reuse it. */
	set_free(any);
	fn(any, err, which, user);
}

/*
 * Enqueue one member.  Returns true if the member was granted at once; the
 * other members need not be enqueued then.
 */
static bool enqueue(weir_any *any, size_t i)
{
	struct weir_waiter_ *w = weir_any_member_(any, i);
	weir_err err;

	weir_sem_register_fresh_(w->sem, 0);
	/* relaxed: the semaphore's lock publishes it. */
	at_store_relaxed(&w->state, WEIR_OP_QUEUED_);
	if (weir_sem_enqueue_(w, WEIR_FOREVER, &err))
		return false;
	/* relaxed: no other thread has a reference to w. */
	at_store_relaxed(&w->state, WEIR_OP_FREE_);
	w->outcome = (int8_t)err;
	if (!err)
		(void)weir_any_event_(any);
	else if (err != WEIR_EAGAIN)
		(void)weir_any_refused_(any);
	return !err;
}

/* Enqueue the members until one of them is granted. */
static void enqueue_all(weir_any *any, size_t from)
{
	for (size_t i = 0; i < any->k_; i++)
		/* relaxed: a hint, to avoid needless enqueues. */
		if (at_load_relaxed(&any->winner_) != WEIR_ANY_UNDECIDED_ ||
		    enqueue(any, (from + i) % any->k_))
			break;
}

/*
 * Returns the member to try first.  In every k consecutive calls each member
 * comes first once; each such round starts at a random member.  If each round
 * started at a fixed member, two lists that are requested alternately would
 * each see every second number, and would always start with the same member.
 */
static size_t first_member(size_t k)
{
	static uint32_t calls;
	/* relaxed: any number will do. */
	uint32_t call = at_add_relaxed(&calls, 1);
	uint32_t anywhere = call / (uint32_t)k * UINT32_C(0x9e3779b9);

	return ((anywhere ^ anywhere >> 15) % k + call % k) % k;
}

static void prepare_member(weir_any *any, size_t i, const weir_req *req,
			   weir_ctx *ctx)
{
	struct weir_waiter_ *w = weir_any_member_(any, i);

	*w = (struct weir_waiter_){
		.sem = req->sem,
		.min = req->n,
		.forks = (uint8_t)weir_forks_(),
		.kind = WEIR_MEMBER_,
		.wants = WEIR_WANTS_PERMITS_,
		.any_has_ctx = ctx,
	};
	w->notified = weir_any_notified_;
	w->any = any;
	w->winner = &any->winner_;
	w->number = (uint32_t)i + 1;
	w->member_record = 0;
	w->context = weir_any_head_(any)->kind == WEIR_OP_WAKES_ ?
			     NULL : &any->context_;
	w->any_deadline_ns = ctx ? weir_ctx_deadline(ctx) : WEIR_FOREVER;
}

/*
 * Prepare every part of the request before it is registered with the context: a
 * cancel may access any member.
 */
static void prepare(weir_any *any, const weir_req *reqs, weir_op *places,
		    size_t k, weir_ctx *ctx)
{
	struct weir_waiter_ *head = weir_any_head_(any);
	struct weir_waiter_ *end = weir_any_end_(any);

	any->places_ = places;
	any->k_ = k;
	any->winner_ = WEIR_ANY_UNDECIDED_;
	any->left_ = 2;
	any->open_ = (uint32_t)k;
	any->context_ = 0;
	for (size_t i = 0; i < k; i++)
		prepare_member(any, i, &reqs[i], ctx);
	head->sem = NULL;
	head->notify = 0;
	head->deadline_ns = ctx ? weir_ctx_deadline(ctx) : WEIR_FOREVER;
	head->timer = (struct weir_ring_){ NULL, NULL };
	*end = (struct weir_waiter_){ .wants = WEIR_WANTS_OTHER_, .ctx = ctx };
	end->end = weir_any_ctx_ended_;
	weir_op_count_(head);
	/* relaxed: the locks of the members' semaphores publish it. */
	at_store_relaxed(&head->state, WEIR_OP_QUEUED_);
}

static weir_err check(weir_any *any, const weir_req *reqs, size_t k,
		      weir_ctx *ctx)
{
	struct weir_waiter_ *head = weir_any_head_(any);

	if (!k || k >= WEIR_ANY_REFUSED_ || !weir_reqs_ok_(reqs, k))
		return WEIR_EINVAL;
	/* relaxed: misuse, which need not be detected in every case. */
	if (at_load_relaxed(&head->state) != WEIR_OP_FREE_)
		return weir_panic_("weir_any_submit: operation %p is already "
				   "submitted", any);
	if (ctx && weir_ctx_deadline(ctx) != WEIR_FOREVER &&
	    head->kind == WEIR_OP_ON_THREAD_)
		return WEIR_EINVAL;
	return WEIR_OK;
}

static weir_err submit(weir_any *any, const weir_req *reqs, weir_op *places,
		       size_t k, weir_ctx *ctx, size_t *which)
{
	weir_err err = check(any, reqs, k, ctx);

	if (err)
		return err;
	weir_waiter_set_notifier_(weir_run_notify_);
	prepare(any, reqs, places, k, ctx);
	err = ctx ? weir_ctx_err(ctx) : WEIR_OK;
	if (!err && ctx)
		err = weir_ctx_join_(ctx, weir_any_end_(any));
	if (err) {
		set_free(any);
		return err;
	}
	weir_op_start_timer_(weir_any_head_(any));
	enqueue_all(any, first_member(k));
	if (!weir_any_event_(any))
		return WEIR_EQUEUED;
	err = weir_any_finish_(any, true, which);
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
		weir_panic_("weir_any_init: operation %p: invalid pointer, or "
			    "no callback", any);
		return;
	}
	*any = (weir_any){ .fn_ = fn, .user_ = user };
	head = weir_any_head_(any);
	*head = (struct weir_waiter_){
		.kind = loop ? WEIR_OP_ON_LOOP_ : WEIR_OP_ON_THREAD_,
	};
	head->complete = complete;
	head->runner = loop;
}

weir_err weir_any_submit(weir_any *any, const weir_req *reqs, weir_op *places,
			 size_t k, struct weir_ctx *ctx, size_t *which)
{
	size_t ignored;

	if (is_misplaced(any) || !places ||
	    (uintptr_t)places % _Alignof(weir_op))
		return WEIR_EINVAL;
	weir_record_call_(WEIR_SITE_);
	return submit(any, reqs, places, k, ctx, which ? which : &ignored);
}

weir_err weir_any_cancel(weir_any *any)
{
	uint32_t state;
	size_t which;

	if (is_misplaced(any))
		return WEIR_EINVAL;
	/* [A4] acquire */
	state = at_load_acquire(&weir_any_head_(any)->state);
	if (state == WEIR_OP_FREE_)
		return WEIR_EBUSY;
	if (!weir_op_is_valid_(weir_any_head_(any), state))
		return weir_panic_("weir_any_cancel: operation %p was not "
				   "initialised", any);
	if (!weir_any_decide_(any, WEIR_ANY_CANCELLED_) &&
	    !weir_run_take_(weir_any_head_(any)))
		return WEIR_EBUSY;
	(void)weir_any_finish_(any, false, &which);
	set_free(any);
	return WEIR_OK;
}

weir_err weir_acquire_any(const weir_req *reqs, size_t k, struct weir_ctx *ctx,
			  size_t *which)
{
	weir_op places[WEIR_ANY_MAX];
	weir_any any = { .fn_ = NULL };
	struct weir_waiter_ *head = weir_any_head_(&any);
	int64_t deadline_ns;
	weir_err err;

	if (!which || k > WEIR_ANY_MAX)
		return WEIR_EINVAL;
	head->kind = WEIR_OP_WAKES_;
	weir_record_call_(WEIR_SITE_);
	err = submit(&any, reqs, places, k, ctx, which);
	if (err != WEIR_EQUEUED)
		return err;
	deadline_ns = head->deadline_ns;
	/* [A2] acquire */
	while (at_load_acquire(&head->state) == WEIR_OP_QUEUED_) {
		if (weir_futex_wait_(&head->state, WEIR_OP_QUEUED_,
				     deadline_ns) != WEIR_WOKE_LATE_)
			continue;
		if (weir_any_decide_(&any, WEIR_ANY_LATE_))
			break;
		/*
		 * The request has been decided otherwise, and its notification
		 * is due.
		 */
		deadline_ns = WEIR_FOREVER;
	}
	return weir_any_finish_(&any, true, which);
}
