/* SPDX-License-Identifier: MIT */
/* The rate limit: init, destroy, change, close and stat. */
#include "pattern/rate.h"

#include "base/lock.h"
#include "base/panic.h"
#include "core/sem_watched.h"

#define SECOND INT64_C(1000000000)

static int64_t gcd(int64_t a, int64_t b)
{
	while (b) {
		int64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

bool weir_bucket_set_(struct weir_bucket_ *b, int64_t rate, int64_t period_ns,
		      int64_t burst)
{
	int64_t common;

	if (rate < 1 || rate > WEIR_RATE_MAX || period_ns < 1 ||
	    period_ns > WEIR_RATE_PERIOD_MAX || burst < 1)
		return false;
	common = gcd(rate, period_ns);
	rate /= common;
	period_ns /= common;
	if (burst > WEIR_BUCKET_MAX_ / period_ns ||
	    rate > WEIR_BUCKET_MAX_ / period_ns)
		return false;
	b->num_ = rate;
	b->den_ = period_ns;
	b->burst_ = burst;
	return true;
}

weir_err weir_rate_unready_(weir_rate *limit, const char *call,
			    enum weir_refusal_ refusal)
{
	struct weir_object_ o = { .kind = "rate limit", .object = limit };

	if (!weir_is_misaligned_(limit)) {
		o.name = limit->name_;
		o.ready = &limit->ready_;
		o.lock = &limit->lock_;
		o.sems[0] = &limit->gate_;
		o.sems[1] = &limit->wake_;
		o.waited = limit->waiting_;
	}
	return weir_unready_(&o, call, refusal);
}

weir_err weir_rate_init(weir_rate *limit, const weir_rate_opts *opts)
{
	const weir_sem_opts wake = { .flags = WEIR_SEM_UNBOUNDED |
					      WEIR_SEM_UNWATCHED };
	weir_sem_opts gate = { .permits = 1, .flags = WEIR_SEM_UNWATCHED };
	weir_rate made = { .period_ns_ = SECOND,
			   .ready_ = weir_generation_ };

	if (!limit || (uintptr_t)limit % sizeof(uint64_t) || !opts ||
	    opts->flags || opts->reserved_[0] || opts->reserved_[1] ||
	    opts->reserved_[2] || opts->burst < 0 ||
	    (opts->kind != WEIR_RATE_BUCKET && opts->kind != WEIR_RATE_SPACED))
		return WEIR_EINVAL;
	made.rate_ = opts->rate;
	if (opts->period_ns)
		made.period_ns_ = opts->period_ns;
	made.name_ = gate.name = opts->name;
	made.bucket_.kind_ = opts->kind;
	/* The bucket has been full since the earliest possible time. */
	made.bucket_.full_ns_ = INT64_MIN;
	if (!weir_bucket_set_(&made.bucket_, made.rate_, made.period_ns_,
			      opts->burst ? opts->burst : 1))
		return WEIR_EINVAL;
	(void)!weir_sem_init_opts(&made.gate_, &gate);
	(void)!weir_sem_init_opts(&made.wake_, &wake);
	*limit = made;
	weir_sem_watch_(&limit->gate_, RG_RATE);
	return WEIR_OK;
}

weir_err weir_rate_destroy(weir_rate *limit)
{
	uint32_t waiting;
	weir_err err;

	if (weir_rate_check_(limit, __func__, WEIR_BY_ERROR_))
		return WEIR_EINVAL;
	weir_lock_(&limit->lock_);
	waiting = limit->waiting_;
	weir_unlock_(&limit->lock_);
	if (waiting)
		return WEIR_EBUSY;
	err = weir_sem_destroy(&limit->gate_);
	if (!err)
		err = weir_sem_destroy(&limit->wake_);
	if (!err)
		limit->ready_ = WEIR_DESTROYED_;
	return err;
}

/*
 * Give *next the level of *b.  Tokens above the new burst are lost.  A fraction
 * of a token is kept, to a fraction of a nanosecond: without it, a bucket whose
 * rate is changed very often would never fill.
 */
static void keep_level(struct weir_bucket_ *next, const struct weir_bucket_ *b,
		       int64_t now_ns)
{
	struct weir_time_ t = { now_ns, 0 };
	int64_t rest, missing = weir_bucket_lack_(b, now_ns, &rest);

	/*
	 * Round the missing tokens up: one extra token would exceed the rate.
	 * Both factors are below 2^53.
	 */
	if (rest && next->den_ != b->den_)
		rest = 1 + (int64_t)((double)rest / (double)b->den_ *
				     (double)next->den_);
	if (next->kind_ == WEIR_RATE_BUCKET)
		missing += next->burst_ - b->burst_;
	if (missing < 0)
		missing = rest = 0;
	if (!weir_bucket_fits_(next, missing))
		missing = WEIR_BUCKET_MAX_ / next->den_;
	t = weir_time_add_(next, t, weir_bucket_cost_(next, missing));
	t = weir_time_add_(next, t, (struct weir_time_){ rest / next->num_,
							 rest % next->num_ });
	next->full_ns_ = t.ns;
	next->full_part_ = t.part;
}

weir_err weir_rate_set(weir_rate *limit, int64_t rate, int64_t period_ns,
			     int64_t burst)
{
	struct weir_bucket_ next;
	int64_t now_ns;
	bool ok;

	if (weir_rate_check_(limit, __func__, WEIR_BY_ERROR_))
		return WEIR_EINVAL;
	period_ns = period_ns ? period_ns : SECOND;
	now_ns = weir_now_ns();
	weir_lock_(&limit->lock_);
	next = limit->bucket_;
	ok = weir_bucket_set_(&next, rate, period_ns, burst ? burst : 1);
	if (ok) {
		/* rate_wait.c: the holder of the gate takes them again. */
		weir_rate_put_back_(limit);
		keep_level(&next, &limit->bucket_, now_ns);
		limit->bucket_ = next;
		limit->rate_ = rate;
		limit->period_ns_ = period_ns;
	}
	weir_unlock_(&limit->lock_);
	if (!ok)
		return WEIR_EINVAL;
	weir_sem_release(&limit->wake_, 1);
	return WEIR_OK;
}

void weir_rate_close(weir_rate *limit)
{
	if (weir_rate_check_(limit, __func__, WEIR_BY_PANIC_))
		return;
	weir_sem_close(&limit->gate_, WEIR_CLOSE_NOW);
	weir_sem_close(&limit->wake_, WEIR_CLOSE_NOW);
}

/*
 * Returns the tokens that a try would take now; negative: those reserved beyond
 * a full bucket.  Evenly spaced tokens are available if no earlier one is due.
 */
static int64_t available(const struct weir_bucket_ *b, int64_t now_ns)
{
	int64_t missing = weir_bucket_missing_(b, now_ns);

	if (b->kind_ == WEIR_RATE_SPACED && missing && missing < b->burst_)
		return 0;
	return b->burst_ - missing;
}

weir_err weir_rate_stat(weir_rate *limit, weir_rate_info *info)
{
	int64_t now_ns = weir_now_ns();

	if (weir_rate_check_(limit, __func__, WEIR_BY_ERROR_) || !info)
		return WEIR_EINVAL;
	weir_lock_(&limit->lock_);
	*info = (weir_rate_info){
		.name = limit->name_,
		.rate = limit->rate_,
		.period_ns = limit->period_ns_,
		.burst = limit->bucket_.burst_,
		.tokens = available(&limit->bucket_, now_ns),
		.waiters = limit->waiting_,
		.kind = limit->bucket_.kind_ ? WEIR_RATE_SPACED :
					       WEIR_RATE_BUCKET,
		.closed = weir_sem_is_closed(&limit->gate_),
	};
	weir_unlock_(&limit->lock_);
	return WEIR_OK;
}
