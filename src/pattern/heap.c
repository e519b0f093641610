/* SPDX-License-Identifier: MIT */
/* Every object on the heap: the functions of weir/heap.h. */
#include "weir/heap.h"

#include "base/mem.h"
#include "pattern/pool.h"

/*
 * The end of every new: `memory` has been allocated and set up with the result
 * err.  Stores the object in *out, or frees it.
 */
static weir_err finish_new(weir_err err, void *memory, void **out)
{
	*out = err ? NULL : memory;
	if (err)
		weir_mem_free_(memory);
	return err;
}

/* The end of every free: the object was destroyed with the result err. */
static weir_err finish_free(weir_err err, void *memory)
{
	if (!err)
		weir_mem_free_(memory);
	return err;
}

/*
 * Define weir_NAME_new with the arguments ARGS.  INIT is an expression of type
 * weir_err that sets up *object.
 */
#define NEW(name, ARGS, INIT)                                                  \
	weir_err weir_##name##_new ARGS                                        \
	{                                                                      \
		weir_##name *object;                                           \
		void *made;                                                    \
		weir_err err;                                                  \
									       \
		if (!out)                                                      \
			return WEIR_EINVAL;                                    \
		*out = NULL;                                                   \
		object = weir_mem_alloc_(sizeof(*object));                     \
		if (!object)                                                   \
			return WEIR_ENOMEM;                                    \
		err = finish_new((INIT), object, &made);                       \
		*out = made;                                                   \
		return err;                                                    \
	}

/*
 * Define weir_NAME_free.  END is an expression of type weir_err that ends the
 * use of *object.
 */
#define FREE(name, END)                                                        \
	weir_err weir_##name##_free(weir_##name *object)                       \
	{                                                                      \
		return object ? finish_free((END), object) : WEIR_OK;          \
	}

/*
 * A cancel returns WEIR_EBUSY if the operation is not submitted, or if its
 * callback has begun: the library does not access the operation any more.
 */
static weir_err unless_busy(weir_err err)
{
	return err == WEIR_EBUSY ? WEIR_OK : err;
}

/*
 * The init of an operation returns no error, but panics if it is not `ok`.  The
 * panic hook may return: the operation is not set up then.
 */
static weir_err unless_refused(bool ok)
{
	return ok ? WEIR_OK : WEIR_EINVAL;
}

static weir_err release(weir_permit *permit)
{
	weir_permit_release(permit);
	return WEIR_OK;
}

NEW(adaptive, (weir_sem *sem, const weir_adaptive_opts *opts,
               weir_adaptive **out),
    weir_adaptive_init(object, sem, opts))
FREE(adaptive, WEIR_OK)

NEW(all, (struct weir_loop *loop, weir_all_fn *fn, void *user, weir_all **out),
    (weir_all_init(object, loop, fn, user), unless_refused(fn)))
FREE(all, unless_busy(weir_all_cancel(object)))

NEW(any, (struct weir_loop *loop, weir_any_fn *fn, void *user, weir_any **out),
    (weir_any_init(object, loop, fn, user), unless_refused(fn)))
FREE(any, unless_busy(weir_any_cancel(object)))

NEW(breaker, (const weir_breaker_opts *opts, weir_breaker **out),
    weir_breaker_init(object, opts))
FREE(breaker, WEIR_OK)

NEW(chan, (int64_t capacity, size_t item_size, weir_chan **out),
    weir_chan_init(object, NULL, capacity, item_size))
FREE(chan, weir_chan_destroy(object))

NEW(chan_op, (struct weir_loop *loop, weir_chan_op_fn *fn, void *user,
              weir_chan_op **out),
    (weir_chan_op_init(object, loop, fn, user), unless_refused(fn || !loop)))
FREE(chan_op, unless_busy(weir_chan_op_cancel(object)))

NEW(ctx, (weir_ctx *parent, int64_t deadline_ns, weir_ctx **out),
    weir_ctx_init(object, parent, deadline_ns))
FREE(ctx, weir_ctx_destroy(object))

NEW(group, (const weir_group_opts *opts, weir_group **out),
    weir_group_init(object, opts))
FREE(group, weir_group_destroy(object))

NEW(keyed, (int64_t max_keys, const weir_rate_opts *each, weir_keyed **out),
    weir_keyed_init(object, NULL, max_keys, each))
FREE(keyed, weir_keyed_destroy(object))

NEW(limits, (int64_t max, weir_limits **out),
    weir_limits_init(object, max))
FREE(limits, weir_limits_destroy(object))

NEW(loop, (weir_loop **out),
    weir_loop_init(object))
FREE(loop, weir_loop_destroy(object))

NEW(op, (struct weir_loop *loop, weir_op_fn *fn, void *user, weir_op **out),
    (weir_op_init(object, loop, fn, user), unless_refused(fn || !loop)))
FREE(op, unless_busy(weir_op_cancel(object)))

NEW(permit, (weir_permit **out),
    (*object = (weir_permit)WEIR_PERMIT_INIT, WEIR_OK))
FREE(permit, release(object))

NEW(pool, (const weir_pool_opts *opts, weir_pool **out),
    weir_pool_init(object, NULL, opts))
FREE(pool, weir_pool_destroy(object))

NEW(pool_op, (struct weir_loop *loop, weir_pool_op_fn *fn, void *user,
              weir_pool_op **out),
    (weir_pool_op_init(object, loop, fn, user), unless_refused(fn || !loop)))
FREE(pool_op, weir_pool_op_end_(object))

NEW(rate, (const weir_rate_opts *opts, weir_rate **out),
    weir_rate_init(object, opts))
FREE(rate, weir_rate_destroy(object))

NEW(rwlock, (const weir_rwlock_opts *opts, weir_rwlock **out),
    weir_rwlock_init(object, opts))
FREE(rwlock, weir_rwlock_destroy(object))

NEW(sharded, (const weir_sharded_opts *opts, weir_sharded **out),
    weir_sharded_init(object, opts))
FREE(sharded, weir_sharded_destroy(object))
