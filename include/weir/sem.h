/* SPDX-License-Identifier: MIT */
#ifndef WEIR_SEM_H
#define WEIR_SEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/base.h"

WEIR_DECLS_BEGIN

struct weir_ctx;	/* cancellation and deadlines, weir/ctx.h */

/*
 * weir_sem: a counting semaphore for the threads of one process.
 *
 * A semaphore has a capacity of N permits.  An acquire takes permits; it waits
 * until enough of them are free.  A release returns permits.  Any thread may
 * release permits that another thread acquired.  Permits are granted in order
 * of arrival: a request for few permits never overtakes an earlier request for
 * many.  weir(7) states the promises in full.
 *
 * A permit is "out" while a caller holds it, and while it is granted to a
 * waiter whose call has not returned.  A semaphore is bounded by default: it
 * refuses a release of more permits than are out.  An unbounded semaphore has
 * no capacity.  It may start at 0, and threads that never acquired may release
 * it: each release signals an event.
 *
 * The following holds for every function below unless its comment differs.
 *
 *   Threads   Every function may be called from any thread between init and
 *             destroy.
 *   Memory    No function allocates.  A waiter lives on its caller's stack.
 *   Orders    If an acquire succeeds after a release, then the release happens
 *             before it.  If a call fails, then it orders nothing, except that
 *             a call that returns WEIR_ECLOSED happens after the close.
 *   Signals   If a signal handler runs during a wait, then the wait continues
 *             (except with WEIR_SEM_INTERRUPTIBLE).  A signal handler may call
 *             weir_sem_release and weir_sem_try_release, also if it interrupted
 *             a call on the same semaphore.  One exception: if an operation
 *             that has a callback and no loop waits on the semaphore
 *             (weir/async.h), then a signal handler must not release it.  No
 *             other function is async-signal-safe.
 *             No function is a thread-cancellation point.
 *   Fork      The child holds no permits.  Permits that the parent holds stay
 *             out in the child's copy.  If a semaphore had waiters at the fork,
 *             or another thread held its lock, then the child must not use it;
 *             a call there panics, except that weir_sem_try_release returns
 *             WEIR_EINVAL.  If the lock was held, the panic comes after one
 *             second; a call whose deadline or context ends before that fails
 *             instead.
 *   Counts    If a count is not in 0 .. WEIR_SEM_MAX, then the result is
 *             WEIR_EINVAL.
 *   Misuse    If a "Requires" is broken, then the call panics (weir/base.h)
 *             when it detects that; otherwise the behaviour is undefined.  If a
 *             semaphore is null or misaligned, then the result is WEIR_EINVAL,
 *             or a panic where no error can be returned.
 */
typedef struct weir_sem {
	/* value (free permits minus debt) and door: src/core/sem_word.h */
	uint64_t word_ __attribute__((aligned(8)));
	int64_t capacity_;
	struct weir_ring_ *queue_;	/* oldest queued waiter */
	struct weir_ring_ *oversized_;	/* oldest oversized waiter */
	const char *name_;
	int64_t granted_;		/* granted, call not returned yet */
	uint32_t state_;		/* policy, closed, ...; barging bound */
	uint32_t waiters_;		/* in the queue */
	uint32_t max_waiters_;		/* 0: no limit */
	uint16_t resizes_;		/* number of changes of capacity_ */
	uint8_t cpu_;			/* of the last take, release; a hint */
	uint8_t forks_;			/* fork count of the last lock holder */
} weir_sem;

/* The most permits a semaphore can hold or a call can request: 2^60. */
#define WEIR_SEM_MAX (INT64_C(1) << 60)

/* The order in which free permits are granted. */
typedef enum weir_policy {
	/* Strictly in order of arrival.  The default. */
	WEIR_FIFO = 0,
	/*
	 * A new request may take free permits before queued waiters, for
	 * throughput.  If a waiter has waited longer than the starvation bound
	 * (barge_us), then it is granted the next permits directly and no
	 * request overtakes it: no waiter starves.  A waiter that was woken to
	 * retry blocks no other request until it runs.  If it then finds the
	 * permits taken and is past the bound, the next permits are granted to
	 * it.
	 */
	WEIR_BARGING = 1
} weir_policy;

