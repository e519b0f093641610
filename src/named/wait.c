/* SPDX-License-Identifier: MIT */
/*
 * Waiting: a call is enqueued, sleeps, and is granted or gives up.
 *
 * A thread sleeps only on the word of its own record.  A process that changes
 * the state of the record wakes the thread before that, under the lock; the
 * thread takes the lock to examine its record.  A cancelled context ends the
 * wait from the cancelling thread in the same way (C13).
 */
#include <errno.h>

#include "core/ctx_wait.h"
#include "named/handle.h"
#include "named/lock.h"

/*
 * A waiting call, on the caller's stack.  Fields marked (l) are protected by
 * the file's lock.
 */
struct call {
	struct weir_waiter_ w;		/* registered with the context */
	weir_named *h;
	struct nm_record *record;	/* l  null: none, or finished */
	int64_t min, max;
	int64_t got;			/* l  granted, and counted as held */
	bool idle;			/* waits for idle */
};

/* Called when the context is cancelled. */
static void end(struct weir_waiter_ *w, weir_err why)
{
	struct call *call = ring_entry(w, struct call, w);
	weir_named *h = call->h;

	if (!nm_lock(h)) {
		/* The file is damaged; the woken thread will find that too. */
		if (call->record)
			weir_nm_record_wake_(call->record);
		return;
	}
	if (call->record && call->record->state != NM_REC_ENDED) {
		weir_nm_record_end_(h, call->record, why);
		weir_nm_grant_all_(h);
	} else if (call->got) {
		weir_nm_give_(h, call->got);
		call->got = 0;
	}
	nm_unlock(h);
}

/* Choose the state in which the call waits, or return an error. */
static weir_err find_place(const struct call *call, int64_t deadline_ns,
			   int64_t now_ns, uint32_t *state)
{
	const weir_named *h = call->h;

	*state = NM_REC_IDLE;
	if (call->idle)
		return WEIR_OK;
	if (nm_is_closed(h))
		return WEIR_ECLOSED;
	*state = NM_REC_OVERSIZED;
	if (call->min > h->head->capacity)
		return call->w.ctx ? WEIR_OK : WEIR_ETOOBIG;
	*state = NM_REC_WAITS;
	return now_ns >= deadline_ns ? WEIR_ETIMEDOUT : WEIR_OK;
}

/*
 * Take permits or enqueue the call.  Called with the lock held.  WEIR_EAGAIN:
 * enqueued.
 */
static weir_err take_or_join(struct call *call, int64_t deadline_ns)
{
	weir_named *h = call->h;
	int64_t now_ns;
	uint32_t state;
	weir_err err;

	/* C13: a cancel marks the context first and calls `end` afterwards. */
	err = call->w.ctx ? weir_ctx_cancelled_(call->w.ctx) : WEIR_OK;
	if (!err && !call->idle && h->head->closed == NM_CLOSED)
		err = WEIR_ECLOSED;
	if (err)
		return err;
	weir_nm_sweep_(h);
	weir_nm_grant_all_(h);
	if (call->idle) {
		if (h->head->value == h->head->capacity)
			return WEIR_OK;
	} else {
		int64_t taken = weir_nm_takeable_(h, call->min, call->max);

		if (taken >= 0) {
			weir_nm_take_(h, taken);
			call->got = taken;
			return WEIR_OK;
		}
	}
	now_ns = weir_now_ns();
	err = find_place(call, deadline_ns, now_ns, &state);
	if (err)
		return err;
	call->record = weir_nm_record_new_(h, &err);
	if (!call->record)
		return err;
	call->record->min = call->min;
	call->record->max = call->max;
	call->record->since_ns = now_ns;
	call->record->flags = call->w.ctx ? NM_REC_HAS_CTX : 0;
	weir_nm_record_wait_(h, call->record, state);
	return WEIR_EAGAIN;
}

/*
 * Examine the record.  Returns WEIR_EAGAIN if the call still waits.  Called
 * with the lock held.
 */
