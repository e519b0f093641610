/* SPDX-License-Identifier: MIT */
/* The adapter for epoll: when callbacks run, and what they may free. */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "calls.h"

/* Called by the adapter in place of epoll_wait(2). */
static void (*before_wait)(void);
static int waited_ms;

static int scripted_wait(int ep, struct epoll_event *events, int max, int ms)
{
	waited_ms = ms;
	if (before_wait)
		before_wait();
	return epoll_wait(ep, events, max, ms);
}

#define epoll_wait scripted_wait
#include "weir/loop/epoll.h"
#undef epoll_wait

static weir_sem sem;
static weir_loop loop;

/* A connection that its callback closes and frees. */
static struct connection {
	int fd, peer;
	weir_op op;
} *conn;
static int ep;

static void closes(weir_op *op, weir_err err, void *user)
{
	struct connection *mine = user;

	CHECK(op == &mine->op);
	CHECK(!err || err == WEIR_ETIMEDOUT);
	if (!err)
		weir_sem_release(&sem, 1);
	close(mine->fd);
	close(mine->peer);
	free(mine);
	conn = NULL;
}

static void begin(int64_t deadline_ns)
{
	struct epoll_event readable = { .events = EPOLLIN };
	int ends[2];

	before_wait = NULL;
	conn = malloc(sizeof(*conn));
	ep = epoll_create1(EPOLL_CLOEXEC);
	CHECK(conn && ep >= 0 && !socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	conn->fd = ends[0];
	conn->peer = ends[1];
	readable.data.ptr = conn;
	CHECK_OK(weir_sem_init_opts(&sem, &(weir_sem_opts){ .capacity = 1 }));
	CHECK_OK(weir_loop_init(&loop));
	CHECK_EQ(epoll_ctl(ep, EPOLL_CTL_ADD, conn->fd, &readable), 0);
	CHECK_EQ(weir_loop_epoll_add(ep, &loop, &loop), 0);
	weir_op_init(&conn->op, &loop, closes, conn);
	CHECK_ERR(weir_op_submit_until(&conn->op, &sem, 1, deadline_ns),
		  WEIR_EQUEUED);
}

static void end(void)
{
	CHECK(!conn);
	close(ep);
	CHECK_OK(weir_loop_destroy(&loop));
	CHECK_OK(weir_sem_destroy(&sem));
}

static void arrives(void)
{
	CHECK_EQ(write(conn->peer, "x", 1), 1);
}

static void arrives_and_is_granted(void)
{
	arrives();
	weir_sem_release(&sem, 1);
}

/* Handle the events as a program would.  Returns how many there were. */
static int handle(const struct epoll_event *events, int n)
{
	int handled = 0;
	char byte;

	for (int i = 0; i < n; i++) {
		const struct connection *to = events[i].data.ptr;

		if (events[i].data.ptr == &loop)
			continue;
		CHECK_EQ(read(to->fd, &byte, 1), 1);
		handled++;
	}
	return handled;
}

/*
 * C36: data arrives and the operation is granted during the wait.  The
 * callback, which frees the connection, runs after the program has handled the
 * event; the call that runs it returns, although it may wait for ever.
 */
TEST(c36_no_callback_before_events_are_handled)
{
	struct epoll_event events[8];

	begin(WEIR_FOREVER);
	before_wait = arrives_and_is_granted;
	CHECK_EQ(handle(events,
			weir_loop_epoll_wait(ep, &loop, events, 8, -1)), 1);
	CHECK(conn);
	before_wait = NULL;
	CHECK_EQ(weir_loop_epoll_wait(ep, &loop, events, 8, -1), 0);
	CHECK_EQ(waited_ms, 0);
	end();
}

/* C36: both before the call.  The connection is freed; it has no event. */
TEST(c36_no_event_after_callback)
{
	struct epoll_event events[8];

	begin(WEIR_FOREVER);
	arrives_and_is_granted();
	CHECK_EQ(handle(events,
			weir_loop_epoll_wait(ep, &loop, events, 8, -1)), 0);
	end();
}

/* C36: a program that always has events does not keep a callback waiting. */
TEST(c36_events_do_not_delay_callbacks)
{
	struct epoll_event events[1];

	begin(WEIR_FOREVER);
	arrives_and_is_granted();
	/* The event is not handled, and stays the first. */
	for (int i = 0; conn && i < 2; i++)
		(void)weir_loop_epoll_wait(ep, &loop, events, 1, -1);
	end();
}

/* The wait is as long as the shorter of the timeout and the next deadline. */
TEST(epoll_timeouts)
{
	struct epoll_event events[8];

	begin(weir_deadline_after(INT64_C(3600) * 1000000000));
	before_wait = arrives;
	CHECK_EQ(handle(events,
			weir_loop_epoll_wait(ep, &loop, events, 8, -1)), 1);
	CHECK(waited_ms > 0 && waited_ms <= 3600000);
	CHECK_EQ(handle(events,
			weir_loop_epoll_wait(ep, &loop, events, 8, 7)), 1);
	CHECK_EQ(waited_ms, 7);
	CHECK_OK(weir_op_cancel(&conn->op));
	CHECK_EQ(handle(events,
			weir_loop_epoll_wait(ep, &loop, events, 8, 9)), 1);
	CHECK_EQ(waited_ms, 9);
	CHECK_EQ(handle(events,
			weir_loop_epoll_wait(ep, &loop, events, 8, -1)), 1);
	closes(&conn->op, WEIR_ETIMEDOUT, conn);
	end();
}

/* errno is that of epoll_wait, also if a callback changes errno. */
static void changes_errno(weir_op *op, weir_err err, void *user)
{
	call_ran(op, err, user);
	errno = 0;
}

TEST(epoll_errno_is_kept)
{
	struct epoll_event event;
	struct call c = { 0 };

	before_wait = NULL;
	CHECK_OK(weir_sem_init_opts(&sem, &(weir_sem_opts){ .capacity = 1 }));
	CHECK_OK(weir_loop_init(&loop));
	weir_op_init(&c.op, &loop, changes_errno, &c);
	CHECK_ERR(weir_op_submit(&c.op, &sem, 1, NULL), WEIR_EQUEUED);
	weir_sem_release(&sem, 1);
	CHECK_EQ(weir_loop_epoll_wait(-1, &loop, &event, 1, 0), -1);
	CHECK_EQ(errno, EBADF);
	CALL_WAS(&c, WEIR_OK);
	CHECK_OK(weir_loop_destroy(&loop));
}
