/* SPDX-License-Identifier: MIT */
/* A callback on the end of a context, weir_op_submit_end: C13, C27, C35. */
#include "calls.h"
#include "../unit/job.h"
#include "soon.h"

static void submit_end(struct call *c, weir_loop *loop, weir_ctx *ctx)
{
	call_init(c, loop);
	CHECK_ERR(weir_op_submit_end(&c->op, ctx), WEIR_EQUEUED);
}

/* C35: without a loop the callback runs inside the cancel, once. */
TEST(c35_end_by_cancel)
{
	weir_ctx root = WEIR_CTX_INIT, child;
	struct call a, b;

	calls_from_zero();
	CHECK_OK(weir_ctx_init(&child, &root, WEIR_FOREVER));
	submit_end(&a, NULL, &child);
	submit_end(&b, NULL, &root);
	CHECK_ERR(weir_ctx_destroy(&child), WEIR_EBUSY);
	CHECK_EQ(a.ran, 0);
	weir_ctx_cancel(&root);
	CALL_WAS(&a, WEIR_ECANCELED);
	CALL_WAS(&b, WEIR_ECANCELED);
	CHECK(pthread_equal(a.on, pthread_self()));
	weir_ctx_cancel(&root);
	CHECK_EQ(a.ran, 1);
	/* The context has ended: the result is the reason, no callback runs. */
	CHECK_ERR(weir_op_submit_end(&a.op, &child), WEIR_ECANCELED);
	CHECK_EQ(a.ran, 1);
	CHECK_OK(weir_ctx_destroy(&child));
	CHECK_OK(weir_ctx_destroy(&root));
}

static void free_ctx(weir_op *op, weir_err err, void *user)
{
	(void)op;
	CHECK_ERR(err, WEIR_ECANCELED);
	CHECK_OK(weir_ctx_destroy(user));
}

/* C27: the callback runs with no lock held; it may destroy its context. */
TEST(c27_end_destroys_its_context)
{
	weir_ctx ctx = WEIR_CTX_INIT;
	weir_op op;

	weir_op_init(&op, NULL, free_ctx, &ctx);
	CHECK_ERR(weir_op_submit_end(&op, &ctx), WEIR_EQUEUED);
	weir_ctx_cancel(&ctx);
	CHECK_PANICS("is destroyed", weir_ctx_cancel(&ctx));
}

/* Submit with a new ctx of this deadline, which remains if op is queued. */
static weir_err end_at(weir_op *op, weir_ctx *ctx, weir_ctx *parent,
		       int64_t deadline)
{
	weir_err err;

	CHECK_OK(weir_ctx_init(ctx, parent, deadline));
	err = weir_op_submit_end(op, ctx);
	if (err != WEIR_EQUEUED)
		CHECK_OK(weir_ctx_destroy(ctx));
	return err;
}

/* C36: on a loop the callback runs in a dispatch, for a deadline as well. */
TEST(c36_end_on_a_loop)
{
	weir_ctx ctx = WEIR_CTX_INIT, late;
	struct call a, b;
	weir_loop loop;

	calls_from_zero();
	CHECK_OK(weir_loop_init(&loop));
	submit_end(&a, &loop, &ctx);
	CHECK_EQ(weir_loop_deadline(&loop), WEIR_FOREVER);
	call_init(&b, &loop);
	QUEUE_SOON(end_at(&b.op, &late, &ctx, soon));
	CHECK(weir_loop_deadline(&loop) != WEIR_FOREVER);
	while (!b.ran)
		weir_loop_dispatch(&loop);
	CALL_WAS(&b, WEIR_ETIMEDOUT);
	CHECK_ERR(weir_ctx_err(&late), WEIR_ETIMEDOUT);
	CHECK_EQ(a.ran, 0);
	weir_ctx_cancel(&ctx);
	CHECK_EQ(a.ran, 0);
	CHECK_ERR(weir_loop_destroy(&loop), WEIR_EBUSY);
	CHECK_ERR(weir_ctx_destroy(&ctx), WEIR_EBUSY);
	CHECK_EQ(weir_loop_dispatch(&loop), 1);
	CALL_WAS(&a, WEIR_ECANCELED);
	CHECK_OK(weir_ctx_destroy(&late));
	CHECK_OK(weir_ctx_destroy(&ctx));
	CHECK_OK(weir_loop_destroy(&loop));
}

