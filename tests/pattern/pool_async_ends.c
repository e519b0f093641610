/* SPDX-License-Identifier: MIT */
/* Operations that borrow: contexts, close, poll, misuse. */
#include "check.h"
#include "soon.h"
#include "weir/ctx.h"
#include "weir/loop.h"
#include "weir/pool_async.h"

static weir_pool pool;
static weir_loop loop;
static weir_ctx *ends_in_create;
static int64_t made, ended;
static uint32_t in_use[64];

static weir_err create(void *user, struct weir_ctx *ctx, void **resource)
{
	int64_t n = __atomic_fetch_add(&made, 1, __ATOMIC_RELAXED);

	(void)user;
	if (ends_in_create) {
		CHECK(ctx == ends_in_create);
		weir_ctx_cancel(ctx);
	}
	*resource = &in_use[n % 64];
	return WEIR_OK;
}

static void destroy(void *user, void *resource)
{
	(void)user;
	(void)resource;
	__atomic_fetch_add(&ended, 1, __ATOMIC_RELAXED);
}

static void begin(int64_t max)
{
	made = ended = 0;
	ends_in_create = NULL;
	CHECK_OK(weir_loop_init(&loop));
	CHECK_OK(weir_pool_init(&pool, NULL, &(weir_pool_opts){
		.max = max, .create = create, .destroy = destroy }));
}

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
	uint32_t ran;
	weir_err err;
};

static void ran(weir_pool_op *op, weir_err err, weir_pool_item *item, void *user)
{
	struct call *c = user;

	(void)op;
	c->item = item;
	c->err = err;
	__atomic_add_fetch(&c->ran, 1, __ATOMIC_RELEASE);
}

static weir_err submit(struct call *c, weir_loop *on, struct weir_ctx *ctx)
{
	*c = (struct call){ .ran = 0 };
	weir_pool_op_init(&c->op, on, ran, c);
	return weir_pool_op_borrow(&c->op, &pool, "submit", ctx, &c->item);
}

static void was(const struct call *c, weir_err err)
{
	CHECK_EQ(c->ran, 1);
	CHECK_ERR(c->err, err);
	CHECK(!err == !!c->item);
}

/* C13: also while the resource is created, which is then kept idle. */
TEST(c13_ended_context_wins)
{
	weir_ctx ctx = WEIR_CTX_INIT, other = WEIR_CTX_INIT;
	weir_pool_item *held;
	struct call a, b;

	begin(1);
	CHECK_OK(weir_pool_try_borrow(&pool, NULL, &held));
	CHECK_ERR(submit(&a, &loop, &ctx), WEIR_EQUEUED);
	CHECK_ERR(submit(&b, NULL, &other), WEIR_EQUEUED);
	weir_pool_give_back(&pool, held);
	weir_ctx_cancel(&ctx);
	was(&b, WEIR_OK);
	CHECK_EQ(weir_loop_dispatch(&loop), 1);
	was(&a, WEIR_ECANCELED);
	CHECK_ERR(submit(&a, NULL, &ctx), WEIR_ECANCELED);
	held = b.item;
	CHECK_ERR(submit(&b, NULL, &other), WEIR_EQUEUED);
	ends_in_create = &other;
	weir_pool_discard(&pool, held);
	was(&b, WEIR_ECANCELED);
	CHECK_EQ(made, 2);
	CHECK_EQ(ended, 1);
	CHECK_OK(weir_ctx_destroy(&ctx));
	CHECK_OK(weir_ctx_destroy(&other));
	end();
}

TEST(c19_closed)
{
	weir_pool_item *held;
	struct call a, b;

	begin(1);
	CHECK_OK(weir_pool_try_borrow(&pool, NULL, &held));
	CHECK_ERR(submit(&a, &loop, NULL), WEIR_EQUEUED);
	CHECK_ERR(submit(&b, NULL, NULL), WEIR_EQUEUED);
	CHECK_ERR(weir_pool_destroy(&pool), WEIR_EBUSY);
	weir_pool_give_back(&pool, held);
	/* a is granted and not notified: destroy fails and changes nothing. */
	CHECK_ERR(weir_pool_destroy(&pool), WEIR_EBUSY);
	CHECK(!weir_sem_is_closed(&pool.permits_));
	weir_pool_close(&pool);
	was(&b, WEIR_ECLOSED);
	CHECK_EQ(made, ended);
	CHECK_EQ(weir_loop_dispatch(&loop), 1);
	was(&a, WEIR_ECLOSED);
	CHECK_ERR(submit(&a, NULL, NULL), WEIR_ECLOSED);
	CHECK_OK(weir_pool_wait_idle(&pool, NULL));
	end();
	/* Cancelled after the close. */
	begin(1);
	CHECK_OK(weir_pool_try_borrow(&pool, NULL, &held));
	CHECK_ERR(submit(&a, &loop, NULL), WEIR_EQUEUED);
	CHECK_ERR(submit(&b, &loop, NULL), WEIR_EQUEUED);
	weir_pool_give_back(&pool, held);
	weir_pool_close(&pool);
	CHECK_OK(weir_pool_op_cancel(&a.op));
	CHECK_OK(weir_pool_op_cancel(&b.op));
	CHECK_OK(weir_pool_wait_idle(&pool, NULL));
	end();
}

