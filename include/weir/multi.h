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
 * Several semaphores at once: all of them, or any one.
 *
 *     weir_req need[] = { { &memory, 512 }, { &cpus, 2 } };
 *     err = weir_acquire_all(need, 2, ctx);
 *     ...
 *     weir_release_all(need, 2);
 *
 * What holds in weir/sem.h and weir/async.h holds here.  Requests are read, not
 * written, and must stay as they are until the call, or the operation, is over.
 */
typedef struct weir_req {
	weir_sem *sem;
	int64_t n;
} weir_req;

/*
 * Take every request or none, waiting until ctx ends (null: never).  Requests
 * for one semaphore are added up.  Errors as for weir_sem_acquire; also
 * WEIR_EINVAL if a sum is too large.
 *
 * What is held while waiting: semaphores are acquired one after the other, in the
 * order of their addresses, each in the order of its own queue.  So one that waits
 * for a semaphore holds only semaphores with lower addresses, and whoever holds
 * what it waits for waits, if at all, for a higher one: there is no circle, and two
 * acquire_all never deadlock whatever order they are written in.  (With a
 * thread that acquires single semaphores in another order they can.)
 */
WEIR_API WEIR_MUST_USE weir_err
weir_acquire_all(const weir_req *reqs, size_t k, struct weir_ctx *ctx);

/* Release every request, in the opposite order. */
WEIR_API void weir_release_all(const weir_req *reqs, size_t k);

/*
 * Take exactly one of the requests; reqs[*which] is it.  The others are as if
 * never asked.  Waits in all the queues at once, until ctx ends.  Where several
 * are free, calls take turns at which they look at first, so that a request
 * which is always free does not keep the rest unused.
 *
 * A semaphore that is closed, or has no place in its queue, or too small a
 * capacity, is passed over while others are left; when none is, the error is the
 * first one's.  k is 1 to WEIR_ANY_MAX.
 */
#define WEIR_ANY_MAX 16
WEIR_API WEIR_MUST_USE weir_err
weir_acquire_any(const weir_req *reqs, size_t k, struct weir_ctx *ctx,
		 size_t *which);

/*
 * What an acquire_all got, released at the end of its block:
 *
 *     WEIR_SCOPED_SET weir_set held = WEIR_SET_INIT;
 *     err = weir_set_acquire(&held, need, 2, ctx);
 *
 * Releasing it twice, or after a failed acquire, does nothing.  WEIR_EINVAL from
 * acquire also when the set is not empty.
 */
typedef struct weir_set {
	const weir_req *reqs_;	/* null: holds nothing */
	size_t k_;
} weir_set;

#define WEIR_SET_INIT { 0, 0 }
#define WEIR_SCOPED_SET __attribute__((cleanup(weir_set_release)))

WEIR_API WEIR_MUST_USE weir_err
weir_set_acquire(weir_set *set, const weir_req *reqs, size_t k,
		 struct weir_ctx *ctx);
WEIR_API void weir_set_release(weir_set *set);

/*
 * The same without standing still, as weir_op for one semaphore: submit answers
 * WEIR_OK, WEIR_EQUEUED or an error; the callback runs once, unless cancel
 * answers WEIR_OK.  Callbacks run where those of operations do.  Cancel takes time
 * in proportion to k.
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
	weir_sem *acquiring_;	/* those below it are held */
	uint32_t lock_;
	uint32_t state_;
	uint64_t reserved_[4];
};

WEIR_API void weir_all_init(weir_all *all, struct weir_loop *loop,
			    weir_all_fn *fn, void *user);
WEIR_API WEIR_MUST_USE weir_err
weir_all_submit(weir_all *all, const weir_req *reqs, size_t k,
		struct weir_ctx *ctx);
WEIR_API WEIR_MUST_USE weir_err weir_all_cancel(weir_all *all);

/*
 * Any one of k, which has no limit here: `places` is room for k operations, the
 * caller's as *any is.  On an error `which` means nothing.
 */
typedef struct weir_any weir_any;
typedef void weir_any_fn(weir_any *any, weir_err err, size_t which, void *user);

struct weir_any {
	weir_op head_;		/* what is run, and watches the clock */
	weir_op end_;		/* what the context knows of */
	weir_op *places_;
	size_t k_;
	weir_any_fn *fn_;
	void *user_;
	uint32_t winner_;	/* which, plus 1; or why none */
	uint32_t left_;		/* events until it is over */
	uint32_t open_;		/* places not refused */
	int32_t first_err_;
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
