/* SPDX-License-Identifier: MIT */
/* Operations on a channel: every result, from every state. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "soon.h"
#include "weir/chan_async.h"
#include "weir/ctx.h"
#include "weir/loop.h"

static weir_chan chan;
static weir_loop loop;
static int notified;

struct call {
	weir_chan_op op;
	int item;
	int ran;		/* how often the callback ran */
	int turn;		/* callbacks that ran before */
	weir_err err;
	pthread_t on;
};

static void ran(weir_chan_op *op, weir_err err, void *user)
{
	struct call *c = user;

	CHECK(op == &c->op);
	c->turn = notified++;
	c->err = err;
	c->on = pthread_self();
	c->ran++;
}

static void begin(int64_t capacity, int full)
{
	notified = 0;
	CHECK_OK(weir_loop_init(&loop));
	CHECK_OK(weir_chan_init(&chan, NULL, capacity, sizeof(int)));
	for (int i = 0; i < full; i++)
		CHECK_OK(weir_chan_try_send(&chan, &i));
}

/* free slots + items = capacity: finds lost and surplus permits. */
static void end_with(int64_t items)
{
	weir_chan_info info;

	CHECK_OK(weir_chan_stat(&chan, &info));
	CHECK_EQ(info.length, items);
	CHECK_EQ(info.senders + info.receivers, 0);
	CHECK(info.closed || info.space + info.length == info.capacity);
	CHECK_OK(weir_chan_destroy(&chan));
	CHECK_OK(weir_loop_destroy(&loop));
}

static void prepare(struct call *c, weir_loop *on, int item)
{
	*c = (struct call){ .item = item };
	weir_chan_op_init(&c->op, on, ran, c);
}

static void queue_send(struct call *c, weir_loop *on, int item)
{
	prepare(c, on, item);
	CHECK_ERR(weir_chan_op_send(&c->op, &chan, &c->item, NULL),
		  WEIR_EQUEUED);
}

static void queue_recv(struct call *c, weir_loop *on, struct weir_ctx *ctx)
{
	prepare(c, on, -1);
	CHECK_ERR(weir_chan_op_recv(&c->op, &chan, &c->item, ctx),
		  WEIR_EQUEUED);
}

static void send(int item)
{
	CHECK_OK(weir_chan_try_send(&chan, &item));
}

static int recv(void)
{
	int item = -1;

	CHECK_OK(weir_chan_try_recv(&chan, &item));
	return item;
}

static void was(const struct call *c, weir_err err, int item)
{
	CHECK_EQ(c->ran, 1);
	CHECK_ERR(c->err, err);
	CHECK_EQ(c->item, item);
}

TEST(c35_at_once_without_a_callback)
{
	struct call a;

	begin(1, 0);
	prepare(&a, NULL, 7);
	CHECK_OK(weir_chan_op_send(&a.op, &chan, &a.item, NULL));
	a.item = 0;
	CHECK_OK(weir_chan_op_recv(&a.op, &chan, &a.item, NULL));
	CHECK_EQ(a.item, 7);
	/* A plain deadline limits waiting only, and this call does not wait. */
	prepare(&a, &loop, 8);
	CHECK_OK(weir_chan_op_send_until(&a.op, &chan, &a.item, 0));
	a.item = 0;
	CHECK_OK(weir_chan_op_recv_until(&a.op, &chan, &a.item, 0));
	CHECK_EQ(a.item, 8);
	CHECK_EQ(notified, 0);
	CHECK_ERR(weir_chan_op_cancel(&a.op), WEIR_EBUSY);
	end_with(0);
}

TEST(c35_notified_in_the_call_that_decides)
{
	struct call a, b;

	begin(1, 0);
	queue_recv(&a, NULL, NULL);
	send(5);
	was(&a, WEIR_OK, 5);
	CHECK(pthread_equal(a.on, pthread_self()));
	send(6);
	queue_send(&b, NULL, 7);
	CHECK_EQ(b.ran, 0);
	CHECK_EQ(recv(), 6);
	was(&b, WEIR_OK, 7);
	CHECK_EQ(recv(), 7);
	CHECK_ERR(weir_chan_op_cancel(&a.op), WEIR_EBUSY);
	end_with(0);
}

TEST(c35_notified_on_the_loop_in_order)
{
	struct call a, b, c;

	begin(3, 0);
	queue_recv(&a, &loop, NULL);
	queue_recv(&b, &loop, NULL);
	queue_recv(&c, &loop, NULL);
	for (int i = 0; i < 3; i++)
		send(i);
	CHECK_EQ(notified, 0);
	/* The items are reserved for the operations that were granted. */
	CHECK_ERR(weir_chan_try_recv(&chan, &(int){ 0 }), WEIR_EAGAIN);
	CHECK_EQ(weir_loop_dispatch(&loop), 3);
	was(&a, WEIR_OK, 0);
	was(&b, WEIR_OK, 1);
	was(&c, WEIR_OK, 2);
	CHECK(a.turn < b.turn && b.turn < c.turn);
	end_with(0);
}

