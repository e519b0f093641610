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
 * weir_rate: so many per second.
 *
 * A bucket holds up to `burst` tokens and is filled at a steady rate; to acquire n
 * is to take n tokens out, waiting until they are there, in order of arrival.
 * It begins full.  Nothing is given back: tokens are used up.
 *
 *     weir_rate_opts opts = { .rate = 100, .burst = 10 };
 *
 *     err = weir_rate_init(&calls, &opts);
 *     err = weir_rate_acquire(&calls, 1, ctx);
 *
 * In any stretch of t seconds at most burst + rate * t tokens are taken.  The
 * arithmetic is exact, to a part of a nanosecond: the rate does not drift, however
 * odd it is.
 *
 * The following holds for every function below unless its comment differs.
 *
 *   Threads   Callable from any thread between init and destroy.
 *   Memory    Allocates nothing.  A waiter lives on its caller's stack.  There is
 *             no thread, and no timer while nobody waits.
 *   Orders    A call that took tokens happens after those that took some before.
 *   Signals   Not async-signal-safe.  A signal during a wait is handled and the
 *             wait goes on.  No function is a thread-cancellation point.
 *   Time      CLOCK_MONOTONIC, weir_now_ns().  The _at forms take the time from
 *             their caller; times may come in any order.  Calls that wait,
 *             weir_rate_set and weir_rate_stat go by weir_now_ns()
 *             alone: a limit that is given another clock has no use for them.
 *   Fork      As in weir/sem.h.
 *   Misuse    As in weir/sem.h: a null, misaligned or zeroed limit is
 *             WEIR_EINVAL, or a panic where no error can be returned.
 */
struct weir_bucket_ {
	int64_t full_ns_, full_part_;	/* when it is full: ns and num-ths */
	int64_t num_, den_;		/* rate: num tokens in den ns */
	int64_t burst_;
	int64_t kind_;
};

typedef struct weir_rate {
	weir_sem gate_;			/* who is first waits for time alone */
	weir_sem wake_;			/* ends that wait early */
	struct weir_bucket_ bucket_;	/* under lock_ */
	uint64_t queued_;		/* tokens wanted behind the first */
	int64_t rate_, period_ns_;	/* as they were given */
	const char *name_;
	uint32_t lock_;
	uint32_t waiting_;		/* calls, under lock_ */
	uint64_t ready_;		/* set up, and not destroyed */
	uint64_t queued_high_;		/* of queued_, above 2^64 */
	uint64_t reserved_[1];		/* zero, for later versions */
} weir_rate;

typedef enum weir_rate_kind {
	/* Up to burst tokens at once, if they were not used before. */
	WEIR_RATE_BUCKET = 0,
	/*
	 * Evenly spaced: a call that takes n is followed by the next n / rate
	 * seconds later at the earliest, however long it was quiet before.
	 * (Leaky bucket.)  burst is only the largest n.
	 */
	WEIR_RATE_SPACED = 1
} weir_rate_kind;

/* The largest rate; the longest period, about eleven days. */
#define WEIR_RATE_MAX INT64_C(1000000000)
#define WEIR_RATE_PERIOD_MAX INT64_C(1000000000000000)

/* Zero means the default throughout, except that a rate must be given. */
typedef struct weir_rate_opts {
	int64_t rate;		/* tokens in a period, 1 .. WEIR_RATE_MAX */
	int64_t period_ns;	/* 0: a second */
	int64_t burst;		/* 0: 1 */
	const char *name;	/* for messages; not copied; may be null */
	weir_rate_kind kind;
	uint32_t flags;		/* 0 */
	uint64_t reserved_[3];	/* zero, for later versions */
} weir_rate_opts;

/*
 * Set up *limit, full.  WEIR_EINVAL: an option is out of range; a burst would take
 * more than some 70 years to fill; or rate and period, in lowest terms, multiply
 * to more than 2^61.
 * Requires: no other thread can reach *limit yet.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_rate_init(weir_rate *limit, const weir_rate_opts *opts);

/*
 * Retire *limit.  WEIR_EBUSY: somebody waits.
 * Requires: no other call on *limit is running or follows.
 */
WEIR_API WEIR_MUST_USE weir_err weir_rate_destroy(weir_rate *limit);

/*
 * Take n tokens, waiting for them until ctx ends (null: never).
 *
 *   WEIR_OK         They are taken.
 *   WEIR_ECANCELED  ctx was cancelled.               \
 *   WEIR_ETIMEDOUT  ctx passed its deadline, or will  | No token is taken, and
 *                   before they are there.            | those behind are served
 *   WEIR_ECLOSED    The limit is closed.              | as if this call had
 *   WEIR_ETOOBIG    n > burst.                        | never been.
 *   WEIR_EINVAL     n is negative.                   /
 *
 * Checked in the order of weir_sem_acquire; n == 0 succeeds at once.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_rate_acquire(weir_rate *limit, int64_t n, struct weir_ctx *ctx);

/* The same with a plain deadline: it limits waiting only. */
WEIR_API WEIR_MUST_USE weir_err
weir_rate_acquire_until(weir_rate *limit, int64_t n, int64_t deadline_ns);

