/* SPDX-License-Identifier: MIT */
/*
 * The calls of a rate limit that wait.
 *
 * A call that has to wait is counted in waiting_ and acquires the gate (gate_),
 * a semaphore with one permit.  The queue of the gate provides the order,
 * contexts and deadlines.  The holder of the gate is the head of the waiting
 * calls.  It takes its tokens in advance and sleeps until they are usable.  It
 * sleeps in an acquire of wake_, a semaphore that normally has no permits:
 * closing it, or one permit from weir_rate_set, ends the sleep early.  If the
 * holder has to give up, it puts the tokens back.  No other call has taken
 * tokens in the meantime, since new calls wait or are refused, so the bucket is
 * as if the holder had never called.
 *
 * advance_ is the number of tokens that the holder has taken, from the take
 * until the call is decided (settle).  weir_rate_set puts these tokens back
 * before it changes the rate, and sets advance_ to 0.  The holder must not do
 * that afterwards: by the new rate the tokens have another cost, which may not
 * even fit into the arithmetic, because the request may exceed the new burst.
 * A holder that finds 0 takes its tokens again, by the new rate.
 *
 * The tokens are taken before the sleep, not after it.  If a sleep lasts too
 * long, then that time is therefore not lost for the next call, and the rate
 * does not drop.
 */
#include "pattern/rate.h"

#include "base/lock.h"
#include "core/site.h"
#include "weir/ctx.h"

/*
 * Sleep until at_ns and return WEIR_EAGAIN.  Returns WEIR_OK early if the rate
 * has been changed.
 */
static weir_err sleep_until(weir_rate *limit, int64_t at_ns,
			    struct weir_ctx *ctx)
{
	weir_ctx until;
	weir_err err;

	if (ctx) {
		err = weir_ctx_init(&until, ctx, at_ns);
		if (err)
			return err;
		err = weir_sem_acquire(&limit->wake_, 1, &until);
		(void)!weir_ctx_destroy(&until);
	} else {
		err = weir_sem_acquire_until(&limit->wake_, 1, at_ns);
	}
	return err == WEIR_ETIMEDOUT ? WEIR_EAGAIN : err;
}

/* As weir_rate_take_locked_, in advance.  Requires: the gate is held. */
static weir_err take_in_advance(weir_rate *limit, int64_t n, int64_t now_ns,
				int64_t latest_ns, int64_t *at_ns)
{
	weir_err err;

	weir_lock_(&limit->lock_);
	err = weir_rate_take_locked_(limit, n, now_ns, latest_ns, at_ns);
	if (!err) {
		weir_rate_unqueue_(limit, n);
		limit->advance_ = n;
	}
	weir_unlock_(&limit->lock_);
	return err;
}

/*
 * Use the tokens that were taken in advance, or put them back.  Returns false
 * if weir_rate_set has put them back.  Requires: the gate is held, so no other
 * call has taken tokens since.
 */
static bool settle(weir_rate *limit, bool use)
{
	bool taken;

	weir_lock_(&limit->lock_);
	taken = limit->advance_;
	if (!use)
		weir_rate_put_back_(limit);
	limit->advance_ = 0;
	weir_unlock_(&limit->lock_);
	return taken;
}

/* Take n tokens and wait until they are usable.  Requires: the gate is held. */
static weir_err take_at_gate(weir_rate *limit, int64_t n, int64_t deadline_ns,
			     struct weir_ctx *ctx)
{
	for (;;) {
		int64_t now_ns, at_ns = 0, stale;
		weir_err err, ended;
		bool taken;

		/* A change of the rate from here on ends the sleep below. */
		(void)!weir_sem_drain(&limit->wake_, &stale);
		now_ns = weir_now_ns();
		err = take_in_advance(
			limit, n, now_ns,
			deadline_ns > now_ns ? deadline_ns : now_ns, &at_ns);
		if (err)
			return err;
		err = at_ns > now_ns ? sleep_until(limit, at_ns, ctx) :
				       WEIR_EAGAIN;
		/* C13: a cancel that has returned wins over the tokens. */
		ended = ctx ? weir_ctx_err(ctx) : WEIR_OK;
		if (ended)
			err = ended;
		taken = settle(limit, err == WEIR_EAGAIN);
		if (err && err != WEIR_EAGAIN)
			return err;
		if (err && taken)
			return WEIR_OK;
	}
}

/*
 * Wait for the gate and then for n tokens.  Requires: the call is counted in
 * waiting_ and queued_; this function removes it from both counts.
 */
static weir_err wait_for_tokens(weir_rate *limit, int64_t n,
				int64_t deadline_ns, struct weir_ctx *ctx,
				uint64_t site)
{
	weir_err err;
	bool watched;

	watched = weir_site_begin_(&limit->gate_, site);
	if (ctx)
		err = weir_sem_acquire(&limit->gate_, 1, ctx);
	else
		err = weir_sem_acquire_until(&limit->gate_, 1, deadline_ns);
	weir_site_end_(watched);
	if (!err) {
		err = take_at_gate(limit, n, deadline_ns, ctx);
		weir_sem_release(&limit->gate_, 1);
	}
	weir_lock_(&limit->lock_);
	limit->waiting_--;
	if (err)
		weir_rate_unqueue_(limit, n);
	weir_unlock_(&limit->lock_);
	return err;
}

/*
 * Put back tokens that were taken without waiting; `full` is the time at which
 * the bucket was due to be full after that take.  If other calls have taken
 * tokens since, their times depend on these tokens, which then stay unused.
 */
static void undo_take(weir_rate *limit, int64_t n,
		      const struct weir_time_ *full)
{
	weir_lock_(&limit->lock_);
	/* If n exceeds the burst, then the rate has been changed since. */
	if (!limit->waiting_ && n <= limit->bucket_.burst_ &&
	    limit->bucket_.full_ns_ == full->ns &&
	    limit->bucket_.full_part_ == full->part)
		weir_bucket_put_back_(&limit->bucket_, n);
	weir_unlock_(&limit->lock_);
}

static weir_err acquire(weir_rate *limit, int64_t n, int64_t deadline_ns,
			struct weir_ctx *ctx, const char *call, uint64_t site)
{
	weir_err err = weir_rate_check_request_(limit, n, ctx, call);
	struct weir_time_ full;
	int64_t now_ns, at_ns;

	if (err != WEIR_EQUEUED)
		return err;
	now_ns = weir_now_ns();
	err = weir_rate_take_(limit, n, now_ns, now_ns, &at_ns, &full);
	if (err == WEIR_EQUEUED)
		return wait_for_tokens(limit, n, deadline_ns, ctx, site);
	/* C13: a cancel that has returned wins over the tokens. */
	if (!err && ctx) {
		err = weir_ctx_err(ctx);
		if (err)
			undo_take(limit, n, &full);
	}
	return err;
}

weir_err weir_rate_acquire(weir_rate *limit, int64_t n, struct weir_ctx *ctx)
{
	return acquire(limit, n, ctx ? weir_ctx_deadline(ctx) : WEIR_FOREVER,
		       ctx, __func__, WEIR_SITE_);
}

weir_err weir_rate_acquire_until(weir_rate *limit, int64_t n,
				  int64_t deadline_ns)
{
	return acquire(limit, n, deadline_ns, NULL, __func__, WEIR_SITE_);
}