/* Flags of weir_sem_opts. */
#define WEIR_SEM_UNBOUNDED 1u		/* no capacity; any thread releases */
#define WEIR_SEM_INTERRUPTIBLE 2u	/* if a signal handler runs that was
					   installed without SA_RESTART, then
					   the wait returns WEIR_EINTR; if the
					   wait has a deadline, or is BARGING
					   and within the bound, then any
					   handler ends it with WEIR_EINTR */
#define WEIR_SEM_TRACKED 4u		/* watched, also without a name:
					   weir/diag.h */
#define WEIR_SEM_UNWATCHED 8u		/* not watched, although it has a name */

/* The default starvation bound of WEIR_BARGING, and the longest. */
#define WEIR_BARGE_US 1000u
#define WEIR_BARGE_US_MAX 0xffffffu

/* Options for weir_sem_init_opts; zero means the default in every field. */
typedef struct weir_sem_opts {
	int64_t permits;	/* free at the start */
	int64_t capacity;	/* 0: the same as permits; ignored if unbounded.
				   More than permits: the rest starts as out.
				   Fewer: WEIR_EINVAL */
	const char *name;	/* for messages; not copied; may be null.  A
				   semaphore with a name is watched */
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
 * Zeroed memory is a bounded FIFO semaphore of capacity 0; weir_sem_resize
 * gives it a capacity.
 */
#define WEIR_SEM_INIT_(permits, capacity, state)                               \
	{ WEIR_CAST_(uint64_t, permits) << 2, WEIR_CAST_(int64_t, capacity),   \
	  WEIR_NULL_, WEIR_NULL_, WEIR_NULL_, 0, (state), 0, 0, 0, 0, 0 }
#define WEIR_SEM_INIT(permits) WEIR_SEM_INIT_(permits, permits, 0)
#define WEIR_SEM_INIT_BARGING(permits)                                         \
	WEIR_SEM_INIT_(permits, permits, 2u | WEIR_BARGE_US << 8)
#define WEIR_SEM_INIT_UNBOUNDED(permits) WEIR_SEM_INIT_(permits, WEIR_SEM_MAX, 1u)

/*
 * A static initialiser with options, which have the meaning of the fields of
 * weir_sem_opts:
 *
 *     static weir_sem slots = WEIR_SEM_INIT_OPTS(0, 8, "slots", WEIR_FIFO,
 *                                                WEIR_SEM_INTERRUPTIBLE);
 *
 * Requires: permits, capacity, policy and flags are constant expressions.  If
 * they are invalid, then the code does not compile.
 *
 * Such a semaphore is watched, if at all, from its first acquire on
 * (weir/diag.h).
 */
#define WEIR_SEM_INIT_OPTS(permits, capacity, name, policy, flags)             \
	{ (WEIR_CAST_(uint64_t, permits) << 2 |                                \
	   (WEIR_SEM_IS_WATCHED_(name, flags) ? 2u : 0u)) +                    \
		  WEIR_SEM_OPTS_OK_(permits, capacity, policy, flags),         \
	  (flags) & WEIR_SEM_UNBOUNDED ? WEIR_SEM_MAX :                        \
	  (capacity) ? WEIR_CAST_(int64_t, capacity) :                         \
		       WEIR_CAST_(int64_t, permits),                           \
	  WEIR_NULL_, WEIR_NULL_, (name), 0,                                   \
	  ((flags) & WEIR_SEM_UNBOUNDED ? 1u : 0u) |                           \
		  ((flags) & WEIR_SEM_INTERRUPTIBLE ? 16u : 0u) |              \
		  (WEIR_SEM_IS_WATCHED_(name, flags) ? 40u : 0u) |             \
		  ((policy) == WEIR_BARGING ? 2u | WEIR_BARGE_US << 8 : 0u),   \
	  0, 0, 0, 0, 0 }

#define WEIR_SEM_IS_WATCHED_(name, flags)                                      \
	(!((flags) & WEIR_SEM_UNWATCHED) &&                                    \
	 ((flags) & WEIR_SEM_TRACKED ||                                        \
	  WEIR_CAST_(const char *, name) != WEIR_NULL_))

/* 0, or an array of negative size if weir_sem_init_opts would fail. */
#define WEIR_SEM_OPTS_OK_(permits, capacity, policy, flags)                    \
	(0 * sizeof(char[(permits) >= 0 && (permits) <= WEIR_SEM_MAX &&        \
				 (capacity) >= 0 &&                            \
				 (capacity) <= WEIR_SEM_MAX &&                 \
				 ((flags) & WEIR_SEM_UNBOUNDED ||              \
				  !(capacity) || (capacity) >= (permits)) &&   \
				 ((policy) == WEIR_FIFO ||                     \
				  (policy) == WEIR_BARGING) &&                 \
				 !((flags) & ~15u) ? 1 : -1]))

/*
 * Set up *sem as a bounded FIFO semaphore with `permits` free permits.
 * Requires: no other thread can reach *sem yet.
 */
WEIR_API WEIR_MUST_USE weir_err weir_sem_init(weir_sem *sem, int64_t permits);

/* Set up *sem with options.  Requires: as weir_sem_init. */
WEIR_API WEIR_MUST_USE weir_err
weir_sem_init_opts(weir_sem *sem, const weir_sem_opts *opts);

/*
 * Retire *sem.  If the result is WEIR_OK, then its memory may be reused.
 * WEIR_EBUSY: a waiter is queued, is oversized or waits for idle, or was
 * granted permits and its call has not returned.  Nothing has changed.
 * Permits may be out: the last holder may destroy *sem instead of releasing it.
 * Requires: no other call on *sem is running or follows.  A release counts as
 * finished when its permits have been acquired: the thread that was granted
 * them may destroy and unmap *sem while the releasing thread is still in its
 * call.
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
 * The checks are made in this order: arguments, ctx, closed; then n == 0
 * succeeds without joining the queue.  If ctx has ended, then it wins over free
 * permits and over a concurrent grant.  If n > capacity and ctx is not null,
 * then the call waits outside the queue until ctx ends or the capacity grows to
 * n.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_sem_acquire(weir_sem *sem, int64_t n, struct weir_ctx *ctx);

/*
 * Take n permits, with a deadline instead of a ctx.  The deadline limits the
 * wait only: if enough permits are free, then they are taken even if the
 * deadline has passed; if a grant and the deadline coincide, then the grant
 * wins.  If no waiter is queued and enough permits are free, then no clock is
 * read (except by weir_sem_acquire_for on a semaphore that is closed in drain
 * mode, and by the first calls on one that is watched).  If the deadline has
 * passed, and the call finds too few free and no waiter queued, then it returns
 * WEIR_ETIMEDOUT without taking the lock.  The results are those of
 * weir_sem_acquire; WEIR_ETOOBIG if n > capacity.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_sem_acquire_until(weir_sem *sem, int64_t n, int64_t deadline_ns);
WEIR_API WEIR_MUST_USE weir_err
weir_sem_acquire_for(weir_sem *sem, int64_t n, int64_t timeout_ns);

/*
 * Take n permits if that needs no waiting.  WEIR_EAGAIN: too few are free, or a
 * waiter is queued (BARGING: a waiter past the bound).  This call never fails
 * spuriously.  WEIR_ECLOSED and WEIR_EINVAL are returned as by
 * weir_sem_acquire.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_sem_try_acquire(weir_sem *sem, int64_t n);

/*
 * Take n free permits, also before queued waiters: the policy of this call is
 * WEIR_BARGING, whatever the policy of the semaphore is.  Permits are free
 * while a waiter is queued if they are too few for the head of the queue.
 * WEIR_EAGAIN: too few are free.  If the semaphore is BARGING, then no waiter
 * past the starvation bound is overtaken, as by weir_sem_try_acquire.
 * WEIR_ECLOSED and WEIR_EINVAL are returned as by weir_sem_acquire.
 *
 * A FIFO semaphore has no starvation bound.  If this call is repeated without
 * end, then a waiter for many permits may starve.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_sem_try_acquire_barging(weir_sem *sem, int64_t n);

/*
 * Take as many permits as are free, at least min and at most max.  The call
 * waits in the queue until min permits are free.  *got is set to the number
 * taken.  If min is 0, then the call never waits.  The errors are those of
 * weir_sem_acquire, with *got 0; WEIR_EINVAL also if min > max.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_sem_acquire_upto(weir_sem *sem, int64_t min, int64_t max,
		      struct weir_ctx *ctx, int64_t *got);

/*
 * Take every permit that an acquire could take now without waiting.  *got is
 * set to the number taken.  It is 0 if no permit is free, or if a waiter is
 * queued (BARGING: a waiter past the bound).  WEIR_ECLOSED after
 * WEIR_CLOSE_NOW.
 */
WEIR_API WEIR_MUST_USE weir_err weir_sem_drain(weir_sem *sem, int64_t *got);

/*
 * Remove up to max free permits from an unbounded semaphore; a max of
 * WEIR_SEM_MAX resets it to 0.  The permits are removed also if a waiter for
 * more permits is queued, and also after a close.  *removed (may be null) is set
 * to their number.  WEIR_EINVAL if the semaphore is bounded: its permits are
 * removed by weir_sem_resize_by.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_sem_remove(weir_sem *sem, int64_t max, int64_t *removed);

/*
 * Return n permits and grant them to the waiters at the head of the queue.
 * The call never waits and never fails.  It leaves errno unchanged.  A signal
 * handler may make it: see "Signals" above.
 *
 * When this returns, every head of the queue that fits has been granted.  In
 * two cases the grants are made a moment later, but before any call that
 * follows: if another call holds the lock, then that call makes them before it
 * unlocks; if the only waiter spins, then it takes the permits itself.
 * (weir_sem_available may still count these permits.)
 *
 * Requires: n permits are out (bounded); at most WEIR_SEM_MAX permits are free
 * afterwards (unbounded).  If an over-release coincides with a resize or a
 * forget, then it may be detected only by that call or by the next resize or
 * forget.  That call removes the excess and panics, after it has taken effect.
 */
WEIR_API void weir_sem_release(weir_sem *sem, int64_t n);

/*
 * As weir_sem_release, but this call never panics.  It leaves errno unchanged
 * as well.  WEIR_EOVERFLOW: more permits than are out.  WEIR_EINVAL: any other
 * reason for which weir_sem_release panics: the semaphore is null, misaligned,
 * destroyed, or had waiters at the fork of this child; or the count is invalid.
 * Nothing has changed.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_sem_try_release(weir_sem *sem, int64_t n);

typedef enum weir_close {
	/*
	 * Every waiter and every later acquire gets WEIR_ECLOSED.  A waiter
	 * that a release before the close has granted permits keeps them.
	 */
	WEIR_CLOSE_NOW = 0,
	/*
	 * Acquires succeed while permits last, but none waits: a waiter or a
	 * later acquire that does not fit gets WEIR_ECLOSED.  The waiters that
	 * fit are granted in order, also behind a larger one that does not.
	 */
	WEIR_CLOSE_DRAIN = 1
} weir_close;