/* The same if no waiting is needed; else WEIR_EAGAIN, also if others wait. */
WEIR_API WEIR_MUST_USE weir_err
weir_rate_try_acquire(weir_rate *limit, int64_t n);
WEIR_API WEIR_MUST_USE weir_err
weir_rate_try_acquire_at(weir_rate *limit, int64_t n, int64_t now_ns);

/*
 * Take n tokens now, also those that are not there yet; *at_ns is when they may be
 * used, and it is up to the caller to wait till then.  WEIR_ETIMEDOUT: that is
 * more than max_wait_ns away; WEIR_EAGAIN: others wait, and they are first; else as
 * weir_rate_acquire.  After an error nothing is taken.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_rate_reserve(weir_rate *limit, int64_t n, int64_t max_wait_ns,
		   int64_t *at_ns);
WEIR_API WEIR_MUST_USE weir_err
weir_rate_reserve_at(weir_rate *limit, int64_t n, int64_t now_ns,
		      int64_t max_wait_ns, int64_t *at_ns);

/*
 * How long a call for n would wait now, behind those that wait; not at all if n is 0.
 * WEIR_FOREVER if n > burst or it is closed, or if those that wait want more than
 * some 70 years bring.  For display: it may have changed already.
 */
WEIR_API int64_t weir_rate_delay(weir_rate *limit, int64_t n);
WEIR_API int64_t weir_rate_delay_at(weir_rate *limit, int64_t n,
				     int64_t now_ns);

/*
 * Change rate, period and burst, at once; 0 as in the options.  The tokens that
 * are there stay, up to the new burst; whoever waits waits by the new rate.  A
 * waiter for more than the new burst gets WEIR_ETOOBIG when it is first.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_rate_set(weir_rate *limit, int64_t rate, int64_t period_ns,
		    int64_t burst);

/* Every waiter and every later call gets WEIR_ECLOSED.  Twice is harmless. */
WEIR_API void weir_rate_close(weir_rate *limit);

typedef struct weir_rate_info {
	const char *name;
	int64_t rate, period_ns, burst;
	int64_t tokens;		/* there now; negative: reserved ahead */
	uint32_t waiters;
	weir_rate_kind kind;
	bool closed;
	uint64_t reserved_[4];
} weir_rate_info;

WEIR_API WEIR_MUST_USE weir_err
weir_rate_stat(weir_rate *limit, weir_rate_info *info);

/*
 * weir_keyed: one limit for each key (a tenant, a customer, an address), made when
 * the key is first seen.  The tenants share nothing but the table: one that is
 * over its limit waits for its own tokens and delays nobody else.
 *
 * The number of keys is bounded.  A key whose bucket is full and for which nobody
 * waits is as good as one never seen; such keys are forgotten when room is needed,
 * the longest unused first.  So forgetting never gives anybody tokens.
 *
 * Threads, memory, orders and the rest: as above.
 */
typedef struct weir_keyed {
	struct weir_keyed_entry_ *entries_;
	struct weir_keyed_entry_ **table_;
	struct weir_ring_ *used_;	/* longest unused first */
	struct weir_keyed_entry_ *free_;
	weir_rate_opts each_;
	uint64_t buckets_;		/* of table_, a power of two */
	uint64_t seed_;
	int64_t max_, count_, evicted_;
	uint32_t lock_, closed_;
	uint64_t owned_;
	int64_t calls_;			/* under way; under lock_ */
	uint64_t reserved_[2];		/* zero, for later versions */
} weir_keyed;

/* The longest key, in bytes; the most keys. */
#define WEIR_KEY_MAX 40
#define WEIR_KEYED_MAX (INT64_C(1) << 26)

/* How much memory the keys take. */
#define WEIR_KEYED_BYTES(max_keys) ((size_t)(max_keys) * 384)

/*
 * Set up *keyed for up to max_keys keys at a time, each with a limit of its own
 * made with these options.  The keys lie in `memory`, WEIR_KEYED_BYTES(max_keys)
 * bytes aligned to 8, or on the heap if it is null (WEIR_ENOMEM).
 */
WEIR_API WEIR_MUST_USE weir_err
weir_keyed_init(weir_keyed *keyed, void *memory, int64_t max_keys,
		const weir_rate_opts *each);

/* As weir_rate_destroy. */
WEIR_API WEIR_MUST_USE weir_err weir_keyed_destroy(weir_keyed *keyed);

/*
 * As weir_rate_acquire and its kin, on the limit of the key, which is 1 ..
 * WEIR_KEY_MAX bytes.  Also, when all else has been checked, WEIR_EBUSY: the key is
 * new, and of the sixteen keys that were unused longest none can be forgotten yet;
 * the next call looks at others.
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

/* Every waiter and every later call gets WEIR_ECLOSED.  Twice is harmless. */
WEIR_API void weir_keyed_close(weir_keyed *keyed);

typedef struct weir_keyed_info {
	int64_t max_keys, keys;
	int64_t forgotten;	/* keys, since init */
	int64_t calls;		/* under way: waiting, nearly all */
	bool closed;
	uint64_t reserved_[4];
} weir_keyed_info;

WEIR_API WEIR_MUST_USE weir_err
weir_keyed_stat(weir_keyed *keyed, weir_keyed_info *info);

WEIR_DECLS_END

#endif /* WEIR_RATE_H */
