/* SPDX-License-Identifier: MIT */
#ifndef WEIR_LOOP_EPOLL_H
#define WEIR_LOOP_EPOLL_H

/*
 * A weir_loop in an epoll(7) loop.
 *
 *     weir_loop_epoll_add(ep, &loop, &loop);
 *     for (;;) {
 *             n = weir_loop_epoll_wait(ep, &loop, events, 16, -1);
 *             for (i = 0; i < n; i++)
 *                     if (events[i].data.ptr != &loop)
 *                             ...                     yours
 *     }
 *
 * Handle all of events[] before the next call: it runs callbacks.
 */
#include <sys/epoll.h>

#include "weir/loop.h"

/*
 * Add loop to the epoll instance ep; `mark` is the data.ptr of its events.
 * Returns as epoll_ctl(2).
 */
static inline int weir_loop_epoll_add(int ep, weir_loop *loop, void *mark)
{
	struct epoll_event event;

	event.events = EPOLLIN;
	event.data.ptr = mark;
	return epoll_ctl(ep, EPOLL_CTL_ADD, weir_loop_fd(loop), &event);
}

/*
 * Dispatch the loop; then wait as epoll_wait(2), but not beyond the next
 * deadline of the loop, and not at all if a callback has run.  Returns as
 * epoll_wait(2).
 *
 * Callbacks run before the wait and never between the wait and the return: a
 * callback may free an object and close its descriptor, and events[] does not
 * refer to it.  Callbacks that become due during the wait run in the next call,
 * after the program has handled events[].
 */
static inline int weir_loop_epoll_wait(int ep, weir_loop *loop,
				       struct epoll_event *events, int max,
				       int timeout_ms)
{
	uint64_t ran = weir_loop_dispatch(loop);
	int own_ms = ran ? 0 : weir_loop_timeout_ms(loop);

	if (timeout_ms < 0 || (own_ms >= 0 && own_ms < timeout_ms))
		timeout_ms = own_ms;
	return epoll_wait(ep, events, max, timeout_ms);
}

#endif /* WEIR_LOOP_EPOLL_H */