/*
 * Close permanently.  Permits that are out stay valid and are released as
 * usual; weir_sem_wait_idle waits for them.  Closing twice is harmless; if NOW
 * follows DRAIN, then NOW applies.
 */
WEIR_API void weir_sem_close(weir_sem *sem, weir_close how);

/*
 * Returns true if *sem was closed, in either mode.  If a thread has released
 * permits and then reads false, then its release came before the close: a
 * waiter that these permits fit was granted them and not refused.
 */
WEIR_API bool weir_sem_is_closed(const weir_sem *sem);

/*
 * Set the capacity to n, at once and without waiting.  If the capacity grows,
 * then waiters that fit are granted.  If it shrinks below the permits that are
 * out, then the difference is a debt, which releases pay first; *debt (may be
 * null) is set to it.  A queued request that exceeds the new capacity is
 * treated as weir_sem_acquire treats n > capacity.  An oversized request that
 * fits the new capacity joins the queue, also beyond max_waiters.  WEIR_EINVAL
 * if the semaphore is unbounded.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_sem_resize(weir_sem *sem, int64_t n, int64_t *debt);

/*
 * Change the capacity by `change`, which may be negative, in one step: if
 * several threads do this, then no change is lost.  In all else as
 * weir_sem_resize.  WEIR_EINVAL also if the new capacity would not be in
 * 0 .. WEIR_SEM_MAX; nothing has changed.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_sem_resize_by(weir_sem *sem, int64_t change, int64_t *debt);

/*
 * Remove n permits that are out, permanently: the caller no longer holds them,
 * and they are never granted again.  They pay a debt first; the rest lowers the
 * capacity.  WEIR_EOVERFLOW: fewer than n are out.  If the semaphore is
 * unbounded, then this does nothing.
 */
