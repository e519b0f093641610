/* SPDX-License-Identifier: MIT */
/* A weir_loop in libuv: what the example does not come to. */
#include "started_late.h"
#include "weir/loop/uv.h"

static weir_loop_uv in_uv;

static void stop(weir_op *op, weir_err err, void *user)
{
	call_ran(op, err, user);
	weir_loop_uv_stop(&in_uv);
}

/* C35: a deadline that is older than the watching is watched. */
TEST(started_with_a_deadline)
{
	uv_loop_t uv;

	begin_late(stop);
	CHECK_EQ(uv_loop_init(&uv), 0);
	CHECK_EQ(weir_loop_uv_start(&in_uv, &uv, &watched), 0);
	CHECK_EQ(uv_run(&uv, UV_RUN_DEFAULT), 0);
	CHECK_EQ(uv_loop_close(&uv), 0);
	/* Its own descriptors too. */
	uv_library_shutdown();
	end_late();
}