TEST(c35_polled)
{
	weir_pool_item *held, *item = NULL;
	weir_pool_op op;

	begin(1);
	weir_pool_op_init(&op, NULL, NULL, NULL);
	CHECK_ERR(weir_pool_op_poll(&op, &item), WEIR_EINVAL);
	CHECK_OK(weir_pool_op_borrow(&op, &pool, NULL, NULL, &held));
	CHECK_ERR(weir_pool_op_borrow(&op, &pool, NULL, NULL, &item),
		  WEIR_EQUEUED);
	CHECK_ERR(weir_pool_op_poll(&op, NULL), WEIR_EINVAL);
	item = held;
	CHECK_ERR(weir_pool_op_poll(&op, &item), WEIR_EQUEUED);
	CHECK(!item);
	weir_pool_give_back(&pool, held);
	CHECK_OK(weir_pool_op_poll(&op, &item));
	CHECK(item == held);
	CHECK_ERR(weir_pool_op_poll(&op, &item), WEIR_EINVAL);
	QUEUE_SOON(weir_pool_op_borrow_until(&op, &pool, NULL, soon, &item));
	AWAIT(weir_pool_op_poll(&op, &item) == WEIR_ETIMEDOUT);
	CHECK(!item);
	weir_pool_give_back(&pool, held);
	end();
}

TEST(c34_misuse)
{
	uint64_t memory[sizeof(struct call) / 8 + 1];
	weir_pool_op *askew = (void *)((char *)memory + 4);
	weir_pool zeroed = { .ready_ = 0 };
	weir_pool_item *item, *held;
	struct call a;

	begin(1);
	CHECK_OK(submit(&a, NULL, NULL));
	held = a.item;
	CHECK_PANICS("invalid pointer",
		     weir_pool_op_init(NULL, NULL, ran, NULL));
	CHECK_PANICS("invalid pointer",
		     weir_pool_op_init(askew, NULL, ran, NULL));
	CHECK_PANICS("without a callback",
		     weir_pool_op_init(&a.op, &loop, NULL, NULL));
	CHECK_ERR(weir_pool_op_borrow(NULL, &pool, "", NULL, &item),
		  WEIR_EINVAL);
	CHECK_ERR(weir_pool_op_borrow(askew, &pool, "", NULL, &item),
		  WEIR_EINVAL);
	CHECK_ERR(weir_pool_op_borrow(&a.op, NULL, "", NULL, &item),
		  WEIR_EINVAL);
	CHECK_ERR(weir_pool_op_borrow(&a.op, &zeroed, "", NULL, &item),
		  WEIR_EINVAL);
	CHECK_ERR(weir_pool_op_borrow(&a.op, &pool, "", NULL, NULL),
		  WEIR_EINVAL);
	CHECK_ERR(weir_pool_op_borrow_until(&a.op, &pool, "", 0, NULL),
		  WEIR_EINVAL);
	CHECK_ERR(weir_pool_op_cancel(NULL), WEIR_EINVAL);
	CHECK_ERR(weir_pool_op_cancel(askew), WEIR_EINVAL);
	CHECK_ERR(weir_pool_op_poll(NULL, &item), WEIR_EINVAL);
	CHECK_ERR(weir_pool_op_poll(askew, &item), WEIR_EINVAL);
	CHECK_ERR(submit(&a, NULL, NULL), WEIR_EQUEUED);
	CHECK_ERR(weir_pool_op_poll(&a.op, &item), WEIR_EINVAL);
	CHECK_PANICS("weir_pool_op_borrow: operation",
		     CHECK_ERR(weir_pool_op_borrow(&a.op, &pool, "", NULL,
						   &item), WEIR_EINVAL));
	/* After a cancel the operation may be submitted again. */
	CHECK_OK(weir_pool_op_cancel(&a.op));
	CHECK_ERR(weir_pool_op_borrow(&a.op, &pool, "", NULL, &item),
		  WEIR_EQUEUED);
	CHECK_OK(weir_pool_op_cancel(&a.op));
	weir_pool_give_back(&pool, held);
	end();
}
