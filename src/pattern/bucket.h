/* SPDX-License-Identifier: MIT */
#ifndef WEIR_PATTERN_BUCKET_H
#define WEIR_PATTERN_BUCKET_H

/*
 * The arithmetic of a bucket of tokens.  No clock, no lock: times are given.
 *
 * Instead of a level that has to be filled up again and again there is one time:
 * when the bucket will be full.  Taking n tokens moves it n / rate further, and
 * if it lies in the past the bucket is full now:
 *
 *     full' = max(now, full) + n / rate
 *
 * The tokens are there once the bucket could be full again in burst / rate:
 *
 *     at = full' - burst / rate           (BUCKET)
 *     at = max(now, full)                 (SPACED: when the one before is through)
 *
 * n / rate is n * den / num nanoseconds, seldom a whole number, so a time is
 * nanoseconds and a part, counted in num-ths: nothing is ever rounded, except
 * `at`, upwards.
 */
#include <stdbool.h>
#include <stdint.h>

#include "weir/rate.h"

/*
 * What n * den and num * den may come to, and how far a time may lie from 0 (73
 * years), so that sums of three fit.
 */
#define WEIR_BUCKET_MAX_ (INT64_MAX / 4)

struct weir_time_ {
	int64_t ns, part;	/* 0 <= part < num */
};

/* n / rate.  Requires: n * den fits, weir_bucket_fits_. */
static inline struct weir_time_ weir_bucket_cost_(const struct weir_bucket_ *b,
						  int64_t n)
{
	return (struct weir_time_){ n * b->den_ / b->num_,
				    n * b->den_ % b->num_ };
}

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

/* The bucket's time, or now if that has passed. */
static inline struct weir_time_ weir_bucket_base_(const struct weir_bucket_ *b,
						  int64_t now_ns)
{
	if (b->full_ns_ < now_ns)
		return (struct weir_time_){ now_ns, 0 };
	return (struct weir_time_){ b->full_ns_, b->full_part_ };
}

/*
 * When n tokens taken now could be used; at most now_ns if at once.  With
 * `ahead` tokens to be taken before them.
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
 * Undo a take.  If the bucket was full then, it is full as of then: the same.
 */
static inline void weir_bucket_put_back_(struct weir_bucket_ *b, int64_t n)
{
	struct weir_time_ t = { b->full_ns_, b->full_part_ };

	t = weir_time_sub_(b, t, weir_bucket_cost_(b, n));
	b->full_ns_ = t.ns;
	b->full_part_ = t.part;
}

/* What is missing from a full bucket: whole tokens, and *rest den-ths of one. */
static inline int64_t weir_bucket_lack_(const struct weir_bucket_ *b,
					int64_t now_ns, int64_t *rest)
{
	int64_t ns = b->full_ns_ - now_ns, whole, left;

	*rest = 0;
	if (b->full_ns_ < now_ns || (!ns && !b->full_part_))
		return 0;
	/* ns * num / den without the product: den ns are num tokens. */
	whole = ns / b->den_;
	if (whole > WEIR_BUCKET_MAX_ / b->num_)
		return WEIR_BUCKET_MAX_;
	left = ns % b->den_ * b->num_ + b->full_part_;
	*rest = left % b->den_;
	return whole * b->num_ + left / b->den_;
}

/* The same, rounded up. */
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

/* Whether tokens can be taken at that time at all. */
static inline bool weir_bucket_time_ok_(const struct weir_bucket_ *b,
					int64_t now_ns)
{
	return now_ns >= -WEIR_BUCKET_MAX_ && now_ns <= WEIR_BUCKET_MAX_ &&
	       b->full_ns_ <= WEIR_BUCKET_MAX_;
}

/* False: out of range, *b as it was. */
bool weir_bucket_set_(struct weir_bucket_ *b, int64_t rate, int64_t period_ns,
		      int64_t burst);

#endif /* WEIR_PATTERN_BUCKET_H */
