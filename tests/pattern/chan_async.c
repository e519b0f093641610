/* SPDX-License-Identifier: MIT */
/* Operations on a channel: how each ends, in every state that it can be in. */
#include <poll.h>
#include <stdlib.h>

#include "check.h"
#include "soon.h"
#include "weir/chan_async.h"
#include "weir/ctx.h"
#include "weir/loop.h"

static weir_chan chan;
static weir_loop loop;
static int told;

struct call {
	weir_chan_op op;
	int item;
	int ran;		/* how often */
	int turn;		/* how many were told before */
	weir_err err;
	pthread_t on;
};

static void ran(weir_chan_op *op, weir_err err, void *user)
{
	struct call *c = user;

	CHECK(op == &c->op);
	c->turn = told++;
	c->err = err;
	c->on = pthread_self();
	c->ran++;
}

static void begin(int64_t capacity, int full)
{
	told = 0;
	CHECK_OK(weir_loop_init(&loop));
	CHECK_OK(weir_chan_init(&chan, NULL, capacity, sizeof(int)));
	for (int i = 0; i < full; i++)
		CHECK_OK(weir_chan_try_send(&chan, &i));
}

/* empty + full = capacity: a permit more or less shows. */
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
	/* A plain deadline limits waiting only; there is none. */
	prepare(&a, &loop, 8);
	CHECK_OK(weir_chan_op_send_until(&a.op, &chan, &a.item, 0));
	a.item = 0;
	CHECK_OK(weir_chan_op_recv_until(&a.op, &chan, &a.item, 0));
	CHECK_EQ(a.item, 8);
	CHECK_EQ(told, 0);
	CHECK_ERR(weir_chan_op_cancel(&a.op), WEIR_EBUSY);
	end_with(0);
}

TEST(c35_told_in_the_call_that_decides)
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

TEST(c35_told_on_the_loop_in_order)
{
	struct call a, b, c;

	begin(3, 0);
	queue_recv(&a, &loop, NULL);
	queue_recv(&b, &loop, NULL);
	queue_recv(&c, &loop, NULL);
	for (int i = 0; i < 3; i++)
		send(i);
	CHECK_EQ(told, 0);
	/* They are kept for those who were given them. */
	CHECK_ERR(weir_chan_try_recv(&chan, &(int){ 0 }), WEIR_EAGAIN);
	CHECK_EQ(weir_loop_dispatch(&loop), 3);
	was(&a, WEIR_OK, 0);
	was(&b, WEIR_OK, 1);
	was(&c, WEIR_OK, 2);
	CHECK(a.turn < b.turn && b.turn < c.turn);
	end_with(0);
}

static void *recv_one(void *item)
{
	CHECK_OK(weir_chan_recv(&chan, item, NULL));
	return item;
}

/* C3: a thread among operations; each of them gets its turn. */
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

/* C35, C7: what it waited for, or had, goes to the next. */
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
	/* Decided, and not told yet. */
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

static void run_until_told(int times)
{
	while (told < times) {
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
	run_until_told(1);
	was(&a, WEIR_ETIMEDOUT, 9);
	CHECK_EQ(recv(), 0);
	run_until_told(2);
	was(&b, WEIR_OK, 8);
	CHECK_EQ(recv(), 8);
	prepare(&a, &loop, -1);
	QUEUE_SOON(weir_chan_op_recv_until(&a.op, &chan, &a.item, soon));
	run_until_told(3);
	was(&a, WEIR_ETIMEDOUT, -1);
	CHECK_OK(weir_ctx_destroy(&ctx));
	end_with(0);
}

/* C13: also one that was decided; what it had is there for others. */
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
