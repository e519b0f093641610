/* SPDX-License-Identifier: MIT */
#ifndef WEIR_HEAP_H
#define WEIR_HEAP_H

#include <stddef.h>
#include <stdint.h>

#include "weir/adaptive.h"
#include "weir/async.h"
#include "weir/base.h"
#include "weir/breaker.h"
#include "weir/chan.h"
#include "weir/chan_async.h"
#include "weir/ctx.h"
#include "weir/group.h"
#include "weir/limits.h"
#include "weir/loop.h"
#include "weir/multi.h"
#include "weir/permit.h"
#include "weir/pool.h"
#include "weir/pool_async.h"
#include "weir/rate.h"
#include "weir/rwlock.h"
#include "weir/sem.h"
#include "weir/sharded.h"

WEIR_DECLS_BEGIN

/*
 * Every object on the heap, for bindings of other languages: a caller of these
 * functions needs neither the size nor the layout of an object.  weir/sem.h has
 * weir_sem_new, weir/named.h has weir_named_open, and weir/cluster.h has
 * weir_cluster_open and weir_cluster_op_new.  A weir_spin has no functions in
 * the library.  A weir_set is not needed: weir_acquire_all and weir_release_all
 * work without it.
 *
 *     weir_ctx *ctx;
 *     err = weir_ctx_new(NULL, WEIR_FOREVER, &ctx);
 *     ...
 *     err = weir_ctx_free(ctx);
 *
 * A new allocates an object and sets it up with the init of that object; the
 * arguments are those of the init.  *out is set to the object, or to null after
 * an error: WEIR_ENOMEM, or an error of the init.
 *
 * A free retires the object and frees its memory.  If the object has a destroy
 * and it fails, then the free returns its error, for instance WEIR_EBUSY, and
 * the object is as before.  A free of null does nothing and returns WEIR_OK.
 *
 *   operations    If the operation is submitted, then the free cancels it: its
 *                 callback does not run, unless it has begun.  If it has begun
 *                 on another thread, then it must not use the operation.
 *                 weir_pool_op_free returns WEIR_EBUSY while a resource is
 *                 being selected or created for the operation: free it in its
 *                 callback, or later.
 *   permits       The free releases the permits.
 *
 * The following holds for every function below.
 *
 *   Threads   As the init and the destroy of the object.
 *   Memory    A new allocates, a free frees.
 *   Orders    As the init and the destroy of the object.
 *   Signals   No function is async-signal-safe or a thread-cancellation point.
 *   Fork      As for the object.  If the child may destroy its copy of the
 *             object, then it may free it.
 *   Misuse    As in weir/sem.h.  An object that is not from its new must not be
 *             freed; this is not detected.
 */

WEIR_API WEIR_MUST_USE weir_err
weir_adaptive_new(weir_sem *sem, const weir_adaptive_opts *opts,
		  weir_adaptive **out);
WEIR_API WEIR_MUST_USE weir_err weir_adaptive_free(weir_adaptive *object);

WEIR_API WEIR_MUST_USE weir_err
weir_all_new(struct weir_loop *loop, weir_all_fn *fn, void *user,
	     weir_all **out);
WEIR_API WEIR_MUST_USE weir_err weir_all_free(weir_all *object);

WEIR_API WEIR_MUST_USE weir_err
weir_any_new(struct weir_loop *loop, weir_any_fn *fn, void *user,
	     weir_any **out);
WEIR_API WEIR_MUST_USE weir_err weir_any_free(weir_any *object);

WEIR_API WEIR_MUST_USE weir_err
weir_breaker_new(const weir_breaker_opts *opts, weir_breaker **out);
WEIR_API WEIR_MUST_USE weir_err weir_breaker_free(weir_breaker *object);

WEIR_API WEIR_MUST_USE weir_err
weir_chan_new(int64_t capacity, size_t item_size, weir_chan **out);
WEIR_API WEIR_MUST_USE weir_err weir_chan_free(weir_chan *object);

WEIR_API WEIR_MUST_USE weir_err
weir_chan_op_new(struct weir_loop *loop, weir_chan_op_fn *fn, void *user,
		 weir_chan_op **out);
WEIR_API WEIR_MUST_USE weir_err weir_chan_op_free(weir_chan_op *object);

WEIR_API WEIR_MUST_USE weir_err
weir_ctx_new(weir_ctx *parent, int64_t deadline_ns, weir_ctx **out);
WEIR_API WEIR_MUST_USE weir_err weir_ctx_free(weir_ctx *object);

WEIR_API WEIR_MUST_USE weir_err
weir_group_new(const weir_group_opts *opts, weir_group **out);
WEIR_API WEIR_MUST_USE weir_err weir_group_free(weir_group *object);

WEIR_API WEIR_MUST_USE weir_err
weir_keyed_new(int64_t max_keys, const weir_rate_opts *each, weir_keyed **out);
WEIR_API WEIR_MUST_USE weir_err weir_keyed_free(weir_keyed *object);

WEIR_API WEIR_MUST_USE weir_err weir_limits_new(int64_t max, weir_limits **out);
WEIR_API WEIR_MUST_USE weir_err weir_limits_free(weir_limits *object);

WEIR_API WEIR_MUST_USE weir_err weir_loop_new(weir_loop **out);
WEIR_API WEIR_MUST_USE weir_err weir_loop_free(weir_loop *object);

WEIR_API WEIR_MUST_USE weir_err
weir_op_new(struct weir_loop *loop, weir_op_fn *fn, void *user, weir_op **out);
WEIR_API WEIR_MUST_USE weir_err weir_op_free(weir_op *object);

WEIR_API WEIR_MUST_USE weir_err weir_permit_new(weir_permit **out);
WEIR_API WEIR_MUST_USE weir_err weir_permit_free(weir_permit *object);

WEIR_API WEIR_MUST_USE weir_err
weir_pool_new(const weir_pool_opts *opts, weir_pool **out);
WEIR_API WEIR_MUST_USE weir_err weir_pool_free(weir_pool *object);

WEIR_API WEIR_MUST_USE weir_err
weir_pool_op_new(struct weir_loop *loop, weir_pool_op_fn *fn, void *user,
		 weir_pool_op **out);
WEIR_API WEIR_MUST_USE weir_err weir_pool_op_free(weir_pool_op *object);

WEIR_API WEIR_MUST_USE weir_err
weir_rate_new(const weir_rate_opts *opts, weir_rate **out);
WEIR_API WEIR_MUST_USE weir_err weir_rate_free(weir_rate *object);

WEIR_API WEIR_MUST_USE weir_err
weir_rwlock_new(const weir_rwlock_opts *opts, weir_rwlock **out);
WEIR_API WEIR_MUST_USE weir_err weir_rwlock_free(weir_rwlock *object);

WEIR_API WEIR_MUST_USE weir_err
weir_sharded_new(const weir_sharded_opts *opts, weir_sharded **out);
WEIR_API WEIR_MUST_USE weir_err weir_sharded_free(weir_sharded *object);

WEIR_DECLS_END

#endif /* WEIR_HEAP_H */
