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
 * weir_pool: a bounded number of resources that are costly to create, such as
 * connections.  Each is lent to one borrower at a time.
 *
 *     weir_pool_opts opts = { .max = 20, .create = dial, .destroy = hang_up,
 *                             .validate = is_alive, .user = &server };
 *     err = weir_pool_init(&pool, NULL, &opts);
 *
 *     err = weir_pool_borrow(&pool, __func__, ctx, &item);
 *     ... use item->resource ...
 *     weir_pool_give_back(&pool, item);       // or weir_pool_discard
 *
 * If a borrower finds no idle resource, then one is created, up to max.
 * Borrowers are served in order of arrival.  The resource that was used last is
 * lent first.  If a resource is broken, was idle too long or is too old, then
 * it is destroyed when it is about to be lent or is given back, and another one
 * is created in its place.  weir_pool_trim destroys idle resources that have
 * expired.
 *
 * Callbacks run on the thread whose call needs them, with no lock held, and
 * concurrently on different resources.  They may call the pool.  If a callback
 * borrows from its own pool, then it may wait for itself.  If an exception,
 * pthread_exit or pthread_cancel leaves a callback, then the call ends, and the
 * pool loses no place: create counts as failed, destroy as done, and a resource
 * that was being validated is idle again (if the pool has been closed: it is
 * destroyed).  A longjmp out of a callback is not allowed; the next borrow of
 * the thread panics.
 *
 * The following holds for every function below unless its comment differs.
 *
 *   Threads   Every function may be called from any thread between init and
 *             destroy.  A thread may give back a resource that another thread
 *             borrowed.
 *   Memory    The pool allocates nothing after init.  A waiter lives on its
 *             caller's stack.
 *   Orders    If a resource is given back and borrowed again, then the use
 *             before the give-back happens before the borrow.
 *   Signals   No function is async-signal-safe.  If a signal handler runs
 *             during a wait, then the wait continues.  No function is a
 *             thread-cancellation point, unless a callback is.
 *   Fork      As in weir/sem.h.  The child must not use borrowed resources.
 *   Misuse    As in weir/sem.h.  If an item is given back that is not lent,
 *             then the call panics.  If a borrower gives an item back twice,
 *             and it has been lent to another borrower in between, then that
 *             cannot be detected: the second call ends the other loan.
 */
typedef struct weir_pool_item {
	void *resource;			/* made by create; do not change */
	struct weir_ring_ place_;	/* in the idle or the empty list */
	int64_t made_ns_;
	int64_t since_ns_;		/* start of the idle time or the loan */
	const char *who_;
	uint64_t thread_;
	uint32_t state_;
	uint32_t filled_;		/* has a resource, during a callback;
					   while lent: its record */
} weir_pool_item;

/*
 * Create a resource.  *resource may be set to any value.  If the result is an
 * error, then nothing was created, and the borrower gets the error.
 * WEIR_EQUEUED, which is not an error of this function, becomes WEIR_EINVAL.
 * ctx is the context of the borrower (may be null); if it ends, then the
 * function should return.
 */
typedef weir_err weir_pool_create_fn(void *user, struct weir_ctx *ctx,
				     void **resource);
typedef void weir_pool_destroy_fn(void *user, void *resource);
/*
 * Returns true if the resource is still usable.  It is called before the
 * resource is lent again.
 */
typedef bool weir_pool_validate_fn(void *user, void *resource);

/*
 * Options for weir_pool_init; zero means the default, except that max, create
 * and destroy are required.
 */
typedef struct weir_pool_opts {
	int64_t max;			/* resources, 1 .. WEIR_POOL_MAX */
	weir_pool_create_fn *create;
	weir_pool_destroy_fn *destroy;
	weir_pool_validate_fn *validate;	/* null: all are usable */
	void *user;
	int64_t idle_ns;		/* longest idle time; 0: no limit */
	int64_t lifetime_ns;		/* longest lifetime; 0: no limit */
	const char *name;		/* for messages; not copied, or null */
	uint32_t max_waiters;		/* 0: no limit; beyond it WEIR_EBUSY */
	uint32_t flags;			/* 0 */
	uint64_t reserved_[4];		/* zero, for later versions */
} weir_pool_opts;

typedef struct weir_pool {
	weir_sem permits_;		/* one permit per resource */
	weir_pool_opts opts_;
	weir_pool_item *items_;
	/* Under lock_: */
	struct weir_ring_ *idle_;	/* longest idle first */
	struct weir_ring_ *empty_;	/* items without a resource */
	int64_t lent_, created_, destroyed_, failed_;
	uint32_t lock_, closed_;
	uint32_t owned_, ready_;
	uint64_t reserved_[4];		/* zero, for later versions */
} weir_pool;

#define WEIR_POOL_MAX (INT64_C(1) << 24)

/* The memory that the items need, in bytes. */
#define WEIR_POOL_BYTES(max) (WEIR_CAST_(size_t, max) * sizeof(weir_pool_item))

/*
 * Set up *pool, with no resource yet.  If memory is not null, then it points to
 * WEIR_POOL_BYTES(max) bytes, aligned to 8, for the items.  If it is null, then
 * the items are allocated on the heap.  WEIR_ENOMEM: memory is exhausted.
 * Requires: no other thread can reach *pool yet.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_pool_init(weir_pool *pool, void *memory, const weir_pool_opts *opts);

/*
 * Destroy the idle resources and retire *pool.
 * WEIR_EBUSY: a resource is lent, a thread or an operation (weir/pool_async.h)
 * waits for one, a thread is in weir_pool_wait_idle, or the callback of a
 * decided operation has not run.  Nothing has changed.
 * Requires: no other call on *pool is running or follows.
 */