WEIR_API WEIR_MUST_USE weir_err weir_sem_forget(weir_sem *sem, int64_t n);

/*
 * Wait until no permit is out: none held, none granted.  This also works after
 * a close.  The errors of ctx and WEIR_EINTR are those of weir_sem_acquire;
 * WEIR_EINVAL if the semaphore is unbounded.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_sem_wait_idle(weir_sem *sem, struct weir_ctx *ctx);

/*
 * Returns the number of free permits.  The result is for display: it may be
 * outdated already.
 */
WEIR_API int64_t weir_sem_available(const weir_sem *sem);

/*
 * A consistent snapshot: capacity == free + held + granted - debt (if bounded).
 * weir_sem_stat usually takes no lock.  After a waiter has joined or left, the
 * next call takes it, and holds it for a time that grows with the number of
 * oversized waiters, and with that of all waiters if they want different numbers
 * of permits.  A call also takes the lock if the semaphore changes all the time, or
 * if it has no waiters and is closed, or watched and in debt.
 */
typedef struct weir_sem_info {
	const char *name;		/* null if none was given */
	int64_t capacity;		/* WEIR_SEM_MAX if unbounded */
	int64_t free;
	int64_t held;			/* 0 if unbounded: not known */
	int64_t granted;		/* to waiters not yet returned */
	int64_t debt;
	int64_t waiting_permits;	/* sum of queued weights, saturating */
	int64_t oldest_wait_ns;		/* of the head, as waited_ns below;
					   0: no waiter */
	uint32_t waiters;		/* in the queue */
	uint32_t oversized;		/* outside the queue, also for idle */
	weir_policy policy;
	bool unbounded;
	bool closed;
	uint64_t reserved_[4];
} weir_sem_info;

