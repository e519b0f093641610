/* SPDX-License-Identifier: MIT */
/*
 * A waiter of a higher room in a context: a cancel calls its `end` once, on the
 * canceller's thread, before it returns (C13).
 */
#include "check.h"
#include "core/ctx_wait.h"

static int ends;
static weir_err reason;

static void end(struct weir_waiter_ *w, weir_err why)
{
	CHECK(w->ctx);
	ends++;
	reason = why;
}

TEST(c13_a_cancel_reaches_a_waiter_of_a_higher_room)
{
	weir_ctx parent = WEIR_CTX_INIT, ctx;
	struct weir_waiter_ w = { .wants = WEIR_WANTS_OTHER_, .end = end };

	CHECK_OK(weir_ctx_init(&ctx, &parent, WEIR_FOREVER));
	w.ctx = &ctx;
	CHECK_OK(weir_ctx_join_(&ctx, &w));
	CHECK_ERR(weir_ctx_destroy(&ctx), WEIR_EBUSY);
	CHECK_EQ(ends, 0);
	weir_ctx_cancel(&parent);
	CHECK_EQ(ends, 1);
	CHECK_ERR(reason, WEIR_ECANCELED);
	CHECK_ERR(weir_ctx_leave_(&ctx, &w, false), WEIR_ECANCELED);
	weir_ctx_cancel(&parent);
	CHECK_EQ(ends, 1);
	CHECK_OK(weir_ctx_destroy(&ctx));
	CHECK_OK(weir_ctx_destroy(&parent));
}
