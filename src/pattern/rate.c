/* SPDX-License-Identifier: MIT */
/*
 * The rate limit: weir/rate.h.
 *
 * The arithmetic is in bucket.h; here is who may do it, and when.  A short lock
 * protects the bucket.  While nobody waits, a call that finds its tokens there
 * takes them under it and is done.
 *
 * A call that has to wait counts itself in waiting_, so that nobody passes it,
 * and acquires the gate, a semaphore of one permit: that is the queue, with its
 * order, contexts and deadlines.  Who has the gate is the first.  It takes its
 * tokens ahead of time and sleeps until they are there; on a semaphore (wake_) that
 * nobody releases in the ordinary way, so that closing it, or one permit from
 * weir_rate_set, ends the sleep.  If it has to leave, it puts the tokens
 * back: nobody has taken any since, for others wait or are refused meanwhile, so
 * the bucket is as if it had never come.
 *
 * The first takes its tokens before it sleeps, not after: what the sleep lasts too
 * long is not lost for the next, and the rate does not sink.
 */
#include "weir/rate.h"

#include "base/lock.h"
#include "base/panic.h"
#include "pattern/bucket.h"
#include "weir/ctx.h"

/*
 * The order of weir_sem_acquire: arguments, ctx, closed, 0, too big.  WEIR_EQUEUED:
 * none of these, go on.
 */
static weir_err check(weir_rate *limit, int64_t n, struct weir_ctx *ctx)
{
	weir_err err = WEIR_OK;

	if (weir_rate_is_misplaced_(limit) || n < 0 || n > WEIR_SEM_MAX)
		return WEIR_EINVAL;
	if (ctx)
		err = weir_ctx_err(ctx);
	if (err)
		return err;
	if (weir_sem_is_closed(&limit->gate_))
		return WEIR_ECLOSED;
	return n ? WEIR_EQUEUED : WEIR_OK;
}

/*
 * Under the lock.  A few that wait for very much are more than a word can count.
 */
static void queue(weir_rate *limit, int64_t n)
{
	limit->queued_ += (uint64_t)n;
	limit->queued_high_ += limit->queued_ < (uint64_t)n;
}

static void unqueue(weir_rate *limit, int64_t n)
{
	limit->queued_high_ -= limit->queued_ < (uint64_t)n;
	limit->queued_ -= (uint64_t)n;
}

/* The same that weir_bucket_at_ requires. */
static bool queue_fits(const weir_rate *limit)
{
	return !limit->queued_high_ && limit->queued_ <= INT64_MAX &&
	       weir_bucket_fits_(&limit->bucket_, (int64_t)limit->queued_);
}

/* Under the lock: as if nobody waited. */
static weir_err take(weir_rate *limit, int64_t n, int64_t now_ns,
		     int64_t latest_ns, int64_t *at_ns)
{
	struct weir_bucket_ *b = &limit->bucket_;

	if (n > b->burst_)
		return WEIR_ETOOBIG;
	if (!weir_bucket_time_ok_(b, now_ns))
		return WEIR_ETIMEDOUT;
	*at_ns = weir_bucket_at_(b, n, 0, now_ns);
	if (*at_ns > latest_ns)
		return WEIR_ETIMEDOUT;
	weir_bucket_take_(b, n, now_ns);
	return WEIR_OK;
}

/*
 * Take now, if nobody waits and it need not be later than latest_ns.
 * WEIR_EAGAIN: somebody waits.  With `full`, which gets the bucket's time then, the
 * caller means to wait if need be, and is counted: WEIR_EQUEUED.
 */
static weir_err take_first(weir_rate *limit, int64_t n, int64_t now_ns,
			   int64_t latest_ns, int64_t *at_ns,
			   struct weir_time_ *full)
{
	weir_err err;

