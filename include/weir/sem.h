/* SPDX-License-Identifier: MIT */
#ifndef WEIR_SEM_H
#define WEIR_SEM_H

#include <stdbool.h>
#include <stdint.h>

#include "weir/base.h"

WEIR_DECLS_BEGIN

struct weir_ctx;	/* cancellation and deadlines, weir/ctx.h */

/*
 * weir_sem: a counting semaphore for the threads of one process.
 *
 * It has a capacity of N permits.  An acquire takes permits, waiting until
 * enough are free; a release gives them back.  Any thread may release what
 * another acquired.  Waiters are served in the order they arrived: a request
 * for many permits is never passed by a later request for few.  weir(7) holds
 * the promises in full.
 *
 * A semaphore is bounded unless made otherwise: it knows how many permits are
 * out and refuses to take back more.  An unbounded one is a signal: it may
 * start at 0 and be released by those who never acquired.
 *
 * The following holds for every function below unless its comment differs.
 *
 *   Threads   Callable from any thread between init and destroy.
 *   Memory    Allocates nothing.  A waiter lives on its caller's stack.
 *   Orders    A release happens before every acquire that succeeds after it.
 *             A call that fails orders nothing, except that WEIR_ECLOSED
 *             happens after the close that caused it.
 *   Signals   Not async-signal-safe; weir_sem_release and weir_sem_try_release
 *             are.  A signal during a wait is handled and the wait goes on.
 *             No function is a thread-cancellation point.
 *   Fork      The child holds no permits; what the parent holds stays out in
 *             its copy.  A semaphore that had waiters at the fork, or that
 *             another thread had locked for a moment, must not be used in the
 *             child; doing so panics (if it was locked, after ten seconds).
 *   Counts    Permits are 0 .. WEIR_SEM_MAX; others are WEIR_EINVAL.
 *   Misuse    Breaking a "Requires" goes to the panic hook (weir/base.h) when
 *             it is noticed, and is undefined when it is not.  A null or
 *             misaligned semaphore is WEIR_EINVAL, or a panic where no error
 *             can be returned.
 */
typedef struct weir_sem {
	/* Free permits less debt, and the door: src/core/sem_word.h. */
	uint64_t word_ __attribute__((aligned(8)));
	int64_t capacity_;
	struct weir_ring_ *queue_;	/* oldest waiter */
	struct weir_ring_ *oversized_;	/* oldest of those outside the queue */
	const char *name_;
	int64_t granted_;		/* handed over, call not returned yet */
	uint32_t state_;		/* policy, closed, ...; barging bound */
	uint32_t waiters_;		/* in the queue */
	uint32_t max_waiters_;		/* 0: no limit */
	uint16_t resizes_;		/* counts changes of capacity_ */
	uint8_t cpu_;			/* of the last take and release; a hint */
	uint8_t forks_;			/* which process last took the lock */
} weir_sem;

/* The most permits a semaphore can hold or a call can ask for: 2^60. */
#define WEIR_SEM_MAX (INT64_C(1) << 60)

/* How free permits are shared out. */
typedef enum weir_policy {
	/* Strictly in order of arrival.  The default. */
	WEIR_FIFO = 0,
	/*
	 * A newcomer may take free permits ahead of the queue, for throughput.
	 * A waiter that has waited longer than the bound (barge_us) is handed
	 * the next permits directly and nobody passes it, so none starves.  (A
	 * waiter that has been woken holds nobody up until it runs; if it finds
	 * the permits gone and is past the bound, the next are its own.)
	 */
	WEIR_BARGING = 1
} weir_policy;

/* Flags of weir_sem_opts. */
#define WEIR_SEM_UNBOUNDED 1u		/* a signal: no capacity, free release */
#define WEIR_SEM_INTERRUPTIBLE 2u	/* a signal handler that was installed
					   without SA_RESTART ends a wait, and
					   one with a deadline, or of BARGING
					   and not past the bound, any handler:
					   WEIR_EINTR */
#define WEIR_SEM_TRACKED 4u		/* every acquire and release takes the lock,
					   for diagnostics to see; slower, and
					   there are none in this version */

/* The default bound of WEIR_BARGING, and the longest. */
#define WEIR_BARGE_US 1000u
#define WEIR_BARGE_US_MAX 0xffffffu

/* Options for weir_sem_init_opts; zero means the default throughout. */
typedef struct weir_sem_opts {
	int64_t permits;	/* free at the start */
	int64_t capacity;	/* 0: the same as permits; unused if unbounded.
				   More than permits: the rest count as out.
				   Fewer: WEIR_EINVAL */
	const char *name;	/* for messages; not copied; may be null */
	weir_policy policy;
	uint32_t max_waiters;	/* 0: no limit */
	uint32_t barge_us;	/* 0: WEIR_BARGE_US */
	uint32_t flags;
	uint64_t reserved_[3];	/* zero, for later versions */
} weir_sem_opts;

