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
 * weir_adaptive: a limit that adapts its capacity.  It measures how long calls
 * take and how many are dropped, and resizes a semaphore accordingly.
 *
 *     err = weir_sem_init(&sem, 1);
 *     err = weir_adaptive_init(&limit, &sem, &opts);
 *
 *     err = weir_adaptive_acquire(&limit, ctx, &began);
 *     ok = call(...);
 *     weir_adaptive_release(&limit, began, ok ? WEIR_CALL_OK :
 *                                               WEIR_CALL_DROPPED);
 *
 *   WEIR_AIMD      The limit grows by one in each full round of calls.  If a
 *                  call is dropped or takes longer than slow_ns, then the limit
 *                  shrinks by a tenth.  It finds the capacity of the service by
 *                  exceeding it from time to time.
 *   WEIR_GRADIENT  The limit compares the current latency with the long-run
 *                  latency.  If they are similar, then the limit grows by a
 *                  fifth of `queue` in each round.  If the current latency is
 *                  r times the long-run latency, and r is more than one and a
 *                  half, then the limit shrinks or grows towards
 *                  queue / (1 - 1.5 / r): four times `queue` if r is 2, twice
 *                  `queue` if r is 3 or more.  Only dropped calls reduce it
 *                  further.  The long-run latency is learned over a thousand
 *                  rounds.
 *
 * The limit grows only while at least half of it is in use: otherwise the calls
 * do not show whether the limit is too low.  If a dropped call began before the
 * last decrease, then it does not decrease the limit again.
 *
 * The following holds for every function below unless its comment differs.
 *
 *   Threads   Every function may be called from any thread after init.
 *   Memory    No function allocates, and there is no destroy.  The semaphore
 *             belongs to the caller, who may use, close and destroy it as
 *             usual, but must not resize it.
 *   Orders    As in weir/sem.h.
 *   Signals   No function is async-signal-safe.
 *   Fork      As in weir/sem.h.
 *   Misuse    As in weir/sem.h.
 */
typedef enum weir_adaptive_kind {
	WEIR_AIMD = 0,
	WEIR_GRADIENT = 1
} weir_adaptive_kind;

/* The result of a call. */
typedef enum weir_call {
	WEIR_CALL_OK = 0,
	WEIR_CALL_DROPPED = 1,	/* overload: refused or timed out */
	WEIR_CALL_IGNORED = 2	/* failed for another reason */
} weir_call;

/* Options for weir_adaptive_init; zero means the default in every field. */
typedef struct weir_adaptive_opts {
	weir_adaptive_kind kind;
	uint32_t flags;		/* 0 */
	int64_t initial;	/* 0: 20, or the nearest of min .. max */
	int64_t min;		/* 0: 1 */
	int64_t max;		/* 0: 1000 */
	int64_t slow_ns;	/* a slower call counts as dropped; 0: none */
	int64_t queue;		/* GRADIENT: growth; 0: 4 */
	uint64_t reserved_[4];	/* zero, for later versions */
} weir_adaptive_opts;

typedef struct weir_adaptive {
	weir_sem *sem_;
	weir_adaptive_opts opts_;
	/* Under lock_: */
	double limit_;
	double long_ns_;		/* long-run latency; 0: none yet */
	double mean_ns_;		/* of all calls */
	int64_t applied_;		/* capacity of the semaphore */
	int64_t calls_, drops_;
	int64_t first_ns_, last_ns_;	/* end of the first and the last call */
	int64_t decreased_ns_;
	uint32_t lock_;
	uint32_t applying_;		/* a thread is resizing */
	uint32_t ready_;		/* src/pattern/ready.h */
	uint32_t unused_;
	uint64_t reserved_[3];		/* zero, for later versions */
} weir_adaptive;

/*
 * Set up *adaptive for sem and set its capacity to opts->initial.  Null options
 * are the defaults.  WEIR_EINVAL also if the semaphore is unbounded.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_adaptive_init(weir_adaptive *adaptive, weir_sem *sem,
		   const weir_adaptive_opts *opts);

/*
 * Acquire one permit, as weir_sem_acquire.  *began_ns is set to the current
 * time, for the release.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_adaptive_acquire(weir_adaptive *adaptive, struct weir_ctx *ctx,
		      int64_t *began_ns);

/* Record the result of the call and release the permit. */
WEIR_API void weir_adaptive_release(weir_adaptive *adaptive, int64_t began_ns,
				    weir_call call);

/*
 * Record the result of a call that began and ended at these times while
 * in_flight calls were running, and resize.  Programs that call
 * weir_sem_acquire and weir_sem_release themselves use this function.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_adaptive_learn(weir_adaptive *adaptive, int64_t began_ns, int64_t now_ns,
		    int64_t in_flight, weir_call call);

/*
 * Little's law.  Returns the number of concurrent calls, rounded up, if
 * per_second calls begin in a second and each takes latency_ns.
 */
WEIR_API int64_t weir_little(int64_t per_second, int64_t latency_ns);

typedef struct weir_adaptive_info {
	int64_t limit;
	int64_t calls, drops;	/* since init, without ignored calls */
	int64_t mean_ns;	/* latency of all calls */
	int64_t long_ns;	/* long-run latency, for GRADIENT */
	int64_t per_second;	/* calls, from the first to the last */
	int64_t advice;		/* weir_little(per_second, mean_ns) */
	uint64_t reserved_[4];
} weir_adaptive_info;

WEIR_API WEIR_MUST_USE weir_err
weir_adaptive_stat(weir_adaptive *adaptive, weir_adaptive_info *info);

WEIR_DECLS_END

#endif /* WEIR_ADAPTIVE_H */
