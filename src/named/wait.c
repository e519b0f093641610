/* SPDX-License-Identifier: MIT */
/*
 * Waiting: a call is enqueued, sleeps, and is granted or gives up.
 *
 * A thread sleeps on the state word of its own record, and needs no lock after
 * it is queued.  A granted call changes the state to TAKEN and returns.  A call
 * that gives up changes the state to LEFT.  If the context is cancelled, the
 * cancelling thread changes the state to LEFT (C13), or from GRANTED to
 * REVOKED.
 *
 * The thread also sleeps on the death words of the other participants.  If one
 * of these dies, the thread buries it and is granted after a single wake-up.
 * This is a short cut, and no call relies on it: a death word has one sleeper
 * woken, which may be stopped or killed.  Each death wakes a keeper as well.
 */
#include <errno.h>

#include "base/ticks.h"
#include "named/call.h"
#include "named/keeper.h"
#include "named/lock.h"
#include "named/record.h"
#include "named/table.h"
#include "record/record.h"

/*
 * A waiting thread watches the deaths of the other participants if at most this
 * many slots were ever used: each word takes time in each sleep.  In the explorer
 * the scenario decides.
 */
#define WATCHED_MAX 8u
#ifndef WEIR_WATCHES_
#define WEIR_WATCHES_(high) ((high) <= WATCHED_MAX)
#endif

static struct nm_limit limit_of(const struct call *call)
{
	return (struct nm_limit){
		.deadline_ns = call->deadline_ns,
		.ctx = call->w.ctx,
		.interruptible = call->h->flags & WEIR_NAMED_INTERRUPTIBLE,
	};
}

/*
 * Withdraw the record, unlink it, and grant to the next waiters.  The lock is
 * taken first: a process that is stopped between the withdrawal and the grants
 * delays the next waiters, and then stat shows it as the lock holder.  If the
 * lock is not available within a short time, the record is withdrawn without
 * it.
 */
static bool leave(struct call *call, struct nm_record *record, bool revoke)
{
	struct nm_limit brief = { .brief = true };
	weir_named *h = call->h;
	bool locked = !nm_lock(h, &brief);
	bool left = weir_nm_withdraw_(record, call->use, revoke);

	if (locked) {
		if (left) {
			weir_nm_record_clean_(h, record);
			weir_nm_grant_all_(h);
		}
		nm_unlock(h);
	}
	return left;
}

/*
 * Called when the context is cancelled, maybe before the call is queued.  The
 * record stays in use until its own thread has seen the state.
 */
static void end(struct weir_waiter_ *w, weir_err why)
{
	struct call *call = ring_entry(w, struct call, w);
	weir_named *h = call->h;
	/* [NW2] release  [NW2] acquire */
	uint32_t ref = at_add_acq_rel(&call->queued, 0);
	struct nm_record *record;

	(void)why;
	if (!ref)
		return;
	record = &h->records[ref - 1];
	(void)leave(call, record, true);
	/*
	 * Wake the thread even if leave() failed: in a damaged file the record
	 * may have any state, and no other process wakes its thread.
	 */
	weir_shared_wake_all_(&record->state);
}

/* Returns true if a record with this state word has the outcome of the call. */
static bool has_outcome(const struct call *call, uint32_t word)
{
	uint32_t state = word & NM_REC_MASK;

	return word / NM_REC_USE == call->use &&
	       (state == NM_REC_GRANTED || state == NM_REC_REVOKED ||
		state == NM_REC_ENDED || state == NM_REC_LEFT);
}

/* Watch the deaths of the other participants.  Returns the number of words. */
static unsigned watch_others(weir_named *h, struct weir_watch_ *watches)
{
	uint32_t high = nm_slots_high(h);
	unsigned count = 0;

	if (!WEIR_WATCHES_(high) || !h->can_wait_any)
		return 0;
	for (uint32_t i = 0; i < high; i++) {
		uint32_t *word = &h->slots[i].death.word;
		/* relaxed: only a change of the value matters. */
		uint32_t value = at_load_relaxed(word);

		if (&h->slots[i] != h->mine && weir_is_alive_(value))
			watches[count++] = (struct weir_watch_){ word, value };
	}
	return count;
}

static bool has_changed(const struct weir_watch_ *watches, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		/* relaxed: as above. */
		if (at_load_relaxed(watches[i].word) != watches[i].value)
			return true;
	return false;
}

/*
 * Returns true if every signal handler must end the wait.  futex(2) with a
 * deadline does that, but futex_waitv(2) continues after a handler that was
 * installed with SA_RESTART.
 */
static bool ends_by_any_handler(const struct call *call)
{
	return call->h->flags & WEIR_NAMED_INTERRUPTIBLE &&
	       call->deadline_ns != WEIR_FOREVER;
}

/*
 * Sleep on the state word of the record, and on the death words of the others.
 * If one of these has changed, bury the dead, unless the lock is taken: this
 * thread must not wait for the lock, and a keeper comes anyway.
 */
static enum weir_woke_ sleep_once(struct call *call, uint32_t word)
{
	uint32_t *state = &call->record->state;
	struct weir_watch_ watches[1 + WATCHED_MAX] = { { state, word } };
	weir_named *h = call->h;
	unsigned others = ends_by_any_handler(call) ?
				  0 : watch_others(h, &watches[1]);
	enum weir_woke_ woke;

	if (!others)
		return weir_shared_wait_(state, word, call->deadline_ns);
	woke = weir_shared_wait_any_(watches, 1 + others, call->deadline_ns);
	if (weir_nm_word_of_(call->record) == word &&
	    has_changed(&watches[1], others) && nm_lock_now(h)) {
		weir_nm_sweep_(h);
		nm_unlock(h);
	}
	return woke;
}

