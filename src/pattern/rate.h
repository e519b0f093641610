/* SPDX-License-Identifier: MIT */
#ifndef WEIR_PATTERN_RATE_H
#define WEIR_PATTERN_RATE_H

/*
 * Internals shared by the files of the rate limit.  The head of rate.c explains
 * the limit, the head of rate_wait.c the calls that wait.
 */
#include "pattern/bucket.h"
#include "pattern/ready.h"
#include "weir/rate.h"

weir_err weir_rate_unready_(weir_rate *limit, const char *call,
			    enum weir_refusal_ refusal);

/* The check at the beginning of every call: ready.h. */
static inline weir_err weir_rate_check_(weir_rate *limit, const char *call,
					enum weir_refusal_ refusal)
{
	return weir_is_ready_(limit) ?
		       WEIR_OK : weir_rate_unready_(limit, call, refusal);
}

/*
 * Add n to the tokens that waiting calls want, or subtract it.  The sum of a
 * few very large requests does not fit into 64 bits, so it has a second word.
 * Requires: lock_ is held.
 */
static inline void weir_rate_queue_(weir_rate *limit, int64_t n)
{
	limit->queued_ += (uint64_t)n;
	limit->queued_high_ += limit->queued_ < (uint64_t)n;
}

static inline void weir_rate_unqueue_(weir_rate *limit, int64_t n)
{
	limit->queued_high_ -= limit->queued_ < (uint64_t)n;
	limit->queued_ -= (uint64_t)n;
}

/*
 * Put back the tokens that the holder of the gate has taken in advance, if any:
 * it waits for them again.  Requires: lock_ is held.
 */
static inline void weir_rate_put_back_(weir_rate *limit)
{
	weir_bucket_put_back_(&limit->bucket_, limit->advance_);
	weir_rate_queue_(limit, limit->advance_);
	limit->advance_ = 0;
}

/*
 * Check a request, in the order of weir_sem_acquire: arguments, ctx, closed, 0
 * tokens.  Returns WEIR_EQUEUED if the request is valid and has to take tokens.
 */
weir_err weir_rate_check_request_(weir_rate *limit, int64_t n,
				  struct weir_ctx *ctx, const char *call);

/*
 * Take n tokens that are usable at latest_ns or earlier; *at_ns is set to the
 * time from which they are usable.  Returns WEIR_ETIMEDOUT, and takes nothing,
 * if they are usable only later.  Waiting calls are ignored.  Requires: lock_
 * is held.
 */
weir_err weir_rate_take_locked_(weir_rate *limit, int64_t n, int64_t now_ns,
				int64_t latest_ns, int64_t *at_ns);

/*
 * Take n tokens as weir_rate_take_locked_ if no call waits, otherwise return
 * WEIR_EAGAIN.  A caller that can wait passes `full`: instead of WEIR_EAGAIN or
 * WEIR_ETIMEDOUT the result is then WEIR_EQUEUED, and the call is counted as
 * waiting.  *full is set to the time at which the bucket will be full.
 */
weir_err weir_rate_take_(weir_rate *limit, int64_t n, int64_t now_ns,
			 int64_t latest_ns, int64_t *at_ns,
			 struct weir_time_ *full);

#endif /* WEIR_PATTERN_RATE_H */