WEIR_API WEIR_MUST_USE weir_err
weir_sem_stat(weir_sem *sem, weir_sem_info *info);

/* The purpose of a wait, and the list that the waiter is on. */
typedef enum weir_waits {
	WEIR_WAITS_QUEUED = 0,	/* for permits, in the queue */
	WEIR_WAITS_OVERSIZED = 1, /* for permits, more than the capacity */
	WEIR_WAITS_IDLE = 2	/* for idle: weir_sem_wait_idle */
} weir_waits;

/* One waiter of a semaphore. */
typedef struct weir_sem_waiter {
	int64_t permits;	/* wanted; the minimum of acquire_upto */
	int64_t waited_ns;	/* of an operation: up to 1 ms and a tick of
				   the kernel (1 to 10 ms) too long */
	weir_waits waits;
	bool is_op;		/* an operation; false: a thread */
	const void *op;		/* the weir_op, if is_op and it is not part of
				   another operation (weir/multi.h); else null */
	struct weir_ctx *ctx;	/* null: none.  For comparison: it may have
				   been destroyed when the caller reads this */
	uint64_t reserved_[2];
} weir_sem_waiter;

/*
 * List the waiters in the order in which they will be granted, and behind them
 * the waiters that are not queued.  Up to max of them are stored in *list (may
 * be null if max is 0); *n is set to the number of all waiters.  The list is a
 * snapshot.  The cost, and the time for which the lock is held, grow with the
 * number of waiters.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_sem_waiters(weir_sem *sem, weir_sem_waiter *list, size_t max, size_t *n);

/*
 * A semaphore on the heap with a reference count, for permits that outlive the
 * scope in which it was made (weir/permit.h).  weir_sem_new creates a semaphore
 * with one reference; it returns null if memory is exhausted or the options are
 * invalid.  The last weir_sem_unref destroys the semaphore and frees it; if a
 * waiter exists, then the unref panics and the reference stays.  weir_sem_ref
 * returns sem.
 * As with weir_sem_destroy, permits may be out: the last holder may end the
 * semaphore instead of releasing it.  If a permit is released after the last
 * unref, then that is a use of freed memory, which cannot be detected; an owned
 * permit object (weir_permit_own) has a reference and prevents it.
 * If sem is not from weir_sem_new, then ref and unref panic, and ref returns
 * null.
 */
WEIR_API WEIR_MUST_USE weir_sem *weir_sem_new(const weir_sem_opts *opts);
WEIR_API weir_sem *weir_sem_ref(weir_sem *sem);
WEIR_API void weir_sem_unref(weir_sem *sem);

WEIR_DECLS_END

#ifdef WEIR_INLINE
#include "weir/inline.h"
#endif

#endif /* WEIR_SEM_H */
