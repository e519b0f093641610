/* SPDX-License-Identifier: MIT */
/*
 * The end of an any-of request: every member leaves its queue, and the granted
 * member's permits become the caller's.
 */
#include "async/any.h"
#include "async/op.h"
#include "async/run.h"
#include "base/atomic.h"
#include "base/cpu.h"
#include "core/ctx_wait.h"
#include "core/sem_grant.h"
#include "core/sem_lock.h"
#include "core/sem_queue.h"
#include "core/sem_wait.h"
#include "record/record.h"

/*
 * Take w off its list.  If w has been decided, wait until it has been notified.
 * The waiters in to_notify must be notified before that wait: w may be among
 * them, or the notifying thread of w may wait for one of them.  Returns true if
 * to_notify was notified; this thread may then have callbacks to run.
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
 * Returns the outcome of a decided request; *granted is the granted member, or
 * null.
 */
static weir_err outcome_of(weir_any *any, struct weir_waiter_ **granted,
			   size_t *which)
{
	/*
	 * relaxed: the request is decided, so winner_ does not change any more.
	 */
	uint32_t winner = at_load_relaxed(&any->winner_);

	*granted = NULL;
	if (winner <= any->k_) {
		*which = winner - 1;
		*granted = weir_any_member_(any, *which);
		return WEIR_OK;
	}
	/* Every member has failed.  The members are in the order of the list. */
	if (winner == WEIR_ANY_REFUSED_)
		return (weir_err)weir_any_member_(any, 0)->outcome;
	return winner == WEIR_ANY_LATE_ ? WEIR_ETIMEDOUT : WEIR_ECANCELED;
}

/*
 * Record the end of the waits, except that of the granted member, which
 * weir_sem_finish_ or weir_sem_cancel_ records.  If no member was granted, then
 * each wait has failed.
 */
static void record_end(weir_any *any, const struct weir_waiter_ *granted,
		       weir_err err)
{
	for (size_t i = 0; i < any->k_; i++) {
		const struct weir_waiter_ *w = weir_any_member_(any, i);

		if (!w->member_record || w == granted)
			continue;
		if (err)
			weir_record_end_wait_(0, NULL, w->member_record, err,
					      0);
		else
			weir_record_drop_wait_(w->member_record);
	}
}

weir_err weir_any_finish_(weir_any *any, bool wanted, size_t *which)
{
	struct weir_to_notify_ to_notify = { .first = NULL };
	struct weir_waiter_ *granted, *end = weir_any_end_(any);
	bool sent = false, revoked = false;
	weir_err err;

	weir_op_stop_timer_(weir_any_head_(any));
	for (size_t i = 0; i < any->k_; i++)
		sent = withdraw(weir_any_member_(any, i), &to_notify) || sent;
	err = outcome_of(any, &granted, which);
	if (end->ctx)
		err = weir_ctx_finish_(end->ctx, end, err, &revoked);
	if (granted && !revoked && wanted) {
		/*
		 * Record the end of the other waits first: the registry must
		 * not show a context that holds the permits of one member and
		 * waits for another member.
		 */
		record_end(any, granted, WEIR_OK);
		(void)weir_sem_finish_(granted, granted->sem->name_, WEIR_OK);
		weir_notify_all_(&to_notify);
	} else {
		if (granted)
			weir_sem_cancel_(granted, &to_notify);
		weir_notify_all_(&to_notify);
		record_end(any, granted, wanted ? err : WEIR_ECANCELED);
	}
	if (any->context_)
		weir_record_end_any_(any->context_);
	if (sent)
		weir_callbacks_run_();
	return err;
}
