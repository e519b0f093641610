/* SPDX-License-Identifier: MIT */
#ifndef WEIR_RATE_H
#define WEIR_RATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/base.h"
#include "weir/sem.h"

WEIR_DECLS_BEGIN

struct weir_ctx;	/* cancellation and deadlines, weir/ctx.h */

/*
 * weir_rate: a rate limit, such as 100 calls per second.
 *
 * A bucket holds up to `burst` tokens and is refilled at a constant rate.  An
 * acquire of n takes n tokens; it waits until they are available.  Acquires are
 * served in order of arrival.  The bucket starts full.  Tokens are used up:
 * there is no release.
 *
 *     weir_rate_opts opts = { .rate = 100, .burst = 10 };
 *
 *     err = weir_rate_init(&calls, &opts);
 *     err = weir_rate_acquire(&calls, 1, ctx);
 *
 * In any interval of t seconds at most burst + rate * t tokens are taken.  The
 * arithmetic is exact, to a fraction of a nanosecond: no rate drifts.
 *
 * The following holds for every function below unless its comment differs.
 *
 *   Threads   Every function may be called from any thread between init and
 *             destroy.
 *   Memory    No function allocates.  A waiter lives on its caller's stack.
 *             There is no thread, and no timer unless a call waits.
 *   Orders    If two calls take tokens, then the earlier one happens before the
 *             later one.
 *   Signals   No function is async-signal-safe.  If a signal handler runs
 *             during a wait, then the wait continues.  No function is a
 *             thread-cancellation point.
 *   Time      Times are weir_now_ns(), CLOCK_MONOTONIC.  The _at forms get the
 *             time as an argument, of any clock and in any order.  If the
 *             bucket would be full again only after INT64_MAX (the year 2262
 *             of CLOCK_REALTIME), then no token is taken.  Calls that wait,
 *             weir_rate_set and weir_rate_stat always use weir_now_ns(): a
 *             program that passes times of another clock to the _at forms must
 *             not make these calls.
 *   Fork      As in weir/sem.h.
 *   Misuse    As in weir/sem.h.  If a limit is null, misaligned or zeroed, then
 *             the result is WEIR_EINVAL, or a panic where no error can be
 *             returned.
 */
struct weir_bucket_ {
	int64_t full_ns_, full_part_;	/* when it is full: ns and 1/num_ ns */
	int64_t num_, den_;		/* rate: num_ tokens in den_ ns */
	int64_t burst_;
	int64_t kind_;
};

typedef struct weir_rate {
	weir_sem gate_;			/* its holder waits for tokens */
	weir_sem wake_;			/* ends that wait early */
	struct weir_bucket_ bucket_;	/* under lock_ */
	uint64_t queued_;		/* tokens requested behind the first */
	int64_t rate_, period_ns_;	/* as given in the options */
	const char *name_;
	uint32_t lock_;
	uint32_t waiting_;		/* calls, under lock_ */
	uint32_t ready_;		/* src/pattern/ready.h */
	uint32_t unused_;
	uint64_t queued_high_;		/* high part of queued_ */
	int64_t advance_;		/* tokens that the first took early */
} weir_rate;

typedef enum weir_rate_kind {
	/* A call may take up to burst tokens at once, if the bucket is full. */
	WEIR_RATE_BUCKET = 0,
	/*
	 * Tokens are evenly spaced: if a call takes n, then the next call
	 * succeeds at the earliest n / rate seconds later, however long the
	 * limit was unused.  (Leaky bucket.)  burst is only the largest n.
	 */
	WEIR_RATE_SPACED = 1
} weir_rate_kind;

/* The largest rate; the longest period, about eleven days. */
#define WEIR_RATE_MAX INT64_C(1000000000)
#define WEIR_RATE_PERIOD_MAX INT64_C(1000000000000000)

/*
 * Options for weir_rate_init; zero means the default, except that rate is
 * required.
 */
typedef struct weir_rate_opts {
	int64_t rate;		/* tokens per period, 1 .. WEIR_RATE_MAX */
	int64_t period_ns;	/* 0: one second */
	int64_t burst;		/* 0: 1 */
	const char *name;	/* for messages; not copied; may be null */
	weir_rate_kind kind;
	uint32_t flags;		/* 0 */
	uint64_t reserved_[3];	/* zero, for later versions */
} weir_rate_opts;

