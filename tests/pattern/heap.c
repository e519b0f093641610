/* SPDX-License-Identifier: MIT */
/*
 * Objects on the heap (weir/heap.h): each object can be made, used through its
 * pointer alone, and freed; a free that is refused changes nothing.
 */
#include "check.h"
#include "weir/heap.h"

static void never(weir_op *op, weir_err err, void *user)
{
	(void)op;
	(void)err;
	(void)user;
	CHECK(false);
}

static void never_all(weir_all *all, weir_err err, void *user)
{
	(void)all;
	never(NULL, err, user);
}

static void never_any(weir_any *any, weir_err err, size_t which, void *user)
{
	(void)any;
	(void)which;
	never(NULL, err, user);
}

static void never_chan(weir_chan_op *op, weir_err err, void *user)
{
	(void)op;
	never(NULL, err, user);
}

static void never_pool(weir_pool_op *op, weir_err err, weir_pool_item *item,
		       void *user)
{
	(void)op;
	(void)item;
	never(NULL, err, user);
}

static weir_err make(void *user, weir_ctx *ctx, void **resource)
{
	(void)ctx;
	*resource = user;
	return WEIR_OK;
}

static void unmake(void *user, void *resource)
{
	(void)user;
	(void)resource;
}

static weir_err succeed(void *arg, weir_ctx *ctx)
{
	(void)arg;
	(void)ctx;
	return WEIR_OK;
}

/* A free of null does nothing, as free(3). */
TEST(free_of_null)
{
	CHECK_OK(weir_adaptive_free(NULL));
	CHECK_OK(weir_all_free(NULL));
	CHECK_OK(weir_any_free(NULL));
	CHECK_OK(weir_breaker_free(NULL));
	CHECK_OK(weir_chan_free(NULL));
	CHECK_OK(weir_chan_op_free(NULL));
	CHECK_OK(weir_ctx_free(NULL));
	CHECK_OK(weir_group_free(NULL));
	CHECK_OK(weir_keyed_free(NULL));
	CHECK_OK(weir_limits_free(NULL));
	CHECK_OK(weir_loop_free(NULL));
	CHECK_OK(weir_op_free(NULL));
	CHECK_OK(weir_permit_free(NULL));
	CHECK_OK(weir_pool_free(NULL));
	CHECK_OK(weir_pool_op_free(NULL));
	CHECK_OK(weir_rate_free(NULL));
	CHECK_OK(weir_rwlock_free(NULL));
	CHECK_OK(weir_sharded_free(NULL));
}

/* The error of the init is the result, and *out is null. */
TEST(new_with_invalid_options)
{
	weir_chan *chan = (void *)1;
	weir_rate_opts rate = { 0 };
	weir_rate *limit = (void *)1;
	weir_ctx *ctx = (void *)1;

	CHECK_ERR(weir_chan_new(-1, 4, &chan), WEIR_EINVAL);
	CHECK(!chan);
	CHECK_ERR(weir_rate_new(&rate, &limit), WEIR_EINVAL);
	CHECK(!limit);
	CHECK_ERR(weir_ctx_new((weir_ctx *)1, WEIR_FOREVER, &ctx), WEIR_EINVAL);
	CHECK(!ctx);
	CHECK_ERR(weir_ctx_new(NULL, WEIR_FOREVER, NULL), WEIR_EINVAL);
}

/*
 * The init of an operation panics instead.  If the hook returns, the operation
 * was not set up: there is no object.
 */
TEST(new_of_an_operation_without_callback)
{
	weir_all *all = (void *)1;
	weir_any *any = (void *)1;
	weir_chan_op *chan_op = (void *)1;
	weir_op *op = (void *)1;
	weir_pool_op *pool_op = (void *)1;
	weir_loop *loop;

	CHECK_OK(weir_loop_new(&loop));
	CHECK_PANICS("no callback", CHECK_ERR(
		weir_all_new(NULL, NULL, NULL, &all), WEIR_EINVAL));
	CHECK_PANICS("no callback", CHECK_ERR(
		weir_any_new(NULL, NULL, NULL, &any), WEIR_EINVAL));
	CHECK_PANICS("without a callback", CHECK_ERR(
		weir_chan_op_new(loop, NULL, NULL, &chan_op), WEIR_EINVAL));
	CHECK_PANICS("without a callback", CHECK_ERR(
		weir_op_new(loop, NULL, NULL, &op), WEIR_EINVAL));
	CHECK_PANICS("without a callback", CHECK_ERR(
		weir_pool_op_new(loop, NULL, NULL, &pool_op), WEIR_EINVAL));
	CHECK(!all && !any && !chan_op && !op && !pool_op);
	/* Without a loop an operation may be polled. */
	CHECK_OK(weir_op_new(NULL, NULL, NULL, &op));
	CHECK_OK(weir_op_free(op));
	CHECK_OK(weir_loop_free(loop));
}

