/* SPDX-License-Identifier: MIT */
/* Operations on a channel: close, destroy, misuse, long chains. */
#include <stdlib.h>

#include "check.h"
#include "weir/chan_async.h"
#include "weir/diag.h"
#include "weir/loop.h"

static weir_chan chan;
static weir_loop loop;

struct call {
	weir_chan_op op;
	int item, ran;
	weir_err err;
};

static void ran(weir_chan_op *op, weir_err err, void *user)
{
	struct call *c = user;

	(void)op;
	c->err = err;
	c->ran++;
}

static void begin(int64_t capacity)
{
	CHECK_OK(weir_loop_init(&loop));
	CHECK_OK(weir_chan_init(&chan, NULL, capacity, sizeof(int)));
}

static void end(void)
{
	CHECK_OK(weir_chan_destroy(&chan));
	CHECK_OK(weir_loop_destroy(&loop));
}

static void prepare(struct call *c, weir_loop *on, int item)
{
	*c = (struct call){ .item = item };
	weir_chan_op_init(&c->op, on, ran, c);
}

static weir_err send_op(struct call *c, weir_loop *on, int item)
{
	prepare(c, on, item);
	return weir_chan_op_send(&c->op, &chan, &c->item, NULL);
}

static weir_err recv_op(struct call *c, weir_loop *on)
{
	prepare(c, on, -1);
	return weir_chan_op_recv(&c->op, &chan, &c->item, NULL);
}

static void was(const struct call *c, weir_err err, int item)
{
	CHECK_EQ(c->ran, 1);
	CHECK_ERR(c->err, err);
	CHECK_EQ(c->item, item);
}

TEST(c19_close_notifies_waiters)
{
	struct call a, b;

	begin(1);
	CHECK_ERR(recv_op(&a, NULL), WEIR_EQUEUED);
	CHECK_ERR(recv_op(&b, &loop), WEIR_EQUEUED);
	weir_chan_close(&chan);
	was(&a, WEIR_ECLOSED, -1);
	CHECK_EQ(weir_loop_dispatch(&loop), 1);
	was(&b, WEIR_ECLOSED, -1);
	CHECK_ERR(recv_op(&a, NULL), WEIR_ECLOSED);
	CHECK_ERR(send_op(&a, NULL, 1), WEIR_ECLOSED);
	end();
	begin(1);
	CHECK_OK(send_op(&a, NULL, 1));
	CHECK_ERR(send_op(&a, NULL, 2), WEIR_EQUEUED);
	CHECK_ERR(send_op(&b, &loop, 3), WEIR_EQUEUED);
	weir_chan_close(&chan);
	was(&a, WEIR_ECLOSED, 2);
	CHECK_EQ(weir_loop_dispatch(&loop), 1);
	was(&b, WEIR_ECLOSED, 3);
	/*
	 * The remaining item is received at once; the next receive is refused.
	 */
	CHECK_OK(recv_op(&a, NULL));
	CHECK_EQ(a.item, 1);
	CHECK_ERR(recv_op(&a, NULL), WEIR_ECLOSED);
	end();
}

/* C19: granted before the close, run after it. */
TEST(c19_close_between_decision_and_callback)
{
	struct call a, b;

	begin(2);
	CHECK_ERR(recv_op(&a, &loop), WEIR_EQUEUED);
	CHECK_ERR(recv_op(&b, &loop), WEIR_EQUEUED);
	for (int i = 1; i <= 2; i++)
		CHECK_OK(weir_chan_send(&chan, &i, NULL));
	weir_chan_close(&chan);
	/* After a close no item is reserved: the first receiver gets it. */
	CHECK_OK(weir_chan_recv(&chan, &(int){ 0 }, NULL));
	CHECK_EQ(weir_loop_dispatch(&loop), 2);
	was(&a, WEIR_OK, 2);
	was(&b, WEIR_ECLOSED, -1);
	end();
	begin(1);
	CHECK_OK(send_op(&a, &loop, 1));
	CHECK_ERR(send_op(&a, &loop, 2), WEIR_EQUEUED);
	CHECK_OK(weir_chan_recv(&chan, &(int){ 0 }, NULL));
	weir_chan_close(&chan);
	CHECK_EQ(weir_loop_dispatch(&loop), 1);
	was(&a, WEIR_ECLOSED, 2);
	CHECK_ERR(weir_chan_recv(&chan, &(int){ 0 }, NULL), WEIR_ECLOSED);
	end();
}