/*
 * Set up *limit with a full bucket.  WEIR_EINVAL: an option is out of range; or
 * a burst would take more than about 70 years to refill; or rate and period, in
 * lowest terms, have a product above 2^61.
 * Requires: no other thread can reach *limit yet.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_rate_init(weir_rate *limit, const weir_rate_opts *opts);

/*
 * Retire *limit.  WEIR_EBUSY: a call waits; nothing has changed.
 * Requires: no other call on *limit is running or follows.
 */
WEIR_API WEIR_MUST_USE weir_err weir_rate_destroy(weir_rate *limit);

/*
 * Take n tokens, waiting for them until ctx ends.  A null ctx never ends.
 *
 *   WEIR_OK         The tokens are taken.
 *   WEIR_ECANCELED  ctx was cancelled.               \
 *   WEIR_ETIMEDOUT  ctx passed its deadline, or will  | No token is taken, and
 *                   pass it before the tokens are     | the calls behind are
 *                   available.                        | served as they would be
 *   WEIR_ECLOSED    The limit is closed.              | without this call.
 *   WEIR_ETOOBIG    n > burst.                        |
 *   WEIR_EINVAL     n is negative or too large.      /
 *
 * The checks are made in the order of weir_sem_acquire; n == 0 succeeds at
 * once.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_rate_acquire(weir_rate *limit, int64_t n, struct weir_ctx *ctx);

/* Take n tokens, with a deadline that limits the wait only. */
WEIR_API WEIR_MUST_USE weir_err
weir_rate_acquire_until(weir_rate *limit, int64_t n, int64_t deadline_ns);

/*
 * Take n tokens if that needs no waiting.  WEIR_EAGAIN: too few are available,
 * or other calls wait.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_rate_try_acquire(weir_rate *limit, int64_t n);
WEIR_API WEIR_MUST_USE weir_err
weir_rate_try_acquire_at(weir_rate *limit, int64_t n, int64_t now_ns);

/*
 * Take n tokens now, also if they are not available yet.  *at_ns is set to the
 * time from which they may be used; the caller waits until then.
 * WEIR_ETIMEDOUT: that time is more than max_wait_ns away.  WEIR_EAGAIN: other
 * calls wait.  The other results are those of weir_rate_acquire.  After an
 * error no token is taken.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_rate_reserve(weir_rate *limit, int64_t n, int64_t max_wait_ns,
		   int64_t *at_ns);
WEIR_API WEIR_MUST_USE weir_err
weir_rate_reserve_at(weir_rate *limit, int64_t n, int64_t now_ns,
		      int64_t max_wait_ns, int64_t *at_ns);

/*
 * Returns the time that a call for n would wait now, behind the calls that
 * wait; 0 if n is 0.  WEIR_FOREVER: the limit is closed (also if n is 0), or
 * n > burst, or the calls that wait have requested more tokens than about 70
 * years provide.  The result is for display: it may be outdated already.
 */
WEIR_API int64_t weir_rate_delay(weir_rate *limit, int64_t n);
WEIR_API int64_t weir_rate_delay_at(weir_rate *limit, int64_t n,
				     int64_t now_ns);

/*
 * Change rate, period and burst at once; 0 has the same meaning as in the
 * options.  The available tokens stay, up to the new burst.  Calls that wait
 * then wait by the new rate.  If a call waits for more than the new burst, then
 * it returns WEIR_ETOOBIG when it is first.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_rate_set(weir_rate *limit, int64_t rate, int64_t period_ns,
		    int64_t burst);

/*
 * Close the limit: every waiter and every later call gets WEIR_ECLOSED.
 * Closing twice is harmless.
 */
WEIR_API void weir_rate_close(weir_rate *limit);

typedef struct weir_rate_info {
	const char *name;
	int64_t rate, period_ns, burst;
	int64_t tokens;		/* available; negative: reserved in advance.
				   SPACED: 0 until the next call may succeed */
	uint32_t waiters;
	weir_rate_kind kind;
	bool closed;
	uint64_t reserved_[4];
} weir_rate_info;

