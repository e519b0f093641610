/* SPDX-License-Identifier: MIT */
/* Operations in an epoll loop: weir/loop/epoll.h. */
#include "loop-demo.h"

#include <stdbool.h>
#include <unistd.h>

#include "weir/loop/epoll.h"

static bool over;

static void demo_over(void)
{
	over = true;
}

int main(void)
{
	struct epoll_event events[16];
	int ep = epoll_create1(EPOLL_CLOEXEC);
	pthread_t holder;
	weir_loop loop;

	if (ep < 0 || weir_loop_init(&loop) ||
	    weir_loop_epoll_add(ep, &loop, &loop))
		return 1;
	holder = demo_begin(&loop);
	while (!over)
		if (weir_loop_epoll_wait(ep, &loop, events, 16, -1) < 0)
			return 1;
	close(ep);
	return demo_end(&loop, holder);
}
