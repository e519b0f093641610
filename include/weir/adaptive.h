/* SPDX-License-Identifier: MIT */
#ifndef WEIR_ADAPTIVE_H
#define WEIR_ADAPTIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "weir/base.h"
#include "weir/sem.h"

WEIR_DECLS_BEGIN

struct weir_ctx;	/* cancellation and deadlines, weir/ctx.h */

/*
 * weir_adaptive: a limit that finds its own capacity.  It watches how long calls
 * take and how many are dropped, and resizes a semaphore accordingly.
 *
 *     err = weir_sem_init(&sem, 1);
 *     err = weir_adaptive_init(&limit, &sem, &opts);
 *
 *     err = weir_adaptive_acquire(&limit, ctx, &began);
 *     ok = call(...);
 *     weir_adaptive_release(&limit, began, ok ? WEIR_CALL_OK : WEIR_CALL_DROPPED);
 *
 *   WEIR_AIMD      Up by one for each full round of calls, down by a tenth when
 *                  one is dropped or takes longer than slow_ns.  Finds the edge by
 *                  stepping over it now and then.
 *   WEIR_GRADIENT  Compares the latency now with that of the long run: as long as
 *                  they are alike the limit grows by a fifth of `queue` in each
 *                  round, when calls take half as long again it shrinks.  What the
 *                  server always takes is learned over a thousand rounds.
 *
 * Calls teach nothing about a limit that they do not reach: the limit grows only
 * while at least half of it is in use.  A drop of a call that began before the
 * last decrease decreases nothing again.
 *
 * The following holds for every function below unless its comment differs.
 *
 *   Threads   Callable from any thread between init and the last use.
 *   Memory    Allocates nothing; needs no destroy.  The semaphore is the caller's
 *             and may be used, closed and destroyed as usual, but not resized.
 *   Orders    As in weir/sem.h.
 *   Signals   Not async-signal-safe.
 *   Fork      As in weir/sem.h.
 *   Misuse    As in weir/sem.h.
 */
typedef enum weir_adaptive_kind {
	WEIR_AIMD = 0,
	WEIR_GRADIENT = 1
} weir_adaptive_kind;

/* How a call ended. */
typedef enum weir_call {
	WEIR_CALL_OK = 0,
	WEIR_CALL_DROPPED = 1,	/* refused, timed out: there were too many */
	WEIR_CALL_IGNORED = 2	/* failed for reasons of its own */
} weir_call;

/* Zero means the default throughout. */
typedef struct weir_adaptive_opts {
	weir_adaptive_kind kind;
	uint32_t flags;		/* 0 */
	int64_t initial;	/* 0: 20 */
	int64_t min;		/* 0: 1 */
	int64_t max;		/* 0: 1000 */
	int64_t slow_ns;	/* a call that takes longer is a drop; 0: none */
	int64_t queue;		/* GRADIENT: growth; 0: 4 */
	uint64_t reserved_[4];	/* zero, for later versions */
} weir_adaptive_opts;

typedef struct weir_adaptive {
	weir_sem *sem_;
	weir_adaptive_opts opts_;
	/* Under lock_: */
	double limit_;
	double long_ns_;		/* latency of the long run; 0: none yet */
	double mean_ns_;		/* of all */
	int64_t applied_;		/* capacity of the semaphore */
	int64_t calls_, drops_;
	int64_t first_ns_, last_ns_;	/* end of the first and the last call */
	int64_t decreased_ns_;
	uint32_t lock_;
	uint32_t applying_;		/* somebody is resizing */
	uint64_t reserved_[4];		/* zero, for later versions */
} weir_adaptive;

/*
 * Set up *adaptive for sem, which gets the initial capacity.  null options are
 * the defaults.  WEIR_EINVAL also if the semaphore is unbounded.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_adaptive_init(weir_adaptive *adaptive, weir_sem *sem,
		   const weir_adaptive_opts *opts);

/* weir_sem_acquire of one permit; *began_ns is the time, for the release. */
WEIR_API WEIR_MUST_USE weir_err
weir_adaptive_acquire(weir_adaptive *adaptive, struct weir_ctx *ctx,
		      int64_t *began_ns);

/* Give the permit back and learn from how the call went. */
WEIR_API void weir_adaptive_release(weir_adaptive *adaptive, int64_t began_ns,
				    weir_call call);

/*
 * Learn from a call that began and ended then, with in_flight calls under way, and
 * resize; for those who acquire and release by themselves.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_adaptive_learn(weir_adaptive *adaptive, int64_t began_ns, int64_t now_ns,
		    int64_t in_flight, weir_call call);

/*
 * Little's law: how many are under way at a time if so many come in a second and
 * each takes so long; rounded up.
 */
WEIR_API int64_t weir_little(int64_t per_second, int64_t latency_ns);

typedef struct weir_adaptive_info {
	int64_t limit;
	int64_t calls, drops;	/* since init; ignored ones are not counted */
	int64_t mean_ns;	/* latency, of all calls */
	int64_t long_ns;	/* of the long run, as GRADIENT sees it */
	int64_t per_second;	/* calls, from the first to the last */
	int64_t advice;		/* weir_little of these two */
	uint64_t reserved_[4];
} weir_adaptive_info;

WEIR_API WEIR_MUST_USE weir_err
weir_adaptive_stat(weir_adaptive *adaptive, weir_adaptive_info *info);

WEIR_DECLS_END

#endif /* WEIR_ADAPTIVE_H */
