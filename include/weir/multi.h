/* SPDX-License-Identifier: MIT */
#ifndef WEIR_MULTI_H
#define WEIR_MULTI_H

#include <stddef.h>
#include <stdint.h>

#include "weir/async.h"
#include "weir/base.h"
#include "weir/sem.h"

WEIR_DECLS_BEGIN

struct weir_ctx;	/* weir/ctx.h */
struct weir_loop;	/* weir/loop.h */

/*
 * Acquire from several semaphores: from all of them, or from any one.
 *
 *     weir_req need[] = { { &memory, 512 }, { &cpus, 2 } };
 *     err = weir_acquire_all(need, 2, ctx);
 *     ...
 *     weir_release_all(need, 2);
 *
 * weir/sem.h and weir/async.h apply.  The requests are read, not written, and
 * must not change until the call or the operation has ended.
 */
typedef struct weir_req {
	weir_sem *sem;
	int64_t n;
} weir_req;

/*
 * Take the permits of all requests or of none, waiting until ctx ends.  A null
 * ctx never ends.  Requests for one semaphore are added.  The errors are those
 * of weir_sem_acquire; WEIR_EINVAL also if a sum is too large.
 *
 * The semaphores are acquired one by one in the order of their addresses, each
 * in the order of its own queue.  A call that waits for a semaphore holds only
 * semaphores with lower addresses.  No cycle of waits is possible: two calls of
 * weir_acquire_all never deadlock, in whatever order they list the semaphores.
 * (A deadlock is possible with a thread that acquires single semaphores in
 * another order.)
 */
WEIR_API WEIR_MUST_USE weir_err
weir_acquire_all(const weir_req *reqs, size_t k, struct weir_ctx *ctx);

/* Release every request, in the reverse order. */
WEIR_API void weir_release_all(const weir_req *reqs, size_t k);

/*
 * Take the permits of exactly one request, reqs[*which].  The other semaphores
 * are as they would be without this call.  The call waits in all queues at
 * once, until ctx ends.  If several requests fit, then successive calls begin
 * with different requests, so that a request which always fits does not keep
 * the others unused.
 *
 * A semaphore that is closed, whose queue is full or whose capacity is too
 * small is skipped while others are left.  If all are skipped, then the result
 * is the error of the first request, reqs[0].  k is 1 .. WEIR_ANY_MAX.
 *
 * If a signal handler runs during the wait, then the wait continues, also if a
 * semaphore has WEIR_SEM_INTERRUPTIBLE.
 */
#define WEIR_ANY_MAX 16
WEIR_API WEIR_MUST_USE weir_err
weir_acquire_any(const weir_req *reqs, size_t k, struct weir_ctx *ctx,
		 size_t *which);

/*
 * The permits of one weir_acquire_all, released at the end of a block:
 *
 *     WEIR_SCOPED_SET weir_set held = WEIR_SET_INIT;
 *     err = weir_set_acquire(&held, need, 2, ctx);
 *
 * If a set is empty, then releasing it does nothing: a second release, or a
 * release after a failed acquire, is harmless.  If a set is not empty, then
 * weir_set_acquire returns WEIR_EINVAL.
 */
typedef struct weir_set {
	const weir_req *reqs_;	/* null: holds nothing */
	size_t k_;
} weir_set;

#define WEIR_SET_INIT { WEIR_NULL_, 0 }
#define WEIR_SCOPED_SET __attribute__((cleanup(weir_set_release)))

WEIR_API WEIR_MUST_USE weir_err
weir_set_acquire(weir_set *set, const weir_req *reqs, size_t k,
		 struct weir_ctx *ctx);
WEIR_API void weir_set_release(weir_set *set);

/*
 * The asynchronous form of weir_acquire_all, as weir_op (weir/async.h) for one
 * semaphore.  submit returns WEIR_OK, WEIR_EQUEUED or an error.  If it returns
 * WEIR_EQUEUED, then the callback runs once, unless cancel returns WEIR_OK.
 * Callbacks run where the callbacks of operations run.  fn must not be null.
 * The time of a cancel is proportional to k.  An operation that is submitted must
 * not be initialised.
 */
typedef struct weir_all weir_all;
typedef void weir_all_fn(weir_all *all, weir_err err, void *user);

struct weir_all {
	weir_op op_;
	const weir_req *reqs_;
	size_t k_;
	struct weir_ctx *ctx_;
	weir_all_fn *fn_;
	void *user_;
	weir_sem *acquiring_;	/* semaphores below this one are held */
	uint32_t lock_;
	uint32_t state_;
	uint64_t site_;		/* of the submit */
	uint64_t holder_;	/* the thread that has acquired them */
	uint64_t reserved_[2];
};

WEIR_API void weir_all_init(weir_all *all, struct weir_loop *loop,
			    weir_all_fn *fn, void *user);
WEIR_API WEIR_MUST_USE weir_err
weir_all_submit(weir_all *all, const weir_req *reqs, size_t k,
		struct weir_ctx *ctx);
WEIR_API WEIR_MUST_USE weir_err weir_all_cancel(weir_all *all);

/*
 * The asynchronous form of weir_acquire_any.  k has no limit: `places` is room
 * for k operations in the caller's memory, used until the operation has ended.
 * Until then no other operation may use it.
 * If err is not WEIR_OK, then `which` is meaningless.
 */
typedef struct weir_any weir_any;
typedef void weir_any_fn(weir_any *any, weir_err err, size_t which, void *user);

struct weir_any {
	weir_op head_;		/* has the callback and the deadline */
	weir_op end_;		/* member of the context's list */
	weir_op *places_;
	size_t k_;
	weir_any_fn *fn_;
	void *user_;
	uint32_t winner_;	/* index of the winner plus 1, or a reason */
	uint32_t left_;		/* open events: submitted, decided */
	uint32_t open_;		/* members that were not refused */
	uint32_t context_;	/* its record: weir/diag.h; 0: none */
	uint64_t reserved_[4];
};

WEIR_API void weir_any_init(weir_any *any, struct weir_loop *loop,
			    weir_any_fn *fn, void *user);
WEIR_API WEIR_MUST_USE weir_err
weir_any_submit(weir_any *any, const weir_req *reqs, weir_op *places, size_t k,
		struct weir_ctx *ctx, size_t *which);
WEIR_API WEIR_MUST_USE weir_err weir_any_cancel(weir_any *any);

WEIR_DECLS_END

#endif /* WEIR_MULTI_H */
