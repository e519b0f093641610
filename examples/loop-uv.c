/* SPDX-License-Identifier: MIT */
/* Operations in a libuv loop: weir/loop/uv.h. */
#include "loop-demo.h"

#include "weir/loop/uv.h"

static weir_loop_uv in_uv;

static void demo_over(void)
{
	weir_loop_uv_stop(&in_uv);
}

int main(void)
{
	uv_loop_t uv;
	pthread_t holder;
	weir_loop loop;

	if (uv_loop_init(&uv) || weir_loop_init(&loop) ||
	    weir_loop_uv_start(&in_uv, &uv, &loop))
		return 1;
	holder = demo_begin(&loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	return uv_loop_close(&uv) || demo_end(&loop, holder);
}