/* C35, C19: cancelled after a close, before the callback. */
TEST(c35_cancel_after_close)
{
	struct call a, b;

	begin(1);
	CHECK_ERR(recv_op(&a, &loop), WEIR_EQUEUED);
	CHECK_ERR(recv_op(&b, &loop), WEIR_EQUEUED);
	CHECK_OK(weir_chan_send(&chan, &(int){ 1 }, NULL));
	weir_chan_close(&chan);
	CHECK_OK(weir_chan_op_cancel(&a.op));
	CHECK_OK(weir_chan_op_cancel(&b.op));
	CHECK_EQ(weir_loop_dispatch(&loop), 0);
	/* The item was not lost with the operation. */
	CHECK_OK(recv_op(&a, NULL));
	CHECK_EQ(a.item, 1);
	end();
}

TEST(destroy_notices_operations)
{
	struct call a, b;

	begin(1);
	CHECK_ERR(recv_op(&a, &loop), WEIR_EQUEUED);
	CHECK_ERR(weir_chan_destroy(&chan), WEIR_EBUSY);
	CHECK_OK(weir_chan_send(&chan, &(int){ 1 }, NULL));
	/* Granted: no longer waiting, but not finished either. */
	CHECK_ERR(weir_chan_destroy(&chan), WEIR_EBUSY);
	CHECK_EQ(weir_loop_dispatch(&loop), 1);
	was(&a, WEIR_OK, 1);
	CHECK_OK(send_op(&b, &loop, 2));
	CHECK_ERR(send_op(&a, &loop, 3), WEIR_EQUEUED);
	CHECK_OK(weir_chan_recv(&chan, &(int){ 0 }, NULL));
	CHECK_ERR(weir_chan_destroy(&chan), WEIR_EBUSY);
	CHECK_EQ(weir_loop_dispatch(&loop), 1);
	was(&a, WEIR_OK, 3);
	end();
}

static void send_in_hook(const weir_diag_event *event)
{
	(void)event;
	CHECK_ERR(weir_chan_try_send(&chan, &(int){ 9 }), WEIR_EAGAIN);
}

/* A hook that uses the channel does not hang a call that counts its slots. */
TEST(hook_uses_the_channel)
{
	struct call a;

	begin(1);
	CHECK_OK(weir_chan_send(&chan, &(int){ 1 }, NULL));
	CHECK_ERR(send_op(&a, &loop, 2), WEIR_EQUEUED);
	CHECK(!weir_diag_set_hook(send_in_hook));
	CHECK_OK(weir_chan_recv(&chan, &(int){ 0 }, NULL));
	CHECK(weir_diag_set_hook(NULL) == send_in_hook);
	CHECK_EQ(weir_loop_dispatch(&loop), 1);
	was(&a, WEIR_OK, 2);
	end();
}