WEIR_API WEIR_MUST_USE weir_err
weir_rate_stat(weir_rate *limit, weir_rate_info *info);

/*
 * weir_keyed: one rate limit for each key, such as a tenant, a customer or an
 * address.  A limit is created when its key is first used.  Keys share only the
 * table: a key that exceeds its limit waits for its own tokens and delays no
 * other key.
 *
 * The number of keys is bounded.  If the table is full, then a new key evicts
 * an old one: a key whose bucket is full and for which no call waits, the least
 * recently used first.  Such a key has the state of a new key: eviction never
 * provides extra tokens.  If a new key is used with an earlier time than one at
 * which another key was evicted, then its bucket may not be full.
 *
 * The sections Threads to Misuse above apply.
 */
typedef struct weir_keyed {
	struct weir_keyed_entry_ *entries_;
	struct weir_keyed_entry_ **table_;
	struct weir_ring_ *used_;	/* least recently used first */
	struct weir_keyed_entry_ *free_;
	weir_rate_opts each_;
	uint64_t buckets_;		/* of table_, a power of two */
	uint64_t seed_;
	int64_t max_, count_, evicted_;
	uint32_t lock_, closed_;
	int64_t full_ns_;		/* when the evicted buckets were full */
	int64_t calls_;			/* in progress; under lock_ */
	uint32_t ready_;		/* src/pattern/ready.h */
	uint32_t owned_;
	uint64_t reserved_[1];		/* zero, for later versions */
} weir_keyed;

/* The longest key, in bytes; the most keys. */
#define WEIR_KEY_MAX 40
#define WEIR_KEYED_MAX (INT64_C(1) << 26)

/* The memory that the keys need, in bytes. */
#define WEIR_KEYED_BYTES(max_keys) (WEIR_CAST_(size_t, max_keys) * 384)

/*
 * Set up *keyed for up to max_keys keys at a time, each with its own limit made
 * from the options `each`.  If memory is not null, then it points to
 * WEIR_KEYED_BYTES(max_keys) bytes, aligned to 8, for the keys.  If it is null,
 * then they are allocated on the heap.  WEIR_ENOMEM: memory is exhausted.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_keyed_init(weir_keyed *keyed, void *memory, int64_t max_keys,
		const weir_rate_opts *each);

/* As weir_rate_destroy. */
WEIR_API WEIR_MUST_USE weir_err weir_keyed_destroy(weir_keyed *keyed);

/*
 * These functions work as weir_rate_acquire, weir_rate_try_acquire and
 * weir_rate_try_acquire_at, on the limit of the key.  The key has 1 ..
 * WEIR_KEY_MAX bytes.  WEIR_EFULL, after all other checks: the key is new, the
 * table is full, and none of the sixteen least recently used keys can be
 * evicted.  The next call examines other keys.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_keyed_acquire(weir_keyed *keyed, const void *key, size_t length,
		   int64_t n, struct weir_ctx *ctx);
WEIR_API WEIR_MUST_USE weir_err
weir_keyed_try_acquire(weir_keyed *keyed, const void *key, size_t length,
		       int64_t n);
WEIR_API WEIR_MUST_USE weir_err
weir_keyed_try_acquire_at(weir_keyed *keyed, const void *key, size_t length,
			  int64_t n, int64_t now_ns);

/*
 * Close the limit: every waiter and every later call gets WEIR_ECLOSED.
 * Closing twice is harmless.
 */
WEIR_API void weir_keyed_close(weir_keyed *keyed);

typedef struct weir_keyed_info {
	int64_t max_keys, keys;
	int64_t forgotten;	/* evicted keys, since init */
	int64_t calls;		/* in progress; most of them wait */
	bool closed;
	uint64_t reserved_[4];
} weir_keyed_info;

WEIR_API WEIR_MUST_USE weir_err
weir_keyed_stat(weir_keyed *keyed, weir_keyed_info *info);

WEIR_DECLS_END

#endif /* WEIR_RATE_H */