/* Objects that can be in use: EBUSY, and the object is as before. */
TEST(free_in_use)
{
	weir_pool_opts opts = { .max = 1, .create = make, .destroy = unmake };
	weir_pool_item *item;
	weir_rwlock *rw;
	weir_sharded *s;
	weir_ctx *root, *child;
	weir_pool *pool;

	CHECK_OK(weir_ctx_new(NULL, WEIR_FOREVER, &root));
	CHECK_OK(weir_ctx_new(root, WEIR_FOREVER, &child));
	CHECK_ERR(weir_ctx_free(root), WEIR_EBUSY);
	CHECK_OK(weir_ctx_err(root));
	CHECK_OK(weir_ctx_free(child));
	CHECK_OK(weir_ctx_free(root));
	CHECK_OK(weir_rwlock_new(NULL, &rw));
	CHECK_OK(weir_rwlock_write(rw, NULL));
	CHECK_ERR(weir_rwlock_free(rw), WEIR_EBUSY);
	weir_rwlock_write_done(rw);
	CHECK_OK(weir_rwlock_free(rw));
	CHECK_OK(weir_sharded_new(&(weir_sharded_opts){ .capacity = 1 }, &s));
	CHECK_OK(weir_sharded_acquire(s, 1, NULL));
	CHECK_ERR(weir_sharded_free(s), WEIR_EBUSY);
	weir_sharded_release(s, 1);
	CHECK_OK(weir_sharded_free(s));
	CHECK_OK(weir_pool_new(&opts, &pool));
	CHECK_OK(weir_pool_borrow(pool, "test", NULL, &item));
	CHECK_ERR(weir_pool_free(pool), WEIR_EBUSY);
	weir_pool_give_back(pool, item);
	CHECK_OK(weir_pool_free(pool));
}

/* C35: a free cancels a submitted operation; its callback does not run. */
TEST(c35_free_of_submitted_operations)
{
	weir_pool_opts opts = { .max = 1, .create = make, .destroy = unmake };
	weir_sem *sem = weir_sem_new(&(weir_sem_opts){ .capacity = 1 });
	weir_req req = { .sem = sem, .n = 1 };
	weir_pool_item *item, *later;
	weir_pool_op *pool_op;
	weir_chan_op *chan_op;
	weir_pool *pool;
	weir_chan *chan;
	weir_loop *loop;
	weir_op *op, place;
	weir_all *all;
	weir_any *any;
	size_t which;
	int got;

	CHECK(sem);
	CHECK_OK(weir_loop_new(&loop));
	CHECK_OK(weir_op_new(loop, never, NULL, &op));
	CHECK_ERR(weir_op_submit(op, sem, 1, NULL), WEIR_EQUEUED);
	CHECK_OK(weir_all_new(loop, never_all, NULL, &all));
	CHECK_ERR(weir_all_submit(all, &req, 1, NULL), WEIR_EQUEUED);
	CHECK_OK(weir_any_new(loop, never_any, NULL, &any));
	CHECK_ERR(weir_any_submit(any, &req, &place, 1, NULL, &which),
		  WEIR_EQUEUED);
	CHECK_OK(weir_chan_new(1, sizeof(got), &chan));
	CHECK_OK(weir_chan_op_new(loop, never_chan, NULL, &chan_op));
	CHECK_ERR(weir_chan_op_recv(chan_op, chan, &got, NULL), WEIR_EQUEUED);
	CHECK_OK(weir_pool_new(&opts, &pool));
	CHECK_OK(weir_pool_borrow(pool, "test", NULL, &item));
	CHECK_OK(weir_pool_op_new(loop, never_pool, NULL, &pool_op));
	CHECK_ERR(weir_pool_op_borrow(pool_op, pool, "op", NULL, &later),
		  WEIR_EQUEUED);
	CHECK_ERR(weir_loop_free(loop), WEIR_EBUSY);
	CHECK_OK(weir_op_free(op));
	CHECK_OK(weir_all_free(all));
	CHECK_OK(weir_any_free(any));
	CHECK_OK(weir_chan_op_free(chan_op));
	CHECK_OK(weir_pool_op_free(pool_op));
	CHECK_EQ(weir_loop_dispatch(loop), 0);
	CHECK_OK(weir_loop_free(loop));
	weir_pool_give_back(pool, item);
	CHECK_OK(weir_pool_free(pool));
	CHECK_OK(weir_chan_free(chan));
	weir_sem_unref(sem);
}

