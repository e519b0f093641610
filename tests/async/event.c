/* SPDX-License-Identifier: MIT */
/* A weir_loop in libevent: cases that the example does not cover. */
#include "started_late.h"
#include "weir/loop/event.h"

static weir_loop_event in_event;

static void stop(void)
{
	weir_loop_event_stop(&in_event);
}

/* C35: a deadline submitted before the start is kept. */
TEST(started_with_a_deadline)
{
	struct event_base *base = event_base_new();

	CHECK(base);
	begin_late(stop);
	CHECK_EQ(weir_loop_event_start(&in_event, base, &late_loop), 0);
	CHECK(event_base_dispatch(base) >= 0);
	event_base_free(base);
	end_late();
}
