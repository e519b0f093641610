/* SPDX-License-Identifier: MIT */
/* Operations in a libevent loop: weir/loop/event.h. */
#include "loop-demo.h"

#include "weir/loop/event.h"

static weir_loop_event in_event;

static void demo_over(void)
{
	weir_loop_event_stop(&in_event);
}

int main(void)
{
	struct event_base *base = event_base_new();
	pthread_t holder;
	weir_loop loop;

	if (!base || weir_loop_init(&loop) ||
	    weir_loop_event_start(&in_event, base, &loop))
		return 1;
	holder = demo_begin(&loop);
	event_base_dispatch(base);
	event_base_free(base);
	return demo_end(&loop, holder);
}