TEST(c34_misuse)
{
	uint64_t memory[sizeof(struct call) / 8 + 1];
	weir_chan_op *askew = (void *)((char *)memory + 4);
	weir_chan zeroed = { .capacity_ = 0 };
	struct call a;
	int item = 3;

	begin(1);
	prepare(&a, NULL, 0);
	CHECK_PANICS("invalid pointer",
		     weir_chan_op_init(NULL, NULL, ran, NULL));
	CHECK_PANICS("invalid pointer",
		     weir_chan_op_init(askew, NULL, ran, NULL));
	CHECK_PANICS("without a callback",
		     weir_chan_op_init(&a.op, &loop, NULL, NULL));
	CHECK_ERR(weir_chan_op_send(NULL, &chan, &item, NULL), WEIR_EINVAL);
	CHECK_ERR(weir_chan_op_send(askew, &chan, &item, NULL), WEIR_EINVAL);
	CHECK_ERR(weir_chan_op_send(&a.op, NULL, &item, NULL), WEIR_EINVAL);
	CHECK_ERR(weir_chan_op_send(&a.op, &zeroed, &item, NULL), WEIR_EINVAL);
	CHECK_ERR(weir_chan_op_send(&a.op, &chan, NULL, NULL), WEIR_EINVAL);
	CHECK_ERR(weir_chan_op_send_until(&a.op, &chan, NULL, 0), WEIR_EINVAL);
	CHECK_ERR(weir_chan_op_recv(&a.op, &chan, NULL, NULL), WEIR_EINVAL);
	CHECK_ERR(weir_chan_op_recv(&a.op, NULL, &item, NULL), WEIR_EINVAL);
	CHECK_ERR(weir_chan_op_recv_until(&a.op, &chan, NULL, 0), WEIR_EINVAL);
	CHECK_ERR(weir_chan_op_recv_until(NULL, &chan, &item, 0), WEIR_EINVAL);
	CHECK_ERR(weir_chan_op_cancel(NULL), WEIR_EINVAL);
	CHECK_ERR(weir_chan_op_cancel(askew), WEIR_EINVAL);
	CHECK_ERR(weir_chan_op_poll(NULL), WEIR_EINVAL);
	CHECK_ERR(weir_chan_op_poll(askew), WEIR_EINVAL);
	CHECK_ERR(recv_op(&a, NULL), WEIR_EQUEUED);
	CHECK_ERR(weir_chan_op_poll(&a.op), WEIR_EINVAL);
	CHECK_PANICS("weir_chan_op_send: operation",
		     CHECK_ERR(weir_chan_op_send(&a.op, &chan, &item, NULL),
			       WEIR_EINVAL));
	/* After a cancel the operation may be submitted again. */
	CHECK_OK(weir_chan_op_cancel(&a.op));
	CHECK_ERR(weir_chan_op_recv(&a.op, &chan, &a.item, NULL), WEIR_EQUEUED);
	CHECK_OK(weir_chan_send(&chan, &item, NULL));
	was(&a, WEIR_OK, 3);
	end();
}

/* C27: each callback submits the next receive and sends the item for it. */
static struct {
	uintptr_t lowest, highest;
	int left;
} chain;

static void again(weir_chan_op *op, weir_err err, void *user)
{
	struct call *c = user;
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);

	CHECK_OK(err);
	CHECK_EQ(c->item, chain.left);
	if (here < chain.lowest)
		chain.lowest = here;
	if (here > chain.highest)
		chain.highest = here;
	if (--chain.left == 0)
		return;
	CHECK_ERR(weir_chan_op_recv(op, &chan, &c->item, NULL), WEIR_EQUEUED);
	CHECK_OK(weir_chan_send(&chan, &chain.left, NULL));
}

static void run_chain(weir_loop *on)
{
	struct call a = { .item = -1 };

	chain.lowest = UINTPTR_MAX;
	chain.highest = 0;
	chain.left = 100000;
	weir_chan_op_init(&a.op, on, again, &a);
	CHECK_ERR(weir_chan_op_recv(&a.op, &chan, &a.item, NULL), WEIR_EQUEUED);
	CHECK_OK(weir_chan_send(&chan, &chain.left, NULL));
	while (on && chain.left)
		(void)weir_loop_dispatch(on);
	CHECK_EQ(chain.left, 0);
	/* The callbacks ran one after the other, not nested. */
	CHECK(chain.highest - chain.lowest < 65536);
}

TEST(c27_chain_takes_no_more_stack)
{
	begin(1);
	run_chain(NULL);
	run_chain(&loop);
	end();
}

/* C35: the callback may free its operation, and destroy the channel. */
static void free_all(weir_chan_op *op, weir_err err, void *user)
{
	CHECK_OK(err);
	free(op);
	*(weir_err *)user = weir_chan_destroy(&chan);
}

TEST(c35_freed_in_the_callback)
{
	weir_chan_op *op = malloc(sizeof(*op));
	weir_err err = WEIR_EAGAIN;
	int item;

	begin(1);
	weir_chan_op_init(op, &loop, free_all, &err);
	CHECK_ERR(weir_chan_op_recv(op, &chan, &item, NULL), WEIR_EQUEUED);
	CHECK_OK(weir_chan_send(&chan, &(int){ 6 }, NULL));
	CHECK_EQ(weir_loop_dispatch(&loop), 1);
	CHECK_EQ(item, 6);
	CHECK_OK(err);
	CHECK_OK(weir_loop_destroy(&loop));
}
