/* SPDX-License-Identifier: MIT */
/* A weir_loop in libuv: cases that the example does not cover. */
#include "started_late.h"
#include "weir/loop/uv.h"

static weir_loop_uv in_uv;

static void stop(void)
{
	weir_loop_uv_stop(&in_uv);
}

/* C35: a deadline submitted before the start is kept. */
TEST(started_with_a_deadline)
{
	uv_loop_t uv;

	begin_late(stop);
	CHECK_EQ(uv_loop_init(&uv), 0);
	CHECK_EQ(weir_loop_uv_start(&in_uv, &uv, &late_loop), 0);
	CHECK_EQ(uv_run(&uv, UV_RUN_DEFAULT), 0);
	CHECK_EQ(uv_loop_close(&uv), 0);
	/* Close the descriptors of libuv as well. */
	uv_library_shutdown();
	end_late();
}
