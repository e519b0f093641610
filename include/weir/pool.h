/* SPDX-License-Identifier: MIT */
#ifndef WEIR_POOL_H
#define WEIR_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/base.h"
#include "weir/sem.h"

WEIR_DECLS_BEGIN

struct weir_ctx;	/* cancellation and deadlines, weir/ctx.h */

/*
 * weir_pool: a bounded number of things that are costly to make (connections),
 * lent to one user at a time.
 *
 *     weir_pool_opts opts = { .max = 20, .create = dial, .destroy = hang_up,
 *                             .validate = is_alive, .user = &server };
 *     err = weir_pool_init(&pool, NULL, &opts);
 *
 *     err = weir_pool_borrow(&pool, __func__, ctx, &item);
 *     ... use item->resource ...
 *     weir_pool_give_back(&pool, item);       // or weir_pool_discard
 *
 * A resource is made when somebody wants one and none is idle, never more than
 * max.  Those that wait are served in the order they came.  The resource used last
 * is lent first.  One that is broken, idle too long or too old is destroyed and
 * another made in its place, when it is lent or comes back; weir_pool_trim looks
 * through the idle ones.
 *
 * Callbacks run on the thread whose call needs them, with no lock held, several at
 * a time on different resources.  They may call the pool, but one that borrows
 * from it may wait for itself.
 *
 * The following holds for every function below unless its comment differs.
 *
 *   Threads   Callable from any thread between init and destroy.  What one
 *             borrowed another may give back.
 *   Memory    Allocates nothing itself.  A waiter lives on its caller's stack.
 *   Orders    What was done with a resource before it was given back is seen by
 *             who borrows it next.
 *   Signals   Not async-signal-safe.  A signal during a wait is handled and the
 *             wait goes on.  No function is a thread-cancellation point, unless
 *             a callback is.
 *   Fork      As in weir/sem.h.  The child has no use for borrowed resources.
 *   Misuse    As in weir/sem.h.  Giving back what is not out panics.
 */
typedef struct weir_pool_item {
	void *resource;			/* what create made; do not change */
	struct weir_ring_ place_;	/* among the idle, or the empty */
	int64_t made_ns_;
	int64_t since_ns_;		/* idle or lent since then */
	const char *who_;
	uint64_t thread_;
	uint32_t state_;
	uint32_t filled_;		/* has a resource, while a call is at it */
} weir_pool_item;

/*
 * Make a resource: *resource may be anything but is told from nothing by the
 * result alone.  Any error is handed to the borrower, and nothing was made.  ctx
 * is the borrower's, to stop with (may be null).
 */
typedef weir_err weir_pool_create_fn(void *user, struct weir_ctx *ctx,
				     void **resource);
typedef void weir_pool_destroy_fn(void *user, void *resource);
/* Whether it can still be used; asked before it is lent again. */
typedef bool weir_pool_validate_fn(void *user, void *resource);

/* Zero means the default, except that max, create and destroy must be given. */
typedef struct weir_pool_opts {
	int64_t max;			/* resources, 1 .. WEIR_POOL_MAX */
	weir_pool_create_fn *create;
	weir_pool_destroy_fn *destroy;
	weir_pool_validate_fn *validate;	/* null: all are good */
	void *user;
	int64_t idle_ns;		/* 0: idle for as long as it likes */
	int64_t lifetime_ns;		/* 0: lives as long as it likes */
	const char *name;		/* for messages; not copied; may be null */
	uint32_t max_waiters;		/* 0: no limit; beyond it WEIR_EBUSY */
	uint32_t flags;			/* 0 */
	uint64_t reserved_[4];		/* zero, for later versions */
} weir_pool_opts;

typedef struct weir_pool {
	weir_sem permits_;		/* one for each that may be out */
	weir_pool_opts opts_;
	weir_pool_item *items_;
	/* Under lock_: */
	struct weir_ring_ *idle_;	/* longest idle first */
	struct weir_ring_ *empty_;	/* places without a resource */
	int64_t lent_, created_, destroyed_, failed_;
	uint32_t lock_, closed_;
	uint32_t owned_, ready_;
	uint64_t reserved_[4];		/* zero, for later versions */
} weir_pool;