/* C7: a decided operation delays no other one, even if it is never polled. */
TEST(c7_stalled_operations_delay_no_others)
{
	struct call a = { .item = -1 }, b = { .item = -1 };

	begin(2, 0);
	weir_chan_op_init(&a.op, NULL, NULL, NULL);
	weir_chan_op_init(&b.op, NULL, NULL, NULL);
	CHECK_ERR(weir_chan_op_recv(&a.op, &chan, &a.item, NULL), WEIR_EQUEUED);
	CHECK_ERR(weir_chan_op_recv(&b.op, &chan, &b.item, NULL), WEIR_EQUEUED);
	send(1);
	send(2);
	CHECK_OK(weir_chan_op_poll(&b.op));
	CHECK_OK(weir_chan_op_poll(&a.op));
	CHECK_EQ(b.item, 1);
	CHECK_EQ(a.item, 2);
	send(3);
	send(4);
	CHECK_ERR(weir_chan_op_send(&a.op, &chan, &a.item, NULL), WEIR_EQUEUED);
	CHECK_ERR(weir_chan_op_send(&b.op, &chan, &b.item, NULL), WEIR_EQUEUED);
	CHECK_EQ(recv(), 3);
	CHECK_EQ(recv(), 4);
	CHECK_OK(weir_chan_op_poll(&b.op));
	CHECK_OK(weir_chan_op_poll(&a.op));
	CHECK_EQ(recv(), 1);
	CHECK_EQ(recv(), 2);
	end_with(0);
}

static void *recv_one(void *item)
{
	CHECK_OK(weir_chan_recv(&chan, item, NULL));
	return item;
}

/* C3: a thread queued between operations; all are granted in order. */
TEST(c3_one_queue_with_threads)
{
	struct call a, c;
	check_thread b;
	int item = -1;

	begin(1, 0);
	queue_recv(&a, NULL, NULL);
	b = start(recv_one, &item);
	AWAIT(waiters_of(&chan.items_) == 2);
	queue_recv(&c, NULL, NULL);
	send(0);
	was(&a, WEIR_OK, 0);
	CHECK_OK(weir_chan_send(&chan, &(int){ 1 }, NULL));
	finish(b);
	CHECK_EQ(item, 1);
	CHECK_EQ(c.ran, 0);
	CHECK_OK(weir_chan_send(&chan, &(int){ 2 }, NULL));
	was(&c, WEIR_OK, 2);
	end_with(0);
}

/* C35, C7: the turn or the permit of a cancelled operation goes to the next. */
TEST(c35_cancel_in_every_state)
{
	struct call a, b;

	begin(1, 0);
	prepare(&a, &loop, 0);
	CHECK_ERR(weir_chan_op_cancel(&a.op), WEIR_EBUSY);
	queue_recv(&a, &loop, NULL);
	queue_recv(&b, NULL, NULL);
	CHECK_OK(weir_chan_op_cancel(&a.op));
	CHECK_ERR(weir_chan_op_cancel(&a.op), WEIR_EBUSY);
	memset(&a, 0xa5, sizeof(a));
	send(1);
	was(&b, WEIR_OK, 1);
	/* Granted, and not notified yet. */
	queue_recv(&a, &loop, NULL);
	queue_recv(&b, NULL, NULL);
	send(2);
	CHECK_OK(weir_chan_op_cancel(&a.op));
	CHECK_EQ(a.item, -1);
	was(&b, WEIR_OK, 2);
	/* The same for senders. */
	send(3);
	queue_send(&a, &loop, 4);
	queue_send(&b, NULL, 5);
	CHECK_EQ(recv(), 3);
	CHECK_OK(weir_chan_op_cancel(&a.op));
	was(&b, WEIR_OK, 5);
	CHECK_EQ(recv(), 5);
	CHECK_EQ(weir_loop_dispatch(&loop), 0);
	end_with(0);
}

static void run_until_notified(int times)
{
	while (notified < times) {
		struct pollfd p = { .fd = weir_loop_fd(&loop),
				    .events = POLLIN };

		(void)poll(&p, 1, weir_loop_timeout_ms(&loop));
		(void)weir_loop_dispatch(&loop);
	}
}