	weir_lock_(&limit->lock_);
	if (n > limit->bucket_.burst_)
		err = WEIR_ETOOBIG;
	else if (limit->waiting_)
		err = WEIR_EAGAIN;
	else
		err = take(limit, n, now_ns, latest_ns, at_ns);
	if (full)
		*full = (struct weir_time_){ limit->bucket_.full_ns_,
					     limit->bucket_.full_part_ };
	if (full && (err == WEIR_EAGAIN || err == WEIR_ETIMEDOUT)) {
		limit->waiting_++;
		queue(limit, n);
		err = WEIR_EQUEUED;
	}
	weir_unlock_(&limit->lock_);
	return err;
}

/*
 * Waiting.
 */

/* WEIR_EAGAIN: it is time.  WEIR_OK: woken, the rate has changed. */
static weir_err sleep_until(weir_rate *limit, int64_t at_ns,
			    struct weir_ctx *ctx)
{
	weir_ctx until;
	weir_err err, ended = WEIR_OK;

	if (ctx) {
		err = weir_ctx_init(&until, ctx, at_ns);
		if (err)
			return err;
		err = weir_sem_acquire(&limit->wake_, 1, &until);
		(void)!weir_ctx_destroy(&until);
		ended = weir_ctx_err(ctx);
	} else {
		err = weir_sem_acquire_until(&limit->wake_, 1, at_ns);
	}
	if (ended)
		return ended;
	return err == WEIR_ETIMEDOUT ? WEIR_EAGAIN : err;
}

/* The first's: nobody has taken any since. */
static void put_back(weir_rate *limit, int64_t n)
{
	weir_lock_(&limit->lock_);
	weir_bucket_put_back_(&limit->bucket_, n);
	queue(limit, n);
	weir_unlock_(&limit->lock_);
}

/* With the gate. */
static weir_err be_first(weir_rate *limit, int64_t n, int64_t deadline_ns,
			 struct weir_ctx *ctx)
{
	for (;;) {
		int64_t now_ns, at_ns = 0, stale;
		weir_err err;

		/* Rates that change from here on wake us. */
		(void)!weir_sem_drain(&limit->wake_, &stale);
		now_ns = weir_now_ns();
		weir_lock_(&limit->lock_);
		err = take(limit, n, now_ns,
			   deadline_ns > now_ns ? deadline_ns : now_ns, &at_ns);
		if (!err)
			unqueue(limit, n);
		weir_unlock_(&limit->lock_);
		if (err || at_ns <= now_ns)
			return err;
		err = sleep_until(limit, at_ns, ctx);
		if (err == WEIR_EAGAIN)
			return WEIR_OK;
		put_back(limit, n);
		if (err)
			return err;
	}
}

static weir_err wait_for(weir_rate *limit, int64_t n, int64_t deadline_ns,
			 struct weir_ctx *ctx)
{
	weir_err err;
	bool taken = false;

	if (ctx)
		err = weir_sem_acquire(&limit->gate_, 1, ctx);
	else
		err = weir_sem_acquire_until(&limit->gate_, 1, deadline_ns);
	if (!err) {
		err = be_first(limit, n, deadline_ns, ctx);
		taken = err == WEIR_OK;
		/* C13: a cancel that has returned wins. */
		if (taken && ctx)
			err = weir_ctx_err(ctx);
		if (taken && err) {
			put_back(limit, n);
			taken = false;
		}
		weir_sem_release(&limit->gate_, 1);
	}
	weir_lock_(&limit->lock_);
	limit->waiting_--;
	if (!taken)
		unqueue(limit, n);
	weir_unlock_(&limit->lock_);
	return err;
}

/*
 * Taken at once, and not wanted any more.  If others have taken some since, their
 * times stand on ours: then the tokens stay unused.
 */
static void give_up(weir_rate *limit, int64_t n, const struct weir_time_ *full)
{
	weir_lock_(&limit->lock_);
	if (!limit->waiting_ && limit->bucket_.full_ns_ == full->ns &&
	    limit->bucket_.full_part_ == full->part)
		weir_bucket_put_back_(&limit->bucket_, n);
	weir_unlock_(&limit->lock_);
}

static weir_err acquire(weir_rate *limit, int64_t n, int64_t deadline_ns,
			struct weir_ctx *ctx)
{
	weir_err err = check(limit, n, ctx);
	struct weir_time_ full;
	int64_t now_ns, at_ns;

