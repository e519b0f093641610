/* SPDX-License-Identifier: MIT */
/* Operations that borrow: every result, from every state. */
#include <poll.h>

#include "check.h"
#include "soon.h"
#include "weir/ctx.h"
#include "weir/loop.h"
#include "weir/pool_async.h"

static weir_pool pool;
static weir_loop loop;
static int64_t made, ended;
static weir_err refusal;		/* result of create */
static bool broken;			/* validate fails */
static void (*in_create)(void);
static uint64_t resources[64];

static weir_err create(void *user, struct weir_ctx *ctx, void **resource)
{
	(void)user;
	(void)ctx;
	if (in_create)
		in_create();
	if (refusal)
		return refusal;
	*resource = &resources[__atomic_fetch_add(&made, 1, __ATOMIC_RELAXED) %
			       64];
	return WEIR_OK;
}

static void destroy(void *user, void *resource)
{
	(void)user;
	(void)resource;
	__atomic_fetch_add(&ended, 1, __ATOMIC_RELAXED);
}

static bool validate(void *user, void *resource)
{
	(void)user;
	(void)resource;
	return !broken;
}

static void begin(int64_t max)
{
	made = ended = 0;
	refusal = WEIR_OK;
	broken = false;
	in_create = NULL;
	CHECK_OK(weir_loop_init(&loop));
	CHECK_OK(weir_pool_init(&pool, NULL, &(weir_pool_opts){
		.max = max, .create = create, .destroy = destroy,
		.validate = validate, .name = "pool" }));
}

/* All permits are free, and all resources have been destroyed. */
static void end(void)
{
	CHECK(weir_sem_is_closed(&pool.permits_) ||
	      weir_sem_available(&pool.permits_) == pool.opts_.max);
	CHECK_OK(weir_pool_destroy(&pool));
	CHECK_EQ(made, ended);
	CHECK_OK(weir_loop_destroy(&loop));
}

struct call {
	weir_pool_op op;
	weir_pool_item *item;
	int ran;
	weir_err err;
};

static void ran(weir_pool_op *op, weir_err err, weir_pool_item *item, void *user)
{
	struct call *c = user;

	CHECK(op == &c->op);
	CHECK(!err == !!item);
	c->item = item;
	c->err = err;
	c->ran++;
}

static void prepare(struct call *c, weir_loop *on)
{
	*c = (struct call){ .ran = 0 };
	weir_pool_op_init(&c->op, on, ran, c);
}

static void queue(struct call *c, weir_loop *on, struct weir_ctx *ctx)
{
	prepare(c, on);
	CHECK_ERR(weir_pool_op_borrow(&c->op, &pool, "queue", ctx, &c->item),
		  WEIR_EQUEUED);
}

static weir_pool_item *borrow(void)
{
	weir_pool_item *item = NULL;

	CHECK_OK(weir_pool_try_borrow(&pool, "borrow", &item));
	return item;
}

static void was(const struct call *c, weir_err err)
{
	CHECK_EQ(c->ran, 1);
	CHECK_ERR(c->err, err);
}

TEST(c35_at_once_without_a_callback)
{
	weir_pool_info info;
	struct call a, b;

	begin(2);
	prepare(&a, &loop);
	prepare(&b, NULL);
	CHECK_OK(weir_pool_op_borrow(&a.op, &pool, "a", NULL, &a.item));
	CHECK_OK(weir_pool_op_borrow(&b.op, &pool, "b", NULL, &b.item));
	CHECK(a.item->resource != b.item->resource);
	CHECK_OK(weir_pool_stat(&pool, &info));
	CHECK_EQ(info.lent, 2);
	weir_pool_give_back(&pool, a.item);
	CHECK_OK(weir_pool_op_borrow_until(&a.op, &pool, "a", 0, &a.item));
	weir_pool_give_back(&pool, a.item);
	weir_pool_give_back(&pool, b.item);
	CHECK_EQ(a.ran + b.ran, 0);
	CHECK_EQ(made, 2);
	CHECK_ERR(weir_pool_op_cancel(&a.op), WEIR_EBUSY);
	refusal = WEIR_ESYSTEM;
	weir_pool_discard(&pool, borrow());
	weir_pool_discard(&pool, borrow());
	CHECK_ERR(weir_pool_op_borrow(&a.op, &pool, "a", NULL, &a.item),
		  WEIR_ESYSTEM);
	CHECK(!a.item);
	end();
}

TEST(c35_create_that_returns_queued)
{
	struct call c = { .ran = 0 };

	begin(1);
	prepare(&c, NULL);
	refusal = WEIR_EQUEUED;
	CHECK_ERR(weir_pool_op_borrow(&c.op, &pool, "c", NULL, &c.item),
		  WEIR_EINVAL);
	CHECK(!c.item && !c.ran);
	refusal = WEIR_OK;
	CHECK_OK(weir_pool_op_borrow(&c.op, &pool, "c", NULL, &c.item));
	weir_pool_give_back(&pool, c.item);
	end();
}

