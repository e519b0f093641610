/* SPDX-License-Identifier: MIT */
#ifndef WEIR_SHARDED_H
#define WEIR_SHARDED_H

#include <stdbool.h>
#include <stdint.h>

#include "weir/base.h"
#include "weir/sem.h"

WEIR_DECLS_BEGIN

struct weir_ctx;	/* cancellation and deadlines, weir/ctx.h */

/*
 * weir_sharded: a limit of N permits for many CPUs.  Each CPU has a shard with
 * some free permits, so that an acquire and a release of one permit usually
 * write memory that no other CPU writes.  Never more than N permits are out.
 *
 *     err = weir_sharded_init(&calls, &(weir_sharded_opts){ .capacity = 512 });
 *
 *     err = weir_sharded_acquire(&calls, 1, ctx);
 *     ...
 *     weir_sharded_release(&calls, 1);
 *
 * Use it for limits that are rarely reached, on machines with many CPUs.  Do
 * not use it
 *
 *   - if the order of the waiters matters.  A sharded semaphore has no order of
 *     arrival: a call that waits may be overtaken.  When it has waited for
 *     barge_us microseconds, it is granted the next permits as by WEIR_BARGING
 *     (weir/sem.h); only releases that are in progress when it begins to wait
 *     may still pass it by.
 *   - if the limit is usually reached.  While a call waits, every acquire and
 *     release uses one central semaphore, and costs more than with a weir_sem.
 *   - if most requests are for more than one permit.  Each of them collects
 *     the permits of all shards.
 *
 * The following holds for every function below unless its comment differs.
 *
 *   Threads   Every function may be called from any thread between init and
 *             destroy.  A thread may release permits that another thread
 *             acquired.
 *   Memory    Init allocates one cache line for each shard, and two more.  No
 *             other function allocates.  A waiter lives on its caller's stack.
 *   Orders    An acquire happens after the releases of the permits that it
 *             takes.  This is weaker than weir_sem (C24): it need not happen
 *             after other earlier releases.  A call that returns WEIR_ECLOSED
 *             happens after the close.
 *   Signals   No function is async-signal-safe.  If a signal handler runs
 *             during a wait, then the wait continues.  No function is a
 *             thread-cancellation point.
 *   Fork      As in weir/sem.h.  If another thread was inside a call at the
 *             fork, then a call in the child may panic, and permits that the
 *             other call was moving between shards stay out.
 *   Counts    If a count is not in 0 .. WEIR_SEM_MAX, then the result is
 *             WEIR_EINVAL.
 *   Misuse    As in weir/sem.h.  If a sharded semaphore is null or zeroed, then
 *             the result is WEIR_EINVAL, or a panic where no error can be
 *             returned.  If more permits are released than are out, then the
 *             excess may lie in a shard undetected, and be acquired.  It is
 *             detected when more permits than the capacity reach the central
 *             semaphore: the call that moves them there panics, and removes
 *             the excess.  A call that waits, a resize, a close and a destroy
 *             move all permits there.
 */
typedef struct weir_sharded {
	struct weir_sharded_body_ *body_;
	const char *name_;
	uint32_t ready_;	/* src/pattern/ready.h */
	uint32_t watched_;	/* number of its record; 0: none */
	uint64_t reserved_[5];	/* zero, for later versions */
} weir_sharded;

#define WEIR_SHARDS_MAX 64u
#define WEIR_SHARDED_BATCH_MAX 65536u

/*
 * Options for weir_sharded_init; zero means the default in every field, except
 * that a capacity of 0 is 0.
 */
typedef struct weir_sharded_opts {
	int64_t capacity;	/* 0 .. WEIR_SEM_MAX, all free at the start */
	const char *name;	/* for messages; not copied; may be null.  A
				   sharded semaphore with a name is watched:
				   weir/diag.h */
	uint32_t max_waiters;	/* 0: no limit; beyond it WEIR_EBUSY */
	uint32_t barge_us;	/* 0: WEIR_BARGE_US */
	uint32_t shards;	/* a power of two, at most WEIR_SHARDS_MAX;
				   0: one for each CPU */
	uint32_t batch;		/* permits that a shard takes at a time, at most
				   WEIR_SHARDED_BATCH_MAX.  A shard keeps up to
				   twice as many.  0: capacity / (4 * shards),
				   at least 1 and at most 64 */
	uint32_t flags;		/* 0 */
	uint32_t unused_;	/* 0 */
	uint64_t reserved_[3];	/* zero, for later versions */
} weir_sharded_opts;

/*
 * Set up *s.  WEIR_ENOMEM: memory is exhausted.
 * Requires: no other thread can reach *s yet.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_sharded_init(weir_sharded *s, const weir_sharded_opts *opts);

/*
 * Retire *s and free its memory.  WEIR_EBUSY: a permit is out or a call waits;
 * nothing has changed.
 * Requires: no other call on *s is running or follows.  A release runs until it
 * returns, also if its permits have been acquired already (unlike
 * weir_sem_release).
 */
WEIR_API WEIR_MUST_USE weir_err weir_sharded_destroy(weir_sharded *s);

/*
 * Take n permits, waiting for them until ctx ends.  A null ctx never ends.  The
 * results are those of weir_sem_acquire, except WEIR_EINTR.  After an error
 * nothing is held.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_sharded_acquire(weir_sharded *s, int64_t n, struct weir_ctx *ctx);

/* Take n permits, with a deadline that limits the wait only. */
WEIR_API WEIR_MUST_USE weir_err
weir_sharded_acquire_until(weir_sharded *s, int64_t n, int64_t deadline_ns);

/*
 * Take n permits if that needs no waiting.  WEIR_EAGAIN: too few are free.
 * Permits that another call is moving between shards at this moment do not
 * count as free: unlike weir_sem_try_acquire (C5), this call may fail although
 * a permit is free.  If no other call is running, then it does not.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_sharded_try_acquire(weir_sharded *s, int64_t n);

/*
 * Return n permits.  Never waits.  When this returns, the waiters that these
 * permits fit have been granted them, as by weir_sem_release.
 * Requires: n permits are out.  "Misuse" above states what is detected.
 */
WEIR_API void weir_sharded_release(weir_sharded *s, int64_t n);

/*
 * Close permanently, as weir_sem_close.  An acquire that runs at the same time
 * may still succeed.
 */
WEIR_API void weir_sharded_close(weir_sharded *s, weir_close how);

/*
 * Set the capacity to n, as weir_sem_resize.  *debt (may be null) is set to the
 * permits that are out beyond n, and includes permits that another call is
 * moving between shards at this moment.  While there is a debt, every release
 * pays it first, and no shard has permits.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_sharded_resize(weir_sharded *s, int64_t n, int64_t *debt);

/*
 * If no other call is running, then capacity == free + held + granted - debt.
 * Otherwise permits that another call is moving between shards count as held,
 * and the numbers need not be of one instant.
 */
typedef struct weir_sharded_info {
	const char *name;		/* null if none was given */
	int64_t capacity;
	int64_t free;			/* in the shards and in the centre */
	int64_t held;
	int64_t granted;		/* to waiters not yet returned */
	int64_t debt;
	int64_t in_shards;		/* of the free permits */
	uint32_t shards;
	uint32_t waiters;
	bool closed;
	uint64_t reserved_[4];
} weir_sharded_info;

WEIR_API WEIR_MUST_USE weir_err
weir_sharded_stat(weir_sharded *s, weir_sharded_info *info);

WEIR_DECLS_END

#endif /* WEIR_SHARDED_H */
