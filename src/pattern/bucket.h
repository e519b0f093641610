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
 * The tokens are usable from the time `at` on:
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
 * The bound of n * den and of num * den, and of the time by which tokens may be
 * taken in advance (73 years).  Sums of three such numbers fit.  The sums are
 * formed relative to now, so that absolute times of any size may be used:
 * struct weir_time_ is then a distance.
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

/*
 * Returns max(now, full) - now.
 * Requires: weir_bucket_time_ok_(b, now_ns).
 */
static inline struct weir_time_ weir_bucket_ahead_(const struct weir_bucket_ *b,
						   int64_t now_ns)
{
	if (b->full_ns_ < now_ns)
		return (struct weir_time_){ 0, 0 };
	return (struct weir_time_){ b->full_ns_ - now_ns, b->full_part_ };
}

/*
 * Returns when n tokens taken now would be usable, if `before` other tokens are
 * taken before them.  now_ns: at once.  A later time than INT64_MAX is
 * returned as INT64_MAX.  Requires: weir_bucket_time_ok_(b, now_ns).
 */
static inline int64_t weir_bucket_at_(const struct weir_bucket_ *b, int64_t n,
				      int64_t before, int64_t now_ns)
{
	struct weir_time_ t = weir_bucket_ahead_(b, now_ns);

	t = weir_time_add_(b, t, weir_bucket_cost_(b, before));
	if (b->kind_ == WEIR_RATE_BUCKET) {
		t = weir_time_add_(b, t, weir_bucket_cost_(b, n));
		t = weir_time_sub_(b, t, weir_bucket_cost_(b, b->burst_));
	}
	t.ns += t.part > 0;
	if (t.ns <= 0)
		return now_ns;
	return now_ns > INT64_MAX - t.ns ? INT64_MAX : now_ns + t.ns;
}

/*
 * Take n tokens.  Returns false, and takes none, if the bucket would be full
 * only after INT64_MAX.  Requires: weir_bucket_time_ok_(b, now_ns).
 */
static inline bool weir_bucket_take_(struct weir_bucket_ *b, int64_t n,
				     int64_t now_ns)
{
	struct weir_time_ t = weir_bucket_ahead_(b, now_ns);

	t = weir_time_add_(b, t, weir_bucket_cost_(b, n));
	if (now_ns > INT64_MAX - t.ns)
		return false;
	b->full_ns_ = now_ns + t.ns;
	b->full_part_ = t.part;
	return true;
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
	/* Unsigned: the difference of any two times fits. */
	uint64_t ns = (uint64_t)b->full_ns_ - (uint64_t)now_ns;
	uint64_t den = (uint64_t)b->den_;
	int64_t whole, left;

	*rest = 0;
	if (b->full_ns_ < now_ns || (!ns && !b->full_part_))
		return 0;
	/* ns * num / den without the product: den ns are num tokens. */
	if (ns / den > (uint64_t)(WEIR_BUCKET_MAX_ / b->num_))
		return WEIR_BUCKET_MAX_;
	whole = (int64_t)(ns / den);
	left = (int64_t)(ns % den) * b->num_ + b->full_part_;
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

/*
 * Returns true if the bucket will be full within WEIR_BUCKET_MAX_ from now: the
 * arithmetic can compute with now_ns.
 */
static inline bool weir_bucket_time_ok_(const struct weir_bucket_ *b,
					int64_t now_ns)
{
	/* Unsigned: the difference of any two times fits. */
	return b->full_ns_ <= now_ns ||
	       (uint64_t)b->full_ns_ - (uint64_t)now_ns <= WEIR_BUCKET_MAX_;
}

/* Set the rate.  Returns false if it is out of range; *b is unchanged then. */
bool weir_bucket_set_(struct weir_bucket_ *b, int64_t rate, int64_t period_ns,
		      int64_t burst);

#endif /* WEIR_PATTERN_BUCKET_H */
