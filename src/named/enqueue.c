/* SPDX-License-Identifier: MIT */
/*
 * Begin to wait: a call takes permits at once, or gets a record.
 *
 * Pairs
 *
 *   [NW2] queued    release: join_queue, end   acquire: join_queue, end
 *                   Both are RMWs: either the cancelling thread finds the
 *                   record, or the waiting thread sees that its context has
 *                   been cancelled.
 */
#include "named/call.h"
#include "named/keeper.h"
#include "named/record.h"
#include "named/table.h"

bool weir_nm_withdraw_(struct nm_record *record, uint32_t use, bool revoke)
{
	uint32_t seen = weir_nm_word_of_(record);

	for (;;) {
		bool granted = (seen & NM_REC_MASK) == NM_REC_GRANTED;

		if (seen / NM_REC_USE != use ||
		    (!nm_is_undecided(seen) && !(granted && revoke)))
			return false;
		if (weir_nm_change_(record, &seen, granted ? NM_REC_REVOKED :
							     NM_REC_LEFT))
			return true;
	}
}

/* Choose the state in which the call waits, or return an error. */
static weir_err find_place(const struct call *call, int64_t now_ns,
			   uint32_t *state)
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
	return now_ns >= call->deadline_ns ? WEIR_ETIMEDOUT : WEIR_OK;
}

/* Take permits, or find that the semaphore is idle.  WEIR_EAGAIN: wait. */
static weir_err take(struct call *call)
{
	weir_named *h = call->h;

	if (!call->idle)
		return weir_nm_take_now_(h, call->min, call->max, &call->got);
	return h->head->value == h->head->capacity ? WEIR_OK : WEIR_EAGAIN;
}

/* Enqueue the call.  WEIR_EAGAIN: make room for more records, and retry. */
static weir_err join_queue(struct call *call)
{
	weir_named *h = call->h;
	int64_t now_ns = weir_now_ns();
	struct nm_record *record;
	uint32_t state;
	weir_err err = find_place(call, now_ns, &state);

	if (err)
		return err;
	record = weir_nm_record_new_(h, &err);
	if (!record)
		return err;
	record->min = call->min;
	record->max = call->max;
	record->since = now_ns;
	record->flags = call->w.ctx ? NM_REC_HAS_CTX : 0;
	weir_nm_record_wait_(h, record, state);
	/* relaxed: the keeper reads it under the lock. */
	at_add_relaxed(&h->calls, 1);
	call->record = record;
	call->use = weir_nm_word_of_(record) / NM_REC_USE;
	/* [NW2] release  [NW2] acquire */
	at_add_acq_rel(&call->queued, nm_record_ref(h, record));
	if (call->w.ctx && weir_ctx_cancelled_(call->w.ctx) &&
	    weir_nm_withdraw_(record, call->use, true))
		weir_nm_record_clean_(h, record);
	return WEIR_OK;
}

weir_err weir_nm_enqueue_(struct call *call)
{
	weir_named *h = call->h;
	weir_err err;

	/* C13: a cancel marks the context first and calls `end` afterwards. */
	err = call->w.ctx ? weir_ctx_cancelled_(call->w.ctx) : WEIR_OK;
	if (err)
		return err;
	err = take(call);
	if (err == WEIR_EAGAIN && !weir_nm_is_armed_(h)) {
		/* The death of a holder may not have been noticed yet. */
		weir_nm_sweep_(h);
		err = take(call);
	}
	return err == WEIR_EAGAIN ? join_queue(call) : err;
}
