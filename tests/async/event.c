/* SPDX-License-Identifier: MIT */
/* A weir_loop in libevent: what the example does not come to. */
#include "started_late.h"
#include "weir/loop/event.h"

static weir_loop_event in_event;

static void stop(weir_op *op, weir_err err, void *user)
{
	call_ran(op, err, user);
	weir_loop_event_stop(&in_event);
}

/* C35: a deadline that is older than the watching is watched. */
TEST(started_with_a_deadline)
{
	struct event_base *base = event_base_new();

	CHECK(base);
	begin_late(stop);
	CHECK_EQ(weir_loop_event_start(&in_event, base, &watched), 0);
	CHECK(event_base_dispatch(base) >= 0);
	event_base_free(base);
	end_late();
}
