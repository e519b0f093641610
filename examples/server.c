/* SPDX-License-Identifier: MIT */
/*
 * A small server on epoll: at most LIMIT requests are in progress, the rest
 * wait in order of arrival, and a client that disconnects while it waits
 * leaves the queue.
 *
 *   server             serve 40 built-in clients, of which 10 disconnect
 *   server --port N    serve clients on 127.0.0.1 port N, until interrupted
 *
 * A client sends a line and gets a line back.  A request takes a while, like a
 * database query: a timer per request, no thread.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "weir/async.h"
#include "weir/loop/epoll.h"

#define LIMIT 4
#define WORK_NS 2000000
#define CLIENTS 40
#define LEAVERS 10

static weir_sem limit = WEIR_SEM_INIT(LIMIT);
static weir_loop loop;
static int ep, listener;
static int in_work, most_in_work, served, gone, waited;

/* One descriptor of a client.  The events of epoll point to it. */
struct end {
	int fd;
	struct client *client;
};

struct client {
	struct end socket, timer;
	weir_op op;
	enum { READING, WAITING, WORKING } state;
};

static void watch(struct end *end)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLRDHUP,
				     .data.ptr = end };

	epoll_ctl(ep, EPOLL_CTL_ADD, end->fd, &event);
}

static void drop(struct client *c)
{
	close(c->socket.fd);
	if (c->timer.fd >= 0)
		close(c->timer.fd);
	free(c);
}

/* The client has a permit: start its timer. */
static void work(struct client *c)
{
	struct itimerspec at = { .it_value = { 0, WORK_NS } };

	c->state = WORKING;
	if (++in_work > most_in_work)
		most_in_work = in_work;
	c->timer.fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	timerfd_settime(c->timer.fd, 0, &at, NULL);
	watch(&c->timer);
}

static void finish(struct client *c)
{
	static const char answer[] = "done\n";

	if (send(c->socket.fd, answer, sizeof(answer) - 1, MSG_NOSIGNAL) > 0)
		served++;
	in_work--;
	drop(c);
	weir_sem_release(&limit, 1);	/* grants to the next client */
}

/* Callback: the permit was granted.  Called from the loop. */
static void granted(weir_op *op, weir_err err, void *user)
{
	(void)op;
	if (err)
		drop(user);
	else
		work(user);
}

static void ask(struct client *c)
{
	weir_op_init(&c->op, &loop, granted, c);
	switch (weir_op_submit(&c->op, &limit, 1, NULL)) {
	case WEIR_OK:
		work(c);
		break;
	case WEIR_EQUEUED:
		c->state = WAITING;
		waited++;
		break;
	default:
		drop(c);
	}
}

/* The client has sent its line, or has disconnected. */
static void readable(struct client *c)
{
	char line[256];
	ssize_t n = recv(c->socket.fd, line, sizeof(line), MSG_DONTWAIT);

	if (n > 0 && c->state == READING) {
		ask(c);
	} else if (n == 0 || (n < 0 && errno != EAGAIN)) {
		/* Disconnected.  A request in progress is finished. */
		if (c->state == WORKING) {
			epoll_ctl(ep, EPOLL_CTL_DEL, c->socket.fd, NULL);
			return;
		}
		if (c->state == WAITING && weir_op_cancel(&c->op))
			return;		/* granted() will run */
		gone++;
		drop(c);
	}
}

static void accept_one(void)
{
	struct client *c = calloc(1, sizeof(*c));

	if (!c)
		abort();
	c->socket = (struct end){ accept(listener, NULL, NULL), c };
	c->timer = (struct end){ -1, c };
	if (c->socket.fd < 0)
		free(c);
	else
		watch(&c->socket);
}

static void serve_once(void)
{
	struct epoll_event events[16];
	int n = weir_loop_epoll_wait(ep, &loop, events, 1, -1);

	/* One event at a time: an event may free the client of the next. */
	for (int i = 0; i < n; i++) {
		struct end *end = events[i].data.ptr;

		if (events[i].data.ptr == &listener)
			accept_one();
		else if (events[i].data.ptr == &loop)
			continue;
		else if (end == &end->client->timer)
			finish(end->client);
		else
			readable(end->client);
	}
}

static struct sockaddr_in listen_on(int port)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				  .sin_port = htons((uint16_t)port) };
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = &listener };
	socklen_t size = sizeof(at);

	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(listener, (struct sockaddr *)&at, sizeof(at)) ||
	    listen(listener, 128) ||
	    getsockname(listener, (struct sockaddr *)&at, &size) ||
	    epoll_ctl(ep, EPOLL_CTL_ADD, listener, &event)) {
		perror("server");
		exit(1);
	}
	return at;
}

/* Serve built-in clients; some disconnect while they wait. */
static void serve_own(const struct sockaddr_in *at)
{
	int fds[CLIENTS];

	for (int i = 0; i < CLIENTS; i++) {
		fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (connect(fds[i], (const struct sockaddr *)at, sizeof(*at)) ||
		    send(fds[i], "hello\n", 6, MSG_NOSIGNAL) != 6) {
			perror("client");
			exit(1);
		}
	}
	/* Until all requests are in progress, waiting or served. */
	while (waited + served < CLIENTS - LIMIT)
		serve_once();
	for (int i = CLIENTS - LEAVERS; i < CLIENTS; i++)
		close(fds[i]);
	while (served + gone < CLIENTS)
		serve_once();
	for (int i = 0; i < CLIENTS - LEAVERS; i++)
		close(fds[i]);
}

int main(int argc, char **argv)
{
	struct sockaddr_in at;

	ep = epoll_create1(EPOLL_CLOEXEC);
	if (ep < 0 || weir_loop_init(&loop) ||
	    weir_loop_epoll_add(ep, &loop, &loop))
		return 1;
	if (argc == 3 && !strcmp(argv[1], "--port")) {
		at = listen_on(atoi(argv[2]));
		printf("serving on port %d\n", ntohs(at.sin_port));
		for (;;)
			serve_once();
	}
	if (argc != 1) {
		fprintf(stderr, "usage: server [--port N]\n");
		return 2;
	}
	at = listen_on(0);
	serve_own(&at);
	close(listener);
	close(ep);
	printf("%d served, %d went away while they waited, at most %d in work\n",
	       served, gone, most_in_work);
	return weir_loop_destroy(&loop) || most_in_work > LIMIT ||
	       served + gone != CLIENTS || weir_sem_available(&limit) != LIMIT;
}