TEST(c14_deadlines)
{
	weir_ctx ctx;
	struct call a, b;

	begin(1, 1);
	prepare(&a, NULL, 9);
	CHECK_OK(weir_ctx_init(&ctx, NULL, weir_deadline_after(3600000000000)));
	CHECK_ERR(weir_chan_op_send(&a.op, &chan, &a.item, &ctx), WEIR_EINVAL);
	CHECK_ERR(weir_chan_op_send_until(&a.op, &chan, &a.item, 1),
		  WEIR_EINVAL);
	CHECK_ERR(weir_chan_op_recv_until(&a.op, &chan, &a.item, 1),
		  WEIR_EINVAL);
	CHECK_EQ(a.item, 9);
	prepare(&a, &loop, 9);
	CHECK_ERR(weir_chan_op_send_until(&a.op, &chan, &a.item, 1),
		  WEIR_ETIMEDOUT);
	prepare(&b, &loop, 8);
	QUEUE_SOON(weir_chan_op_send_until(&a.op, &chan, &a.item, soon));
	CHECK_ERR(weir_chan_op_send_until(&b.op, &chan, &b.item,
					  weir_deadline_after(3600000000000)),
		  WEIR_EQUEUED);
	run_until_notified(1);
	was(&a, WEIR_ETIMEDOUT, 9);
	CHECK_EQ(recv(), 0);
	run_until_notified(2);
	was(&b, WEIR_OK, 8);
	CHECK_EQ(recv(), 8);
	prepare(&a, &loop, -1);
	QUEUE_SOON(weir_chan_op_recv_until(&a.op, &chan, &a.item, soon));
	run_until_notified(3);
	was(&a, WEIR_ETIMEDOUT, -1);
	CHECK_OK(weir_ctx_destroy(&ctx));
	end_with(0);
}

/* C13: also after a grant; the permit goes to the next. */
TEST(c13_ended_context_wins)
{
	weir_ctx ctx = WEIR_CTX_INIT;
	struct call a, b;

	begin(2, 0);
	queue_recv(&a, NULL, &ctx);
	queue_recv(&b, &loop, &ctx);
	CHECK_ERR(weir_chan_op_cancel(&b.op), WEIR_OK);
	queue_recv(&b, &loop, &ctx);
	send(1);
	was(&a, WEIR_OK, 1);
	send(2);
	queue_recv(&a, NULL, &ctx);
	weir_ctx_cancel(&ctx);
	was(&a, WEIR_ECANCELED, -1);
	CHECK_EQ(weir_loop_dispatch(&loop), 1);
	was(&b, WEIR_ECANCELED, -1);
	CHECK_EQ(recv(), 2);
	CHECK_ERR(weir_chan_op_send(&a.op, &chan, &a.item, &ctx),
		  WEIR_ECANCELED);
	CHECK_OK(weir_ctx_destroy(&ctx));
	end_with(0);
}

TEST(c35_polled)
{
	struct call a;

	begin(1, 0);
	a = (struct call){ .item = -1 };
	weir_chan_op_init(&a.op, NULL, NULL, NULL);
	CHECK_ERR(weir_chan_op_poll(&a.op), WEIR_EINVAL);
	CHECK_ERR(weir_chan_op_recv(&a.op, &chan, &a.item, NULL), WEIR_EQUEUED);
	CHECK_ERR(weir_chan_op_poll(&a.op), WEIR_EQUEUED);
	send(4);
	CHECK_EQ(a.item, -1);
	CHECK_OK(weir_chan_op_poll(&a.op));
	CHECK_EQ(a.item, 4);
	CHECK_ERR(weir_chan_op_poll(&a.op), WEIR_EINVAL);
	CHECK_ERR(weir_chan_op_recv(&a.op, &chan, &a.item, NULL), WEIR_EQUEUED);
	send(5);
	CHECK_OK(weir_chan_op_cancel(&a.op));
	CHECK_EQ(recv(), 5);
	QUEUE_SOON(weir_chan_op_recv_until(&a.op, &chan, &a.item, soon));
	AWAIT(weir_chan_op_poll(&a.op) == WEIR_ETIMEDOUT);
	CHECK_EQ(a.item, 4);
	end_with(0);
}

/*
 * The oldest operation was initialised again.  A semaphore inside the channel
 * detects that; the message names the operation, which the program knows.
 */
TEST(initialised_again_while_queued)
{
	char words[64];
	struct call c;

	begin(1, 0);
	prepare(&c, NULL, 0);
	CHECK_ERR(weir_chan_op_recv(&c.op, &chan, &c.item, NULL), WEIR_EQUEUED);
	(void)snprintf(words, sizeof(words), "operation %p,", (void *)&c.op);
	prepare(&c, NULL, 0);
	CHECK_PANICS(words, weir_chan_close(&chan));
	CHECK_OK(weir_loop_destroy(&loop));
}
