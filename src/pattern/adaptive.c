/* SPDX-License-Identifier: MIT */
/*
 * A limit that adapts its capacity: the functions of weir/adaptive.h.
 *
 * limit_ has a fraction, so that it can grow by one over a whole round of
 * calls; the capacity of the semaphore is its integer part.  lock_, held
 * briefly, protects limit_ and the latencies.  The semaphore is resized without
 * the lock, since a resize may run callbacks.  One thread at a time resizes
 * (applying_).  It repeats the resize until the capacity equals limit_, so an
 * outdated limit is never the last one applied.
 */
#include "weir/adaptive.h"

#include <stddef.h>

#include "base/lock.h"
#include "base/panic.h"
#include "pattern/ready.h"
#include "core/site.h"
#include "record/record.h"

#define SECOND INT64_C(1000000000)
#define DECREASE 0.9
#define SMOOTH 0.2		/* weight of a new limit */
#define LONG_RUN 1000		/* rounds of calls */
#define SHORT_RUN 10		/* calls */
#define TOLERANCE 1.5		/* of the latency, before it counts as longer */
#define LATENCY_MAX 9e18	/* fits into int64_t */

/* The check at the beginning of every call: ready.h. */
static weir_err check(weir_adaptive *a, const char *call,
		      enum weir_refusal_ refusal)
{
	struct weir_object_ o = { .kind = "adaptive limit", .object = a };

	if (weir_is_ready_(a))
		return WEIR_OK;
	if (!weir_is_misaligned_(a)) {
		o.ready = &a->ready_;
		/* A resize that was in progress never ends in the child. */
		o.lock = a->applying_ ? &a->applying_ : &a->lock_;
	}
	return weir_unready_(&o, call, refusal);
}

static double within(double value, double low, double high)
{
	return value < low ? low : value > high ? high : value;
}

/*
 * Returns to_ns - from_ns, at least 0.  The subtraction is unsigned, so it does
 * not overflow.
 */
static double between(int64_t from_ns, int64_t to_ns)
{
	return to_ns > from_ns ? (double)((uint64_t)to_ns - (uint64_t)from_ns) : 0;
}

/*
 * The computation of limit_ and of the latencies.  Requires, for all these
 * functions: lock_ is held.
 */
static double aimd(const weir_adaptive *a)
{
	return a->limit_ + 1 / a->limit_;
}

static double gradient(const weir_adaptive *a, double latency)
{
	double slope = within(TOLERANCE * a->long_ns_ / latency, 0.5, 1);
	double next = a->limit_ * slope + (double)a->opts_.queue;
	double smoothed = a->limit_ * (1 - SMOOTH) + next * SMOOTH;

	/*
	 * The step is spread over a round of limit_ calls: each call adds a
	 * fraction.
	 */
	return a->limit_ + (smoothed - a->limit_) / a->limit_;
}

/*
 * Update long_ns_, the latency of a call that does not queue.  long_ns_ falls
 * quickly, because a short latency shows that this latency is possible.  It
 * rises slowly, because a long latency may come from a queue that this limit
 * itself allowed.
 */
static void update_long_run(weir_adaptive *a, double latency)
{
	double run = latency < a->long_ns_ ? SHORT_RUN : LONG_RUN * a->limit_;

	if (a->long_ns_ > 0)
		a->long_ns_ += (latency - a->long_ns_) / run;
	else
		a->long_ns_ = latency;
}

static void learn(weir_adaptive *a, int64_t began_ns, int64_t now_ns,
		  int64_t in_flight, weir_call call)
{
	double latency = within(between(began_ns, now_ns), 1, LATENCY_MAX);
	bool slow = a->opts_.slow_ns && latency > (double)a->opts_.slow_ns;

	if (!a->calls_)
		a->first_ns_ = now_ns;
	a->last_ns_ = now_ns;
	a->calls_++;
	a->mean_ns_ += (latency - a->mean_ns_) / (double)a->calls_;
	if (call == WEIR_CALL_DROPPED || slow) {
		a->drops_++;
		/* The call began under a limit that has been reduced since. */
		if (a->drops_ > 1 && began_ns < a->decreased_ns_)
			return;
		a->decreased_ns_ = now_ns;
		a->limit_ *= DECREASE;
	} else {
		update_long_run(a, latency);
		if (2 * (double)in_flight < a->limit_)
			return;
		a->limit_ = a->opts_.kind == WEIR_AIMD ? aimd(a) :
							 gradient(a, latency);
	}
	a->limit_ = within(a->limit_, (double)a->opts_.min,
			   (double)a->opts_.max);
}

/* Resize the semaphore to limit_, unless another thread is doing so. */
static weir_err apply(weir_adaptive *a)
{
	weir_err err = WEIR_OK;

	weir_lock_(&a->lock_);
	if (!a->applying_) {
		a->applying_ = 1;
		while (!err && a->applied_ != (int64_t)a->limit_) {
			int64_t n = (int64_t)a->limit_;

			a->applied_ = n;
			weir_unlock_(&a->lock_);
			err = weir_sem_resize(a->sem_, n, NULL);
			weir_lock_(&a->lock_);
		}
		a->applying_ = 0;
	}
	weir_unlock_(&a->lock_);
	return err;
}