/* C35: op_cancel prevents the callback; after the end it is too late. */
TEST(c35_end_cancelled)
{
	weir_ctx ctx = WEIR_CTX_INIT;
	weir_loop loop;
	struct call a, b, c;

	calls_from_zero();
	CHECK_OK(weir_loop_init(&loop));
	submit_end(&a, NULL, &ctx);
	CHECK_PANICS("already submitted",
		     CHECK_ERR(weir_op_submit_end(&a.op, &ctx), WEIR_EINVAL));
	CHECK_OK(weir_op_cancel(&a.op));
	CHECK_ERR(weir_op_cancel(&a.op), WEIR_EBUSY);
	CHECK_OK(weir_ctx_destroy(&ctx));
	CHECK_OK(weir_ctx_init(&ctx, NULL, weir_deadline_after(3600000000000)));
	submit_end(&b, &loop, &ctx);
	submit_end(&c, &loop, &ctx);
	CHECK_OK(weir_op_cancel(&b.op));
	weir_ctx_cancel(&ctx);
	/* Decided, but its callback has not begun. */
	CHECK_OK(weir_op_cancel(&c.op));
	CHECK_EQ(weir_loop_dispatch(&loop), 0);
	CHECK_EQ(calls_ran, 0);
	CHECK_OK(weir_ctx_destroy(&ctx));
	CHECK_OK(weir_loop_destroy(&loop));
}

/* C35: a polled operation also notices the deadline. */
TEST(c35_end_polled)
{
	weir_ctx ctx = WEIR_CTX_INIT, late;
	weir_op a, b;

	weir_op_init(&a, NULL, NULL, NULL);
	weir_op_init(&b, NULL, NULL, NULL);
	CHECK_ERR(weir_op_submit_end(&a, &ctx), WEIR_EQUEUED);
	CHECK_ERR(weir_op_poll(&a), WEIR_EQUEUED);
	QUEUE_SOON(end_at(&b, &late, NULL, soon));
	AWAIT(weir_now_ns() >= weir_ctx_deadline(&late));
	CHECK_ERR(weir_op_poll(&b), WEIR_ETIMEDOUT);
	CHECK_ERR(weir_op_poll(&b), WEIR_EINVAL);
	weir_ctx_cancel(&ctx);
	CHECK_ERR(weir_op_poll(&a), WEIR_ECANCELED);
	CHECK_OK(weir_ctx_destroy(&late));
	CHECK_OK(weir_ctx_destroy(&ctx));
}

/* C1: arguments; a deadline needs a thread that checks it. */
TEST(c35_end_arguments)
{
	weir_ctx ctx;
	struct call a;

	CHECK_OK(weir_ctx_init(&ctx, NULL, weir_deadline_after(3600000000000)));
	call_init(&a, NULL);
	CHECK_ERR(weir_op_submit_end(&a.op, &ctx), WEIR_EINVAL);
	CHECK_ERR(weir_op_submit_end(&a.op, NULL), WEIR_EINVAL);
	CHECK_ERR(weir_op_submit_end(NULL, &ctx), WEIR_EINVAL);
	CHECK_OK(weir_ctx_destroy(&ctx));
}

/* C35: the operation can serve a semaphore afterwards, and again an end. */
TEST(c35_end_then_acquire)
{
	weir_sem sem = WEIR_SEM_INIT_OPTS(0, 1, "s", WEIR_FIFO, 0);
	weir_ctx ctx = WEIR_CTX_INIT;
	struct call a;

	calls_from_zero();
	submit_end(&a, NULL, &ctx);
	CHECK_OK(weir_op_cancel(&a.op));
	CHECK_ERR(weir_op_submit(&a.op, &sem, 1, &ctx), WEIR_EQUEUED);
	weir_sem_release(&sem, 1);
	CALL_WAS(&a, WEIR_OK);
	submit_end(&a, NULL, &ctx);
	weir_ctx_cancel(&ctx);
	CHECK_EQ(calls_ran, 2);
	CHECK_OK(weir_ctx_destroy(&ctx));
}
