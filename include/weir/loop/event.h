/* SPDX-License-Identifier: MIT */
#ifndef WEIR_LOOP_EVENT_H
#define WEIR_LOOP_EVENT_H

/*
 * A weir_loop in a libevent loop.
 *
 *     weir_loop_event in_event;
 *     weir_loop_event_start(&in_event, base, &loop);
 *     event_base_dispatch(base);
 *
 * The adapter keeps event_base_dispatch running until weir_loop_event_stop,
 * which a callback may call.
 */
#include <event2/event.h>

#include "weir/loop.h"

typedef struct weir_loop_event {
	struct event *ready, *late;
	weir_loop *loop;
} weir_loop_event;

/*
 * If a submit makes the next deadline earlier, the descriptor becomes readable.
 */
static inline void weir_loop_event_run_(evutil_socket_t fd, short what, void *arg)
{
	weir_loop_event *in = (weir_loop_event *)arg;
	struct timeval left;
	int ms;

	(void)fd;
	(void)what;
	weir_loop_dispatch(in->loop);
	if (!in->late)
		return;
	ms = weir_loop_timeout_ms(in->loop);
	if (ms < 0) {
		event_del(in->late);
		return;
	}
	left.tv_sec = ms / 1000;
	left.tv_usec = ms % 1000 * 1000;
	event_add(in->late, &left);
}

static inline void weir_loop_event_stop(weir_loop_event *in)
{
	if (in->ready)
		event_free(in->ready);
	if (in->late)
		event_free(in->late);
	in->ready = in->late = 0;
}

/* Returns 0, or -1 if libevent has no memory or cannot poll the descriptor. */
static inline int weir_loop_event_start(weir_loop_event *in,
					struct event_base *base, weir_loop *loop)
{
	/*
	 * Deadlines may exist already; the descriptor does not announce them.
	 */
	struct timeval now = { 0, 0 };

	in->loop = loop;
	in->ready = event_new(base, weir_loop_fd(loop), EV_READ | EV_PERSIST,
			      weir_loop_event_run_, in);
	in->late = event_new(base, -1, 0, weir_loop_event_run_, in);
	if (in->ready && in->late && !event_add(in->ready, 0) &&
	    !event_add(in->late, &now))
		return 0;
	weir_loop_event_stop(in);
	return -1;
}

#endif /* WEIR_LOOP_EVENT_H */