/*
 * Static initialisers, for permits in 0 .. WEIR_SEM_MAX:
 *
 *     static weir_sem files = WEIR_SEM_INIT(64);
 *     static weir_sem ready = WEIR_SEM_INIT_UNBOUNDED(0);
 *
 * Zeroed memory is a bounded semaphore of capacity 0; weir_sem_resize brings
 * it to life.
 */
#define WEIR_SEM_INIT_(permits, capacity, state)                               \
	{ (uint64_t)(permits) << 2, (int64_t)(capacity), 0, 0, 0, 0, (state), 0, 0, 0, 0, 0 }
#define WEIR_SEM_INIT(permits) WEIR_SEM_INIT_(permits, permits, 0)
#define WEIR_SEM_INIT_BARGING(permits)                                         \
	WEIR_SEM_INIT_(permits, permits, 2u | WEIR_BARGE_US << 8)
#define WEIR_SEM_INIT_UNBOUNDED(permits) WEIR_SEM_INIT_(permits, WEIR_SEM_MAX, 1u)

/*
 * Set up *sem as a bounded FIFO semaphore with `permits` free permits.
 * Requires: no other thread can reach *sem yet.
 */
WEIR_API WEIR_MUST_USE weir_err weir_sem_init(weir_sem *sem, int64_t permits);

/* The same with options. */
WEIR_API WEIR_MUST_USE weir_err
weir_sem_init_opts(weir_sem *sem, const weir_sem_opts *opts);

/*
 * Retire *sem; its memory may be reused when this returns WEIR_OK.
 * WEIR_EBUSY: somebody waits, in the queue, outside it or for idleness, or has
 * been granted permits and not returned yet.
 * Requires: no other call on *sem is running or follows.  A release counts as
 * finished once somebody has acquired what it returned, so whoever was granted
 * the permits may destroy (and unmap) without waiting for the releaser.
 */
WEIR_API WEIR_MUST_USE weir_err weir_sem_destroy(weir_sem *sem);

/*
 * Take n permits, waiting for them until ctx ends.  A null ctx never ends.
 *
 *   WEIR_OK         The caller holds n permits.
 *   WEIR_ECANCELED  ctx was cancelled.              \
 *   WEIR_ETIMEDOUT  ctx passed its deadline.         |
 *   WEIR_ECLOSED    The semaphore is closed.         | Nothing is held and the
 *   WEIR_ETOOBIG    n > capacity and ctx is null.    | queue is as it would be
 *   WEIR_EBUSY      max_waiters already wait.        | without this call.
 *   WEIR_EINTR      A signal (only if INTERRUPTIBLE). |
 *   WEIR_EINVAL     n is negative or too large.     /
 *
 * They are checked in this order: arguments, ctx, closed; then n == 0 succeeds
 * without joining the queue.  A ctx that has ended wins over permits that are
 * free, and over a grant that meets it.  n > capacity with a ctx waits outside
 * the queue for ctx alone, or for the capacity to grow to n.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_sem_acquire(weir_sem *sem, int64_t n, struct weir_ctx *ctx);

/*
 * The same with a plain deadline instead of a ctx.  The deadline limits waiting
 * only: free permits are taken even if it has passed, and a grant that meets the
 * deadline wins.  No clock is read if nobody waits and enough are free (except by
 * weir_sem_acquire_for on one that is TRACKED or drains).
 */
WEIR_API WEIR_MUST_USE weir_err
weir_sem_acquire_until(weir_sem *sem, int64_t n, int64_t deadline_ns);
WEIR_API WEIR_MUST_USE weir_err
weir_sem_acquire_for(weir_sem *sem, int64_t n, int64_t timeout_ns);

/*
 * Take n permits if that needs no waiting.  WEIR_EAGAIN when too few are free or
 * somebody is already in the queue (BARGING: somebody past the bound);
 * WEIR_ECLOSED; never spurious.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_sem_try_acquire(weir_sem *sem, int64_t n);

/*
 * Take as many as are free, at least min and at most max, waiting in the queue
 * for min; *got tells how many.  min 0 never waits.  Errors as for
 * weir_sem_acquire, and *got is 0; min > max is WEIR_EINVAL.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_sem_acquire_upto(weir_sem *sem, int64_t min, int64_t max,
		      struct weir_ctx *ctx, int64_t *got);

/*
 * Take every permit that an acquire could take now without waiting; *got tells
 * how many, also 0: then nothing was free, or others wait for it (BARGING: past
 * the bound).  WEIR_ECLOSED after WEIR_CLOSE_NOW.
 */
WEIR_API WEIR_MUST_USE weir_err weir_sem_drain(weir_sem *sem, int64_t *got);