weir_err weir_adaptive_learn(weir_adaptive *adaptive, int64_t began_ns,
			     int64_t now_ns, int64_t in_flight, weir_call call)
{
	if (check(adaptive, __func__, WEIR_BY_ERROR_) || in_flight < 0 ||
	    (unsigned)call > WEIR_CALL_IGNORED)
		return WEIR_EINVAL;
	if (call == WEIR_CALL_IGNORED)
		return WEIR_OK;
	weir_lock_(&adaptive->lock_);
	learn(adaptive, began_ns, now_ns, in_flight, call);
	weir_unlock_(&adaptive->lock_);
	return apply(adaptive);
}

weir_err weir_adaptive_acquire(weir_adaptive *adaptive, struct weir_ctx *ctx,
			       int64_t *began_ns)
{
	bool watched;
	weir_err err;

	if (check(adaptive, __func__, WEIR_BY_ERROR_) || !began_ns)
		return WEIR_EINVAL;
	watched = weir_site_begin_(adaptive->sem_, WEIR_SITE_);
	err = weir_sem_acquire(adaptive->sem_, 1, ctx);
	weir_site_end_(watched);
	if (!err)
		*began_ns = weir_now_ns();
	return err;
}

void weir_adaptive_release(weir_adaptive *adaptive, int64_t began_ns,
			   weir_call call)
{
	int64_t in_flight;
	weir_err err;

	if (check(adaptive, __func__, WEIR_BY_PANIC_))
		return;
	if ((unsigned)call > WEIR_CALL_IGNORED) {
		weir_panic_("%s: adaptive limit %p: invalid result %d",
			    __func__, adaptive, (int64_t)call);
		return;
	}
	weir_lock_(&adaptive->lock_);
	in_flight = adaptive->applied_;
	weir_unlock_(&adaptive->lock_);
	in_flight -= weir_sem_available(adaptive->sem_);
	(void)!weir_adaptive_learn(adaptive, began_ns, weir_now_ns(),
				   in_flight > 0 ? in_flight : 0, call);
	err = weir_sem_try_release(adaptive->sem_, 1);
	if (err)
		weir_panic_("%s: adaptive limit %p: %s", __func__, adaptive,
			    err == WEIR_EOVERFLOW ?
				    "no call is in progress" :
				    "its semaphore cannot be released");
}

int64_t weir_little(int64_t per_second, int64_t latency_ns)
{
	double product = (double)per_second * (double)latency_ns /
			 (double)SECOND;
	int64_t billions = per_second / SECOND, calls = per_second % SECOND;
	int64_t seconds = latency_ns / SECOND, rest_ns = latency_ns % SECOND;
	int64_t n;

	if (per_second < 1 || latency_ns < 1)
		return 0;
	if (product >= (double)WEIR_SEM_MAX)
		return WEIR_SEM_MAX;
	/* The product in integers: a double would lose its last digits. */
	n = billions * latency_ns + calls * seconds +
	    (calls * rest_ns + SECOND - 1) / SECOND;
	return n < WEIR_SEM_MAX ? n : WEIR_SEM_MAX;
}

static bool opts_ok(const weir_adaptive_opts *o)
{
	return (o->kind == WEIR_AIMD || o->kind == WEIR_GRADIENT) &&
	       !o->flags && o->min >= 1 && o->min <= o->initial &&
	       o->initial <= o->max && o->max <= INT64_C(1) << 40 &&
	       o->slow_ns >= 0 && o->queue >= 0 && !o->reserved_[0] &&
	       !o->reserved_[1] && !o->reserved_[2] && !o->reserved_[3];
}

weir_err weir_adaptive_init(weir_adaptive *adaptive, weir_sem *sem,
			    const weir_adaptive_opts *opts)
{
	weir_adaptive_opts o = { 0 };
	weir_err err;

	if (opts)
		o = *opts;
	o.min = o.min ? o.min : 1;
	o.max = o.max ? o.max : 1000;
	if (!o.initial)
		o.initial = o.min > 20 ? o.min : o.max < 20 ? o.max : 20;
	o.queue = o.queue ? o.queue : 4;
	if (!adaptive || (uintptr_t)adaptive % sizeof(uint64_t) || !opts_ok(&o))
		return WEIR_EINVAL;
	err = weir_sem_resize(sem, o.initial, NULL);
	if (err)
		return err;
	weir_record_type_(weir_record_of_(sem), RG_ADAPTIVE);
	*adaptive = (weir_adaptive){
		.sem_ = sem,
		.opts_ = o,
		.limit_ = (double)o.initial,
		.applied_ = o.initial,
		.ready_ = weir_generation_,
	};
	return WEIR_OK;
}

weir_err weir_adaptive_stat(weir_adaptive *adaptive, weir_adaptive_info *info)
{
	double lasted;

	if (check(adaptive, __func__, WEIR_BY_ERROR_) || !info)
		return WEIR_EINVAL;
	weir_lock_(&adaptive->lock_);
	lasted = between(adaptive->first_ns_, adaptive->last_ns_);
	*info = (weir_adaptive_info){
		.limit = (int64_t)adaptive->limit_,
		.calls = adaptive->calls_,
		.drops = adaptive->drops_,
		.mean_ns = (int64_t)adaptive->mean_ns_,
		.long_ns = (int64_t)adaptive->long_ns_,
	};
	if (lasted > 0)
		info->per_second = (int64_t)((double)(info->calls - 1) *
					     (double)SECOND / lasted);
	info->advice = weir_little(info->per_second, info->mean_ns);
	weir_unlock_(&adaptive->lock_);
	return WEIR_OK;
}