#define WEIR_POOL_MAX (INT64_C(1) << 24)

/* How much memory the items take. */
#define WEIR_POOL_BYTES(max) ((size_t)(max) * sizeof(weir_pool_item))

/*
 * Set up *pool, with no resource yet.  Its items lie in `memory`,
 * WEIR_POOL_BYTES(max) bytes aligned to 8, or on the heap if it is null
 * (WEIR_ENOMEM).
 * Requires: no other thread can reach *pool yet.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_pool_init(weir_pool *pool, void *memory, const weir_pool_opts *opts);

/*
 * Destroy the idle resources and retire *pool.  WEIR_EBUSY, with nothing changed:
 * something is lent, or somebody waits, or an operation (weir/pool_async.h) has
 * not been told yet.
 * Requires: no other call on *pool is running or follows.
 */
WEIR_API WEIR_MUST_USE weir_err weir_pool_destroy(weir_pool *pool);

/*
 * Borrow a resource, waiting for one until ctx ends (null: never).  `who` is for
 * those who look for leaks: not copied, may be null.  Errors as of
 * weir_sem_acquire, and those of create: nothing is borrowed then.  If ctx ends
 * while a resource is made, that is kept for others and the error is ctx's.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_pool_borrow(weir_pool *pool, const char *who, struct weir_ctx *ctx,
		 weir_pool_item **item);

/* The same with a plain deadline, which does not limit create. */
WEIR_API WEIR_MUST_USE weir_err
weir_pool_borrow_until(weir_pool *pool, const char *who, int64_t deadline_ns,
		       weir_pool_item **item);

/* The same if none has to come back first; else WEIR_EAGAIN.  May create. */
WEIR_API WEIR_MUST_USE weir_err
weir_pool_try_borrow(weir_pool *pool, const char *who, weir_pool_item **item);

/* Give it back, for others to use. */
WEIR_API void weir_pool_give_back(weir_pool *pool, weir_pool_item *item);

/* Give it back broken: it is destroyed, and the next one made afresh. */
WEIR_API void weir_pool_discard(weir_pool *pool, weir_pool_item *item);

/*
 * Destroy what has been idle or has lived too long; returns how many.  No thread
 * does this by itself.
 */
WEIR_API int64_t weir_pool_trim(weir_pool *pool);

/*
 * Lend nothing any more: every waiter and every later call gets WEIR_ECLOSED.  Idle
 * resources are destroyed now, lent ones when they come back.  Twice is harmless.
 */
WEIR_API void weir_pool_close(weir_pool *pool);

/*
 * Wait until everything that was lent is back: after close, until all is
 * destroyed.  WEIR_ECANCELED, WEIR_ETIMEDOUT: ctx ended before.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_pool_wait_idle(weir_pool *pool, struct weir_ctx *ctx);

/* What is lent: to find leaks. */
typedef struct weir_pool_loan {
	void *resource;
	const char *who;
	uint64_t thread;	/* pthread_self() of the borrower */
	int64_t since_ns;	/* weir_now_ns() at the time */
	uint64_t reserved_[2];
} weir_pool_loan;

/*
 * Tell up to max loans; *n is how many there are all in all.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_pool_loans(weir_pool *pool, weir_pool_loan *loans, size_t max, size_t *n);

/* created - destroyed == idle + lent, but for callbacks that are running. */
typedef struct weir_pool_info {
	const char *name;
	int64_t max, idle, lent;
	int64_t created, destroyed, failed;	/* calls of create that ... */
	int64_t oldest_loan_ns;			/* lasts; 0: none */
	uint32_t waiters;
	bool closed;
	uint64_t reserved_[4];
} weir_pool_info;

WEIR_API WEIR_MUST_USE weir_err
weir_pool_stat(weir_pool *pool, weir_pool_info *info);

WEIR_DECLS_END

#endif /* WEIR_POOL_H */
