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
 */
#include <errno.h>
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
 * Wait as epoll_wait(2), but not beyond the next deadline of the loop; then
 * dispatch.  Returns as epoll_wait(2).
 */
static inline int weir_loop_epoll_wait(int ep, weir_loop *loop,
				       struct epoll_event *events, int max,
				       int timeout_ms)
{
	int own_ms = weir_loop_timeout_ms(loop), n, why;

	if (timeout_ms < 0 || (own_ms >= 0 && own_ms < timeout_ms))
		timeout_ms = own_ms;
	n = epoll_wait(ep, events, max, timeout_ms);
	/* Callbacks may change errno. */
	why = errno;
	weir_loop_dispatch(loop);
	errno = why;
	return n;
}

#endif /* WEIR_LOOP_EPOLL_H */