	if (err != WEIR_EQUEUED)
		return err;
	now_ns = weir_now_ns();
	err = take_first(limit, n, now_ns, now_ns, &at_ns, &full);
	if (err == WEIR_EQUEUED)
		return wait_for(limit, n, deadline_ns, ctx);
	/* C13: a cancel that has returned wins. */
	if (!err && ctx) {
		err = weir_ctx_err(ctx);
		if (err)
			give_up(limit, n, &full);
	}
	return err;
}

weir_err weir_rate_acquire(weir_rate *limit, int64_t n, struct weir_ctx *ctx)
{
	return acquire(limit, n, ctx ? weir_ctx_deadline(ctx) : WEIR_FOREVER,
		       ctx);
}

weir_err weir_rate_acquire_until(weir_rate *limit, int64_t n,
				  int64_t deadline_ns)
{
	return acquire(limit, n, deadline_ns, NULL);
}

/*
 * Not waiting.
 */
weir_err weir_rate_try_acquire_at(weir_rate *limit, int64_t n, int64_t now_ns)
{
	weir_err err = check(limit, n, NULL);
	int64_t at_ns;

	if (err == WEIR_EQUEUED)
		err = take_first(limit, n, now_ns, now_ns, &at_ns, NULL);
	return err == WEIR_ETIMEDOUT ? WEIR_EAGAIN : err;
}

weir_err weir_rate_try_acquire(weir_rate *limit, int64_t n)
{
	return weir_rate_try_acquire_at(limit, n, weir_now_ns());
}

weir_err weir_rate_reserve_at(weir_rate *limit, int64_t n, int64_t now_ns,
			       int64_t max_wait_ns, int64_t *at_ns)
{
	weir_err err = at_ns && max_wait_ns >= 0 ? check(limit, n, NULL) :
						   WEIR_EINVAL;
	int64_t at = now_ns;

	if (err == WEIR_EQUEUED) {
		int64_t latest_ns = now_ns > 0 &&
				    max_wait_ns > INT64_MAX - now_ns ?
					    INT64_MAX : now_ns + max_wait_ns;

		err = take_first(limit, n, now_ns, latest_ns, &at, NULL);
	}
	if (!err)
		*at_ns = at < now_ns ? now_ns : at;
	return err;
}

weir_err weir_rate_reserve(weir_rate *limit, int64_t n, int64_t max_wait_ns,
			    int64_t *at_ns)
{
	return weir_rate_reserve_at(limit, n, weir_now_ns(), max_wait_ns,
				     at_ns);
}

/* Under the lock, not closed. */
static int64_t delay(const weir_rate *limit, int64_t n, int64_t now_ns)
{
	const struct weir_bucket_ *b = &limit->bucket_;
	int64_t at_ns;

	/* C2: it stands in no queue. */
	if (!n)
		return 0;
	if (n > b->burst_ || !queue_fits(limit) ||
	    !weir_bucket_time_ok_(b, now_ns))
		return WEIR_FOREVER;
	at_ns = weir_bucket_at_(b, n, (int64_t)limit->queued_, now_ns);
	return at_ns > now_ns ? at_ns - now_ns : 0;
}

int64_t weir_rate_delay_at(weir_rate *limit, int64_t n, int64_t now_ns)
{
	int64_t delay_ns = WEIR_FOREVER;

	if (weir_rate_is_misplaced_(limit) || n < 0 || n > WEIR_SEM_MAX) {
		weir_panic_("weir_rate_delay: %p is not a limit, or %d out of "
			    "range", limit, n);
		return WEIR_FOREVER;
	}
	weir_lock_(&limit->lock_);
	if (!weir_sem_is_closed(&limit->gate_))
		delay_ns = delay(limit, n, now_ns);
	weir_unlock_(&limit->lock_);
	return delay_ns;
}

int64_t weir_rate_delay(weir_rate *limit, int64_t n)
{
	return weir_rate_delay_at(limit, n, weir_now_ns());
}
