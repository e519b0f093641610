/* SPDX-License-Identifier: MIT */
/*
 * The rate limit of weir/rate.h: the calls that do not wait.
 *
 * lock_, held briefly, protects the bucket of tokens (bucket.h).  A call whose
 * tokens are available takes them under the lock and returns, unless other
 * calls wait (waiting_): it would overtake them.  rate_wait.c has the calls
 * that wait.
 */
#include "pattern/rate.h"

#include "base/lock.h"
#include "base/panic.h"
#include "weir/ctx.h"

weir_err weir_rate_check_request_(weir_rate *limit, int64_t n,
				  struct weir_ctx *ctx, const char *call)
{
	weir_err err = WEIR_OK;

	if (weir_rate_check_(limit, call, WEIR_BY_ERROR_) || n < 0 ||
	    n > WEIR_SEM_MAX)
		return WEIR_EINVAL;
	if (ctx)
		err = weir_ctx_err(ctx);
	if (err)
		return err;
	if (weir_sem_is_closed(&limit->gate_))
		return WEIR_ECLOSED;
	return n ? WEIR_EQUEUED : WEIR_OK;
}

weir_err weir_rate_take_locked_(weir_rate *limit, int64_t n, int64_t now_ns,
				int64_t latest_ns, int64_t *at_ns)
{
	struct weir_bucket_ *b = &limit->bucket_;

	if (n > b->burst_)
		return WEIR_ETOOBIG;
	if (!weir_bucket_time_ok_(b, now_ns))
		return WEIR_ETIMEDOUT;
	*at_ns = weir_bucket_at_(b, n, 0, now_ns);
	if (*at_ns > latest_ns || !weir_bucket_take_(b, n, now_ns))
		return WEIR_ETIMEDOUT;
	return WEIR_OK;
}

weir_err weir_rate_take_(weir_rate *limit, int64_t n, int64_t now_ns,
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
		err = weir_rate_take_locked_(limit, n, now_ns, latest_ns,
					     at_ns);
	if (full)
		*full = (struct weir_time_){ limit->bucket_.full_ns_,
					     limit->bucket_.full_part_ };
	if (full && (err == WEIR_EAGAIN || err == WEIR_ETIMEDOUT)) {
		limit->waiting_++;
		weir_rate_queue_(limit, n);
		err = WEIR_EQUEUED;
	}
	weir_unlock_(&limit->lock_);
	return err;
}

weir_err weir_rate_try_acquire_at(weir_rate *limit, int64_t n, int64_t now_ns)
{
	weir_err err = weir_rate_check_request_(limit, n, NULL,
						"weir_rate_try_acquire");
	int64_t at_ns;

	if (err == WEIR_EQUEUED)
		err = weir_rate_take_(limit, n, now_ns, now_ns, &at_ns, NULL);
	return err == WEIR_ETIMEDOUT ? WEIR_EAGAIN : err;
}

weir_err weir_rate_try_acquire(weir_rate *limit, int64_t n)
{
	return weir_rate_try_acquire_at(limit, n, weir_now_ns());
}

weir_err weir_rate_reserve_at(weir_rate *limit, int64_t n, int64_t now_ns,
			       int64_t max_wait_ns, int64_t *at_ns)
{
	weir_err err = WEIR_EINVAL;
	int64_t at = now_ns;

	if (at_ns && max_wait_ns >= 0)
		err = weir_rate_check_request_(limit, n, NULL,
					       "weir_rate_reserve");
	if (err == WEIR_EQUEUED) {
		int64_t latest_ns = now_ns > 0 &&
				    max_wait_ns > INT64_MAX - now_ns ?
					    INT64_MAX : now_ns + max_wait_ns;

		err = weir_rate_take_(limit, n, now_ns, latest_ns, &at, NULL);
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

/*
 * Returns true if weir_bucket_at_ can compute with queued_.
 * Requires: lock_ is held.
 */
static bool queue_fits(const weir_rate *limit)
{
	return !limit->queued_high_ && limit->queued_ <= INT64_MAX &&
	       weir_bucket_fits_(&limit->bucket_, (int64_t)limit->queued_);
}

/*
 * Returns how long a request for n tokens would wait.
 * Requires: lock_ is held, and the limit is not closed.
 */
static int64_t delay(const weir_rate *limit, int64_t n, int64_t now_ns)
{
	const struct weir_bucket_ *b = &limit->bucket_;
	int64_t at_ns;

	/* C2: a request for 0 tokens never waits. */
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

	if (weir_rate_check_(limit, "weir_rate_delay", WEIR_BY_PANIC_))
		return WEIR_FOREVER;
	if (n < 0 || n > WEIR_SEM_MAX) {
		weir_panic_("weir_rate_delay: rate limit %o: invalid count %d",
			    limit->name_, limit, n);
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