static void *borrow_one(void *arg)
{
	CHECK_OK(weir_pool_borrow(&pool, "thread", NULL, arg));
	return NULL;
}

/* C3, C4: threads and operations are granted in order of arrival. */
TEST(c3_one_queue_with_threads)
{
	weir_pool_item *held, *item = NULL;
	weir_pool_loan loan;
	struct call a, c;
	check_thread b;
	size_t n;

	begin(1);
	held = borrow();
	queue(&a, NULL, NULL);
	b = start(borrow_one, &item);
	AWAIT(waiters_of(&pool.permits_) == 2);
	queue(&c, &loop, NULL);
	weir_pool_give_back(&pool, held);
	was(&a, WEIR_OK);
	CHECK(a.item->resource == held->resource);
	CHECK_OK(weir_pool_loans(&pool, &loan, 1, &n));
	CHECK_EQ(n, 1);
	CHECK(!strcmp(loan.who, "queue"));
	weir_pool_give_back(&pool, a.item);
	finish(b);
	CHECK_EQ(c.ran, 0);
	weir_pool_give_back(&pool, item);
	CHECK_EQ(weir_loop_dispatch(&loop), 1);
	was(&c, WEIR_OK);
	weir_pool_give_back(&pool, c.item);
	CHECK_EQ(made, 1);
	end();
}

/* C7: after a failed create the permit goes to the next operation. */
TEST(c7_created_and_validated_before_the_callback)
{
	struct call a, b;
	weir_pool_item *held;

	begin(1);
	held = borrow();
	queue(&a, NULL, NULL);
	broken = true;
	weir_pool_give_back(&pool, held);
	was(&a, WEIR_OK);
	CHECK_EQ(made, 2);
	CHECK_EQ(ended, 1);
	queue(&b, &loop, NULL);
	held = a.item;
	queue(&a, &loop, NULL);
	refusal = WEIR_ESYSTEM;
	weir_pool_discard(&pool, held);
	CHECK_EQ(weir_loop_dispatch(&loop), 1);
	was(&b, WEIR_ESYSTEM);
	CHECK_EQ(weir_loop_dispatch(&loop), 1);
	was(&a, WEIR_ESYSTEM);
	CHECK_EQ(made, ended);
	end();
}

TEST(c35_cancel_in_every_state)
{
	struct call a, b;
	weir_pool_item *held;

	begin(1);
	prepare(&a, &loop);
	CHECK_ERR(weir_pool_op_cancel(&a.op), WEIR_EBUSY);
	held = borrow();
	queue(&a, &loop, NULL);
	queue(&b, NULL, NULL);
	CHECK_OK(weir_pool_op_cancel(&a.op));
	memset(&a, 0xa5, sizeof(a));
	queue(&a, &loop, NULL);
	weir_pool_give_back(&pool, held);
	was(&b, WEIR_OK);
	/* Granted, and not notified yet: the permit goes to the next. */
	held = b.item;
	queue(&b, NULL, NULL);
	weir_pool_give_back(&pool, held);
	CHECK_EQ(b.ran, 0);
	CHECK_OK(weir_pool_op_cancel(&a.op));
	was(&b, WEIR_OK);
	CHECK_ERR(weir_pool_op_cancel(&b.op), WEIR_EBUSY);
	weir_pool_give_back(&pool, b.item);
	CHECK_EQ(weir_loop_dispatch(&loop), 0);
	end();
}

/*
 * C35: create cancels its own operation: too late, and the cancel does not
 * wait.
 */
static struct call *mine;

static void cancel_mine(void)
{
	CHECK_ERR(weir_pool_op_cancel(&mine->op), WEIR_EBUSY);
	CHECK_EQ(mine->ran, 0);
}

TEST(c35_cancel_in_create)
{
	struct call a;
	weir_pool_item *held;

	begin(1);
	held = borrow();
	queue(&a, NULL, NULL);
	mine = &a;
	in_create = cancel_mine;
	weir_pool_discard(&pool, held);
	was(&a, WEIR_OK);
	CHECK_EQ(made, 2);
	in_create = NULL;
	weir_pool_give_back(&pool, a.item);
	end();
}

TEST(c14_deadlines)
{
	struct call a;
	weir_pool_item *held;

	begin(1);
	held = borrow();
	prepare(&a, NULL);
	CHECK_ERR(weir_pool_op_borrow_until(&a.op, &pool, "a", 1, &a.item),
		  WEIR_EINVAL);
	prepare(&a, &loop);
	CHECK_ERR(weir_pool_op_borrow_until(&a.op, &pool, "a", 1, &a.item),
		  WEIR_ETIMEDOUT);
	QUEUE_SOON(weir_pool_op_borrow_until(&a.op, &pool, "a", soon, &a.item));
	while (!a.ran) {
		struct pollfd p = { .fd = weir_loop_fd(&loop),
				    .events = POLLIN };

		(void)poll(&p, 1, weir_loop_timeout_ms(&loop));
		(void)weir_loop_dispatch(&loop);
	}
	was(&a, WEIR_ETIMEDOUT);
	weir_pool_give_back(&pool, held);
	end();
}