/* An operation whose resource is being created. */
static weir_pool_op *creating;
static int callbacks;

static weir_err make_and_free_op(void *user, weir_ctx *ctx, void **resource)
{
	(void)ctx;
	if (creating)
		CHECK_ERR(weir_pool_op_free(creating), WEIR_EBUSY);
	*resource = user;
	return WEIR_OK;
}

static void free_own_op(weir_pool_op *op, weir_err err, weir_pool_item *item,
			void *user)
{
	CHECK_OK(err);
	callbacks++;
	weir_pool_give_back(user, item);
	CHECK_OK(weir_pool_op_free(op));
	creating = NULL;
}

/*
 * C35: while a resource is created for an operation, the library needs the
 * operation.  A free returns WEIR_EBUSY; the callback may free it.  The free
 * used to return WEIR_OK, and the library then wrote into freed memory.
 */
TEST(c35_free_of_a_pool_operation_during_create)
{
	weir_pool_opts opts = { .max = 1, .create = make_and_free_op,
				.destroy = unmake };
	weir_pool_item *item, *later;
	weir_pool *pool;
	weir_loop *loop;

	callbacks = 0;
	CHECK_OK(weir_loop_new(&loop));
	CHECK_OK(weir_pool_new(&opts, &pool));
	CHECK_OK(weir_pool_borrow(pool, "test", NULL, &item));
	CHECK_OK(weir_pool_op_new(loop, free_own_op, pool, &creating));
	CHECK_ERR(weir_pool_op_borrow(creating, pool, "op", NULL, &later),
		  WEIR_EQUEUED);
	weir_pool_discard(pool, item);
	CHECK_EQ(weir_loop_dispatch(loop), 1);
	CHECK_EQ(callbacks, 1);
	/* The same within the submit. */
	CHECK_OK(weir_pool_borrow(pool, "test", NULL, &item));
	weir_pool_discard(pool, item);
	CHECK_OK(weir_pool_op_new(NULL, NULL, NULL, &creating));
	CHECK_OK(weir_pool_op_borrow(creating, pool, "op", NULL, &later));
	weir_pool_give_back(pool, later);
	CHECK_OK(weir_pool_op_free(creating));
	creating = NULL;
	CHECK_OK(weir_pool_free(pool));
	CHECK_OK(weir_loop_free(loop));
}

/* C34: a free of a permit object releases its permits. */
TEST(c34_permit_on_the_heap)
{
	weir_sem sem = WEIR_SEM_INIT(3);
	weir_permit *permit;

	CHECK_OK(weir_permit_new(&permit));
	CHECK_EQ(weir_permit_count(permit), 0);
	CHECK_OK(weir_permit_acquire(permit, &sem, 2, NULL));
	CHECK_EQ(weir_permit_count(permit), 2);
	CHECK(weir_permit_sem(permit) == &sem);
	CHECK(!weir_permit_is_owned(permit));
	CHECK_OK(weir_permit_free(permit));
	CHECK_EQ(weir_sem_available(&sem), 3);
}

/* The other objects: made, used and freed. */
TEST(other_objects)
{
	weir_adaptive_opts learn = { .min = 1, .max = 8 };
	weir_group_opts workers = { .workers = 1 };
	weir_rate_opts rate = { .rate = 10, .burst = 2 };
	weir_sem sem = WEIR_SEM_INIT(4);
	weir_adaptive *adaptive;
	weir_breaker *breaker;
	weir_keyed *keyed;
	weir_limits *limits;
	weir_group *group;
	weir_rate *limit;

	CHECK_OK(weir_adaptive_new(&sem, &learn, &adaptive));
	CHECK_OK(weir_adaptive_free(adaptive));
	CHECK_OK(weir_breaker_new(&(weir_breaker_opts){ 0 }, &breaker));
	CHECK_OK(weir_breaker_free(breaker));
	CHECK_OK(weir_keyed_new(4, &rate, &keyed));
	CHECK_OK(weir_keyed_free(keyed));
	CHECK_OK(weir_rate_new(&rate, &limit));
	CHECK_OK(weir_rate_free(limit));
	CHECK_OK(weir_limits_new(4, &limits));
	CHECK_OK(weir_limits_load_text(limits, "[a]\ncapacity = 3\n", 17, NULL));
	CHECK_EQ(weir_sem_available(weir_limits_find(limits, "a")), 3);
	CHECK_OK(weir_limits_free(limits));
	CHECK_OK(weir_group_new(&workers, &group));
	CHECK_OK(weir_group_spawn(group, succeed, NULL, 1, NULL));
	CHECK_OK(weir_group_wait(group, NULL, NULL));
	CHECK_OK(weir_group_free(group));
}