/* Sleep until the record is decided or left.  Returns the reason if left. */
static weir_err sleep_until(struct call *call)
{
	struct nm_record *record = call->record;
	weir_named *h = call->h;
	uint32_t word = weir_nm_word_of_(record);

	while (nm_is_undecided(word) && word / NM_REC_USE == call->use) {
		enum weir_woke_ woke;
		weir_err why;

		/*
		 * relaxed: no other data.  A thread that the ending keeper has
		 * woken has read the changed state of its record.
		 */
		if (at_load_relaxed(&h->lost))
			break;
		weir_nm_arm_(h);
		woke = sleep_once(call, word);
		why = woke == WEIR_WOKE_LATE_ ? WEIR_ETIMEDOUT :
		      woke == WEIR_WOKE_SIGNAL_ &&
			      h->flags & WEIR_NAMED_INTERRUPTIBLE ?
			      WEIR_EINTR : WEIR_OK;
		if (why && leave(call, record, false))
			return why;
		word = weir_nm_word_of_(record);
	}
	if (!has_outcome(call, word)) {
		/* The record and its permits are not ours any more. */
		errno = EBADMSG;
		return WEIR_ESYSTEM;
	}
	return WEIR_OK;
}

/* Returns the outcome of a record that is not undecided any more. */
static weir_err outcome_of(const struct nm_record *record)
{
	uint32_t state = weir_nm_word_of_(record) & NM_REC_MASK;

	if (state == NM_REC_GRANTED)
		return WEIR_OK;
	/* The reason of a cancelled call comes from its context. */
	return state == NM_REC_ENDED ? (weir_err)record->outcome :
				       WEIR_ECANCELED;
}

/* Collect the permits of a granted record, without the lock. */
static weir_err collect(struct call *call)
{
	struct nm_record *record = call->record;
	uint32_t seen = weir_nm_word_of_(record);

	if (call->idle)
		return WEIR_OK;
	call->got = record->got;
	/* The hold begins now. */
	record->since = weir_ticks_();
	while ((seen & NM_REC_MASK) == NM_REC_GRANTED &&
	       seen / NM_REC_USE == call->use)
		if (weir_nm_change_(record, &seen, NM_REC_TAKEN))
			break;
	return WEIR_OK;
}

/* Enqueue the call, and sleep until it has an outcome. */
static weir_err wait_queued(struct call *call)
{
	struct nm_limit limit = limit_of(call);
	weir_err err;

	do {
		err = weir_nm_enter_(call->h, &limit);
		if (err)
			return err;
		err = weir_nm_enqueue_(call);
		nm_unlock(call->h);
		if (err == WEIR_EAGAIN && weir_nm_make_room_(call->h))
			return WEIR_ESYSTEM;
	} while (err == WEIR_EAGAIN);
	if (err || !call->record)
		return err;
	/* The registry of this process shows that this thread waits. */
	weir_record_away_(call->h->name);
	err = sleep_until(call);
	weir_record_back_();
	return err ? err : outcome_of(call->record);
}

/* Finish a call that has its outcome: collect its permits or give them back. */
static weir_err finish(struct call *call, weir_err err, bool revoked)
{
	struct nm_record *record = call->record;
	weir_named *h = call->h;
	bool lost = err == WEIR_ESYSTEM;
	uint32_t word;

	if (!record) {
		if (revoked && call->got)
			weir_nm_give_back_(h, call->got);
		return err;
	}
	if (revoked)
		(void)leave(call, record, true);
	else if (!err)
		err = collect(call);
	word = weir_nm_word_of_(record);
	if (!lost)
		weir_nm_finish_(h, record);
	/* relaxed: for the keeper and close_handle. */
	at_sub_relaxed(&h->calls, 1);
	/* The record was withdrawn without the lock: let the keeper fold it. */
	if (!lost && ((word & NM_REC_MASK) == NM_REC_LEFT ||
		      (word & NM_REC_MASK) == NM_REC_REVOKED))
		weir_nm_kick_(h);
	return err;
}

/*
 * Wait in a context, if any.  The call is registered with the context before it
 * is enqueued, so that a cancel ends it before the cancel returns.
 */
static weir_err wait_within(struct call *call)
{
	weir_ctx *ctx = call->w.ctx;
	bool revoked = false;
	weir_err err;

	call->w.wants = WEIR_WANTS_OTHER_;
	call->w.end = end;
	if (ctx) {
		err = weir_ctx_join_(ctx, &call->w);
		if (err)
			return err;
		call->deadline_ns = weir_ctx_deadline(ctx);
	}
	err = wait_queued(call);
	if (ctx)
		err = weir_ctx_finish_(ctx, &call->w, err, &revoked);
	return finish(call, err, revoked);
}

weir_err weir_nm_wait_(weir_named *h, int64_t min, int64_t max,
		       struct weir_ctx *ctx, int64_t deadline_ns, int64_t *got)
{
	struct call call = { .w = { .ctx = ctx }, .h = h, .min = min,
			     .max = max, .deadline_ns = deadline_ns };
	weir_err err = wait_within(&call);

	*got = err ? 0 : call.got;
	return err;
}

weir_err weir_named_wait_idle(weir_named *sem, struct weir_ctx *ctx)
{
	struct call call = { .w = { .ctx = ctx }, .h = sem, .idle = true,
			     .deadline_ns = WEIR_FOREVER };
	weir_err err;

	if (!sem)
		return WEIR_EINVAL;
	err = ctx ? weir_ctx_err(ctx) : WEIR_OK;
	return err ? err : wait_within(&call);
}
