/* SPDX-License-Identifier: MIT */
/*
 * One thread, an event loop, a hundred requests and three connections: a request
 * that finds no free connection waits as an operation.  (Timers simulate the
 * server.)
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <weir/loop/epoll.h>
#include <weir/pool_async.h>

enum { REQUESTS = 100, CONNECTIONS = 3 };

struct connection {
	int fd;
	weir_pool_item *item;		/* while it is borrowed */
};

static weir_pool pool;
static weir_loop loop;
static int ep, made, answered;

static weir_err dial(void *user, struct weir_ctx *ctx, void **resource)
{
	struct connection *c = calloc(1, sizeof(*c));
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = c };

	(void)user, (void)ctx;
	if (c)
		c->fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	if (!c || c->fd < 0 || epoll_ctl(ep, EPOLL_CTL_ADD, c->fd, &event)) {
		free(c);
		return WEIR_ESYSTEM;
	}
	made++;
	*resource = c;
	return WEIR_OK;
}

static void hang_up(void *user, void *resource)
{
	(void)user;
	close(((struct connection *)resource)->fd);
	free(resource);
}

/* The request has a connection: send it.  The loop reports the answer. */
static void borrowed(weir_pool_op *op, weir_err err, weir_pool_item *item,
		     void *user)
{
	struct itimerspec soon = { .it_value.tv_nsec = 1000000 };
	struct connection *c = err ? NULL : item->resource;

	(void)op, (void)user;
	if (!c || timerfd_settime(c->fd, 0, &soon, NULL))
		exit(1);
	c->item = item;
}

static void answer(struct connection *c)
{
	unsigned long long times;

	if (read(c->fd, &times, sizeof(times)) > 0)
		answered++;
	weir_pool_give_back(&pool, c->item);	/* to the next request */
}

int main(void)
{
	const weir_pool_opts opts = { .max = CONNECTIONS, .create = dial,
				      .destroy = hang_up, .name = "server" };
	static weir_pool_op requests[REQUESTS];
	struct epoll_event event;
	weir_pool_item *item;

	ep = epoll_create1(EPOLL_CLOEXEC);
	if (ep < 0 || weir_loop_init(&loop) || weir_pool_init(&pool, NULL, &opts) ||
	    weir_loop_epoll_add(ep, &loop, &loop))
		return 1;
	for (int i = 0; i < REQUESTS; i++) {
		weir_err err;

		weir_pool_op_init(&requests[i], &loop, borrowed, NULL);
		err = weir_pool_op_borrow(&requests[i], &pool, "a request", NULL,
					  &item);
		if (err != WEIR_EQUEUED)
			borrowed(&requests[i], err, item, NULL);
	}
	while (answered < REQUESTS)
		if (weir_loop_epoll_wait(ep, &loop, &event, 1, -1) == 1 &&
		    event.data.ptr != &loop)
			answer(event.data.ptr);
	weir_pool_close(&pool);
	printf("%d requests over %d connections, by one thread\n", answered, made);
	return weir_pool_destroy(&pool) || weir_loop_destroy(&loop) || close(ep);
}