static weir_err check_record(struct call *call, enum weir_woke_ woke)
{
	struct nm_record *record = call->record;
	weir_named *h = call->h;
	weir_err err = WEIR_EAGAIN;

	if (record->owner != h->me || record->state == NM_REC_FREE) {
		/*
		 * The file is damaged: the record and its permits are not ours
		 * any more.
		 */
		call->record = NULL;
		errno = EBADMSG;
		return WEIR_ESYSTEM;
	}
	if (record->state == NM_REC_GRANTED) {
		call->got = record->got;
		weir_nm_take_(h, call->got);
		err = WEIR_OK;
	} else if (record->state == NM_REC_ENDED) {
		err = (weir_err)record->outcome;
	} else if (woke == WEIR_WOKE_LATE_) {
		err = WEIR_ETIMEDOUT;
	} else if (woke == WEIR_WOKE_SIGNAL_ &&
		   h->flags & WEIR_NAMED_INTERRUPTIBLE) {
		err = WEIR_EINTR;
	}
	if (err == WEIR_EAGAIN)
		return err;
	call->record = NULL;
	weir_nm_record_free_(h, record);
	/* C7: the new head of the queue may fit now. */
	weir_nm_grant_all_(h);
	return err;
}

/* Sleep until the call has an outcome.  Called with the lock held; drops it. */
static weir_err sleep_until(struct call *call, int64_t deadline_ns)
{
	uint32_t *word = &call->record->word;
	weir_err err;

	do {
		/* relaxed: changed under the lock, which we hold. */
		uint32_t value = at_load_relaxed(word);
		enum weir_woke_ woke;

		nm_unlock(call->h);
		woke = weir_shared_wait_(word, value, deadline_ns);
		if (!nm_lock(call->h)) {
			errno = EBADMSG;
			return WEIR_ESYSTEM;
		}
		err = check_record(call, woke);
	} while (err == WEIR_EAGAIN);
	nm_unlock(call->h);
	return err;
}

static weir_err wait_known(struct call *call, int64_t deadline_ns)
{
	weir_err err = weir_nm_enter_(call->h);

	if (err)
		return err;
	err = take_or_join(call, deadline_ns);
	if (err == WEIR_EAGAIN)
		return sleep_until(call, deadline_ns);
	nm_unlock(call->h);
	return err;
}

/*
 * Wait in a context, if any.  The call is registered with the context before it
 * is enqueued, so that a cancel ends it before the cancel returns.
 */
static weir_err wait_within(struct call *call, int64_t deadline_ns)
{
	weir_named *h = call->h;
	weir_ctx *ctx = call->w.ctx;
	bool revoked = false;
	weir_err err;

	call->w.wants = WEIR_WANTS_OTHER_;
	call->w.end = end;
	if (ctx) {
		err = weir_ctx_join_(ctx, &call->w);
		if (err)
			return err;
		deadline_ns = weir_ctx_deadline(ctx);
	}
	/* relaxed: for close_handle, which must not run concurrently. */
	at_add_relaxed(&h->calls, 1);
	err = wait_known(call, deadline_ns);
	if (ctx)
		err = weir_ctx_finish_(ctx, &call->w, err, &revoked);
	/* C13.  got is 0 if `end` has taken the permits back. */
	if (revoked && call->got && !weir_nm_enter_(h)) {
		weir_nm_give_(h, call->got);
		nm_unlock(h);
		call->got = 0;
	}
	/* relaxed: as above. */
	at_sub_relaxed(&h->calls, 1);
	return err;
}

weir_err weir_nm_wait_(weir_named *h, int64_t min, int64_t max,
		       struct weir_ctx *ctx, int64_t deadline_ns, int64_t *got)
{
	struct call call = { .w = { .ctx = ctx }, .h = h, .min = min,
			     .max = max };
	weir_err err = wait_within(&call, deadline_ns);

	*got = err ? 0 : call.got;
	return err;
}

weir_err weir_named_wait_idle(weir_named *sem, struct weir_ctx *ctx)
{
	struct call call = { .w = { .ctx = ctx }, .h = sem, .idle = true };
	weir_err err;

	if (!sem)
		return WEIR_EINVAL;
	err = ctx ? weir_ctx_err(ctx) : WEIR_OK;
	return err ? err : wait_within(&call, WEIR_FOREVER);
}