/*
 * Give n permits back and hand them to whoever waits first.  Never waits, never
 * fails, async-signal-safe.  Every head of the queue that now fits has been
 * granted when this returns; or, if another call was at work on the queue at
 * that moment, or the only waiter is awake and takes for itself, a moment
 * later, and before any call that follows (weir_sem_available may still count them).
 * Requires: n are out (bounded), or at most WEIR_SEM_MAX are free afterwards
 * (unbounded).  One release too many that meets a resize or a forget may be
 * noticed only there, or by the next of them: that call then takes the excess
 * out again, panics, and has done its own work all the same.
 */
WEIR_API void weir_sem_release(weir_sem *sem, int64_t n);

/* The same, but answers WEIR_EOVERFLOW or WEIR_EINVAL where that panics. */
WEIR_API WEIR_MUST_USE weir_err
weir_sem_try_release(weir_sem *sem, int64_t n);

typedef enum weir_close {
	/* Every waiter and every later acquire gets WEIR_ECLOSED. */
	WEIR_CLOSE_NOW = 0,
	/*
	 * Acquires go on succeeding while permits last, but none waits: a
	 * waiter or a later acquire that does not fit gets WEIR_ECLOSED.  What
	 * fits is granted in order, also behind a larger one that does not.
	 */
	WEIR_CLOSE_DRAIN = 1
} weir_close;

/*
 * Close for good.  Permits already out stay valid and are released as usual;
 * weir_sem_wait_idle waits for them.  Closing twice is harmless; NOW after
 * DRAIN is NOW.
 */
WEIR_API void weir_sem_close(weir_sem *sem, weir_close how);

/* Whether it was closed, in either way. */
WEIR_API bool weir_sem_is_closed(const weir_sem *sem);

/*
 * Make the capacity n, at once and without waiting.  Growth grants.  A shrink
 * below what is out becomes a debt that releases pay first; *debt (may be null)
 * tells it.  A queued request that no longer fits the capacity is treated as
 * weir_sem_acquire treats n > capacity; one that growth lets into the queue
 * joins it even beyond max_waiters.  WEIR_EINVAL on an unbounded semaphore.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_sem_resize(weir_sem *sem, int64_t n, int64_t *debt);

/*
 * Remove n permits that are out, for good: the caller no longer holds them and
 * nobody will.  They pay a shrink's debt first; the rest lowers the capacity.
 * WEIR_EOVERFLOW when fewer are out.  On an unbounded semaphore there is
 * nothing to remove them from and this does nothing.
 */
WEIR_API WEIR_MUST_USE weir_err weir_sem_forget(weir_sem *sem, int64_t n);

/*
 * Wait until no permit is out: nothing held, nothing granted.  Also after a
 * close.  Errors of ctx and WEIR_EINTR as for weir_sem_acquire; WEIR_EINVAL if
 * unbounded.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_sem_wait_idle(weir_sem *sem, struct weir_ctx *ctx);

/* Free permits at this moment.  For display: it may have changed already. */
WEIR_API int64_t weir_sem_available(const weir_sem *sem);

/*
 * One consistent picture: capacity == free + held + granted - debt (bounded).
 * The cost grows with the number of waiters.
 */
typedef struct weir_sem_info {
	const char *name;		/* null if none was given */
	int64_t capacity;		/* WEIR_SEM_MAX if unbounded */
	int64_t free;
	int64_t held;			/* 0 if unbounded: nobody knows */
	int64_t granted;		/* handed to waiters not yet returned */
	int64_t debt;
	int64_t waiting_permits;	/* what the queue asks for, saturating */
	int64_t oldest_wait_ns;		/* how long the head has waited; 0: none */
	uint32_t waiters;		/* in the queue */
	uint32_t oversized;			/* outside: impossible now, or for idle */
	weir_policy policy;
	bool unbounded;
	bool closed;
	uint64_t reserved_[4];
} weir_sem_info;

WEIR_API WEIR_MUST_USE weir_err
weir_sem_stat(weir_sem *sem, weir_sem_info *info);

/*
 * A semaphore on the heap with a reference count, for permits that outlive the
 * scope that made it (weir/permit.h).  weir_sem_new makes one with one
 * reference; null: out of memory, or invalid options.  The last weir_sem_unref
 * destroys it, and panics if somebody waits.  weir_sem_ref returns sem.  Both
 * panic on a semaphore that is not from weir_sem_new, and ref then returns
 * null.  Memory: new allocates, the last unref frees.
 */
WEIR_API WEIR_MUST_USE weir_sem *weir_sem_new(const weir_sem_opts *opts);
WEIR_API weir_sem *weir_sem_ref(weir_sem *sem);
WEIR_API void weir_sem_unref(weir_sem *sem);

WEIR_DECLS_END

#ifdef WEIR_INLINE
#include "weir/inline.h"
#endif

#endif /* WEIR_SEM_H */