WEIR_API WEIR_MUST_USE weir_err weir_pool_destroy(weir_pool *pool);

/*
 * Borrow a resource, waiting for one until ctx ends.  A null ctx never ends.
 * `who` names the borrower in weir_pool_loans, to find leaks; it is not copied
 * and may be null.  The errors are those of weir_sem_acquire and of create;
 * after an error nothing is borrowed.  If ctx ends while a resource is created,
 * then the resource is kept for other borrowers and the result is the error of
 * ctx.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_pool_borrow(weir_pool *pool, const char *who, struct weir_ctx *ctx,
		 weir_pool_item **item);

/* Borrow with a deadline, which limits the wait but not create. */
WEIR_API WEIR_MUST_USE weir_err
weir_pool_borrow_until(weir_pool *pool, const char *who, int64_t deadline_ns,
		       weir_pool_item **item);

/*
 * Borrow if that needs no waiting for another borrower; else WEIR_EAGAIN.  May
 * create.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_pool_try_borrow(weir_pool *pool, const char *who, weir_pool_item **item);

/* Give the resource back. */
WEIR_API void weir_pool_give_back(weir_pool *pool, weir_pool_item *item);

/* Give a broken resource back: it is destroyed, and the next one is created. */
WEIR_API void weir_pool_discard(weir_pool *pool, weir_pool_item *item);

/*
 * Destroy resources that have been idle too long or are too old; returns their
 * number.  The pool never does this by itself.
 */
WEIR_API int64_t weir_pool_trim(weir_pool *pool);

/*
 * Stop lending: every waiter and every later call gets WEIR_ECLOSED.  Idle
 * resources are destroyed now, lent ones when they are given back.  Closing
 * twice is harmless.
 */
WEIR_API void weir_pool_close(weir_pool *pool);

/*
 * Wait until every lent resource has been given back; after a close, until
 * every resource has been destroyed.  WEIR_ECANCELED, WEIR_ETIMEDOUT: ctx ended
 * first.  A close that is still running on another thread may have idle
 * resources to destroy: this call does not wait for them.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_pool_wait_idle(weir_pool *pool, struct weir_ctx *ctx);

/* One lent resource, to find leaks. */
typedef struct weir_pool_loan {
	void *resource;
	const char *who;
	uint64_t thread;	/* pthread_self() of the borrower */
	int64_t since_ns;	/* weir_now_ns() of the borrow */
	uint64_t reserved_[2];
} weir_pool_loan;

/* List up to max loans.  *n is set to the number of all loans. */
WEIR_API WEIR_MUST_USE weir_err
weir_pool_loans(weir_pool *pool, weir_pool_loan *loans, size_t max, size_t *n);

/* If no callback is running, then created - destroyed == idle + lent. */
typedef struct weir_pool_info {
	const char *name;
	int64_t max, idle, lent;
	int64_t created, destroyed, failed;	/* failed: calls of create */
	int64_t oldest_loan_ns;			/* its age; 0: none */
	uint32_t waiters;
	bool closed;
	uint64_t reserved_[4];
} weir_pool_info;

WEIR_API WEIR_MUST_USE weir_err
weir_pool_stat(weir_pool *pool, weir_pool_info *info);

/* A loan that ends with a block: WEIR_WITH_LOAN. */
struct weir_pool_scope_ {
	weir_pool *pool_;
	weir_pool_item **item_;	/* null: nothing was borrowed */
};

static inline void weir_pool_end_scope_(struct weir_pool_scope_ *scope)
{
	if (scope->item_ && *scope->item_)
		weir_pool_give_back(scope->pool_, *scope->item_);
}

/*
 * The block form borrows a resource, runs the statement and gives the resource
 * back on every path out of the statement (weir/permit.h says which).  item, an
 * lvalue of type weir_pool_item *, is the loan.  If the statement ends the loan
 * itself, with weir_pool_discard or by passing it on, then it sets item to null.
 * If the borrow fails, then the statement is skipped.  err, an lvalue of type
 * weir_err, is set to the result.  break and continue leave the statement, not
 * an enclosing loop.
 *
 *     WEIR_WITH_LOAN(err, item, &pool, __func__, ctx) {
 *             if (!query(item->resource)) {
 *                     weir_pool_discard(&pool, item);
 *                     item = NULL;
 *             }
 *     }
 */
#define WEIR_WITH_LOAN(err, item, pool, who, ctx)                              \
	WEIR_WITH_LOAN_(WEIR_AT_LINE_(weir_held_, __LINE__),                   \
			WEIR_AT_LINE_(weir_once_, __LINE__), err, item, pool,  \
			who, ctx)
#define WEIR_WITH_LOAN_(held, once, err, item, pool, who, ctx)                 \
	for (struct weir_pool_scope_                                           \
		     held WEIR_CLEANUP_(weir_pool_end_scope_) =                \
			     { (pool), WEIR_NULL_ },                           \
	     *once = ((err) = weir_pool_borrow(held.pool_, (who), (ctx),       \
					       &(item))) == WEIR_OK ?          \
			     (held.item_ = &(item), &held) : WEIR_NULL_;       \
	     once; once = WEIR_NULL_)

WEIR_DECLS_END

#endif /* WEIR_POOL_H */
