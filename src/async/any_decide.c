/* SPDX-License-Identifier: MIT */
/*
 * The decision of an any-of request: which member is granted, or why none is;
 * and when the outcome can be delivered.  See docs/design/async.md, "Several
 * semaphores".
 *
 * Pairs
 *
 *   [A6] event   release: weir_any_event_, weir_any_refused_
 *                acquire: weir_any_event_, weir_any_refused_
 *                The thread that delivers the outcome sees everything that led
 *                to it.
 *   [A7] member  release: weir_any_notified_   acquire: withdraw
 *                No thread accesses a member after its request has finished.
 */
#include "async/any.h"

#include "async/run.h"
#include "base/atomic.h"
#include "core/sem_grant.h"
#include "core/sem_lock.h"
#include "record/record.h"

bool weir_any_decide_(weir_any *any, uint32_t how)
{
	uint32_t seen = WEIR_ANY_UNDECIDED_;

	/*
	 * relaxed: the CAS only decides; weir_any_event_ publishes the
	 * decision.
	 */
	while (!at_cas_weak_relaxed(&any->winner_, &seen, how))
		if (seen != WEIR_ANY_UNDECIDED_)
			return false;
	return true;
}

bool weir_any_event_(weir_any *any)
{
	/* [A6] release, [A6] acquire */
	return at_sub_acq_rel(&any->left_, 1) == 1;
}

bool weir_any_refused_(weir_any *any)
{
	/* [A6] release, [A6] acquire */
	return at_sub_acq_rel(&any->open_, 1) == 1 &&
	       weir_any_decide_(any, WEIR_ANY_REFUSED_) && weir_any_event_(any);
}

bool weir_any_late_(struct weir_waiter_ *head)
{
	weir_any *any = weir_any_of_(head);

	return weir_any_decide_(any, WEIR_ANY_LATE_) && weir_any_event_(any);
}

/* Called when the member w has failed. */
static bool refuse(weir_any *any, const struct weir_waiter_ *w)
{
	if (w->member_record)
		weir_record_refused_(w->member_record);
	return weir_any_refused_(any);
}

bool weir_any_notified_(struct weir_waiter_ *w)
{
	weir_any *any = w->any;
	bool over = false, runs = false;

	if (!w->outcome)
		over = weir_any_event_(any);
	else if (w->outcome == WEIR_ETIMEDOUT)
		over = weir_any_late_(weir_any_head_(any));
	else if (w->outcome != WEIR_EAGAIN)
		over = refuse(any, w);
	if (over)
		runs = weir_run_notify_(weir_any_head_(any));
	/* [A7] release.  This is the last access to *w and *any. */
	at_store_release(&w->state, WEIR_OP_NOTIFIED_);
	return runs;
}

/* C13: grant the permits of the granted member, if any, to the next waiters. */
static void take_back(weir_any *any)
{
	struct weir_to_notify_ to_notify = { .first = NULL };
	/*
	 * relaxed: the request is decided, so winner_ does not change any more.
	 */
	uint32_t winner = at_load_relaxed(&any->winner_);
	struct weir_waiter_ *w;

	if (winner > any->k_)
		return;
	w = weir_any_member_(any, winner - 1);
	if (weir_sem_lock_no_panic_(w->sem))
		return;
	(void)weir_sem_grant_and_unlock_(
		w->sem, -weir_sem_take_back_(w->sem, w), &to_notify);
	weir_notify_without_callbacks_(&to_notify);
}

/* Called with the context tree locked; the lock keeps *any valid. */
void weir_any_ctx_ended_(struct weir_waiter_ *w, weir_err why)
{
	weir_any *any = ring_entry(w, weir_any, end_);

	(void)why;
	if (!weir_any_decide_(any, WEIR_ANY_CTX_ENDED_))
		take_back(any);
	else if (weir_any_event_(any))
		/* The cancel runs the callbacks. */
		(void)weir_run_notify_(weir_any_head_(any));
}
