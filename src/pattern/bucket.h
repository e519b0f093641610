/* SPDX-License-Identifier: MIT */
#ifndef WEIR_PATTERN_BUCKET_H
#define WEIR_PATTERN_BUCKET_H

/*
 * The arithmetic of a bucket of tokens.  It uses no clock and no lock; times
 * are arguments.
 *
 * A bucket is not stored as a level, which would have to be refilled again and
 * again, but as the time at which it will be full.  Taking n tokens moves this
 * time by n / rate.  If this time is in the past, the bucket is full now:
 *
 *     full' = max(now, full) + n / rate
 *
 * The tokens are usable as soon as the bucket could be full again in burst /
 * rate:
 *
 *     at = full' - burst / rate           (BUCKET)
 *     at = max(now, full)                 (SPACED: after the previous call)
 *
 * n / rate is n * den / num nanoseconds, seldom an integer.  A time is
 * therefore nanoseconds and a fraction in units of 1/num.  Only `at` is
 * rounded, upwards.
 */
#include <stdbool.h>
#include <stdint.h>

#include "weir/rate.h"

/*
 * The bound of n * den and of num * den, and of a time's distance from 0 (73
 * years).  Sums of three such numbers fit.
 */
#define WEIR_BUCKET_MAX_ (INT64_MAX / 4)

struct weir_time_ {
	int64_t ns, part;	/* 0 <= part < num */
};

/* Returns n / rate.  Requires: weir_bucket_fits_(b, n). */
static inline struct weir_time_ weir_bucket_cost_(const struct weir_bucket_ *b,
						  int64_t n)
{
	return (struct weir_time_){ n * b->den_ / b->num_,
				    n * b->den_ % b->num_ };
}

/* Returns true if n * den is within WEIR_BUCKET_MAX_. */
static inline bool weir_bucket_fits_(const struct weir_bucket_ *b, int64_t n)
{
	return n <= WEIR_BUCKET_MAX_ / b->den_;
}

static inline struct weir_time_ weir_time_add_(const struct weir_bucket_ *b,
					       struct weir_time_ t,
					       struct weir_time_ more)
{
	t.part += more.part;
	t.ns += more.ns + (t.part >= b->num_);
	t.part -= t.part >= b->num_ ? b->num_ : 0;
	return t;
}

static inline struct weir_time_ weir_time_sub_(const struct weir_bucket_ *b,
					       struct weir_time_ t,
					       struct weir_time_ less)
{
	t.part -= less.part;
	t.ns -= less.ns + (t.part < 0);
	t.part += t.part < 0 ? b->num_ : 0;
	return t;
}

/* Returns max(now, full). */
static inline struct weir_time_ weir_bucket_base_(const struct weir_bucket_ *b,
						  int64_t now_ns)
{
	if (b->full_ns_ < now_ns)
		return (struct weir_time_){ now_ns, 0 };
	return (struct weir_time_){ b->full_ns_, b->full_part_ };
}

/*
 * Returns when n tokens taken now would be usable, if `ahead` other tokens are
 * taken before them.  If the result is at most now_ns, they are usable at once.
 */
static inline int64_t weir_bucket_at_(const struct weir_bucket_ *b, int64_t n,
				      int64_t ahead, int64_t now_ns)
{
	struct weir_time_ t = weir_bucket_base_(b, now_ns);

	t = weir_time_add_(b, t, weir_bucket_cost_(b, ahead));
	if (b->kind_ == WEIR_RATE_BUCKET) {
		t = weir_time_add_(b, t, weir_bucket_cost_(b, n));
		t = weir_time_sub_(b, t, weir_bucket_cost_(b, b->burst_));
	}
	return t.ns + (t.part > 0);
}

static inline void weir_bucket_take_(struct weir_bucket_ *b, int64_t n,
				     int64_t now_ns)
{
	struct weir_time_ t = weir_bucket_base_(b, now_ns);

	t = weir_time_add_(b, t, weir_bucket_cost_(b, n));
	b->full_ns_ = t.ns;
	b->full_part_ = t.part;
}

/*
 * Undo a take.  If the bucket was full before the take, it becomes full as of
 * the time of the take, which has passed: the bucket is full again.
 */
static inline void weir_bucket_put_back_(struct weir_bucket_ *b, int64_t n)
{
	struct weir_time_ t = { b->full_ns_, b->full_part_ };

	t = weir_time_sub_(b, t, weir_bucket_cost_(b, n));
	b->full_ns_ = t.ns;
	b->full_part_ = t.part;
}

/*
 * Returns the number of whole tokens that are missing from a full bucket; *rest
 * is set to the remainder, in units of 1/den tokens.
 */
static inline int64_t weir_bucket_lack_(const struct weir_bucket_ *b,
					int64_t now_ns, int64_t *rest)
{
	int64_t ns = b->full_ns_ - now_ns, whole, left;

	*rest = 0;
	if (b->full_ns_ < now_ns || (!ns && !b->full_part_))
		return 0;
	/*
	 * Compute ns * num / den without the product, which could overflow: den
	 * nanoseconds yield num tokens.
	 */
	whole = ns / b->den_;
	if (whole > WEIR_BUCKET_MAX_ / b->num_)
		return WEIR_BUCKET_MAX_;
	left = ns % b->den_ * b->num_ + b->full_part_;
	*rest = left % b->den_;
	return whole * b->num_ + left / b->den_;
}

/* Returns the missing tokens, rounded up. */
static inline int64_t weir_bucket_missing_(const struct weir_bucket_ *b,
					   int64_t now_ns)
{
	int64_t rest, whole = weir_bucket_lack_(b, now_ns, &rest);

	return whole + (rest > 0);
}

static inline bool weir_bucket_is_full_(const struct weir_bucket_ *b,
					int64_t now_ns)
{
	return weir_bucket_missing_(b, now_ns) == 0;
}

/* Returns true if the times are within the range of the arithmetic. */
static inline bool weir_bucket_time_ok_(const struct weir_bucket_ *b,
					int64_t now_ns)
{
	return now_ns >= -WEIR_BUCKET_MAX_ && now_ns <= WEIR_BUCKET_MAX_ &&
	       b->full_ns_ <= WEIR_BUCKET_MAX_;
}

/* Set the rate.  Returns false if it is out of range; *b is unchanged then. */
bool weir_bucket_set_(struct weir_bucket_ *b, int64_t rate, int64_t period_ns,
		      int64_t burst);

#endif /* WEIR_PATTERN_BUCKET_H */
