/* SPDX-License-Identifier: MIT */
/*
 * Operations on a channel.  Each way to decide an operation meets each way to
 * end it; no item, slot or callback is lost or duplicated.
 */
#include "pattern_scenario.h"
#include "weir/chan_async.h"
#include "weir/loop.h"

#define ITEMS 8

static weir_chan chan;
static uint64_t slots[WEIR_CHAN_BYTES(3, 8) / 8];
static weir_ctx ctx;
static weir_loop loop;
static int sent, received, times[ITEMS];
static uint32_t submitted, left;
static int leaving;		/* receives that have not returned */

struct call {
	weir_chan_op op;
	uint64_t item;
	bool sends, again, gone;	/* gone: cancelled; must not be used */
	int ran;			/* times it ended */
	weir_err err;			/* its result; WEIR_EBUSY: cancelled */
};

static struct call a, b;

static void book(weir_err err, uint64_t item)
{
	if (!err) {
		EX_ASSERT(item < ITEMS && times[item]++ == 0);
		received++;
	}
}

static void ended(struct call *c, weir_err err)
{
	EX_ASSERT(c->ran++ == 0);
	c->err = err;
	if (c->sends)
		sent += err == WEIR_OK;
	else
		book(err, c->item);
	EX_ASSERT(c->sends || !err || c->item == ITEMS);
}

/* Returns true if the call is to be submitted once more. */
static bool is_repeated(struct call *c)
{
	if (!c->again || c->err)
		return false;
	c->again = false;
	c->ran = 0;
	c->item = c->sends ? 5 : ITEMS;
	return true;
}

static void submit(struct call *c, struct weir_ctx *until)
{
	do {
		weir_err err = c->sends ?
			weir_chan_op_send(&c->op, &chan, &c->item, until) :
			weir_chan_op_recv(&c->op, &chan, &c->item, until);

		if (err == WEIR_EQUEUED)
			return;
		ended(c, err);
	} while (is_repeated(c));
}

/* C35: runs once, and not after a successful cancel. */
static void callback(weir_chan_op *op, weir_err err, void *user)
{
	struct call *c = user;

	EX_ASSERT(op == &c->op && !c->gone);
	ended(c, err);
	if (is_repeated(c))
		submit(c, NULL);
}

static void prepare(struct call *c, weir_loop *on, bool sends, uint64_t item)
{
	*c = (struct call){ .item = item, .sends = sends };
	weir_chan_op_init(&c->op, on, callback, c);
}

static void reset_with(int64_t capacity)
{
	EX_ASSERT(weir_chan_init(&chan, slots, capacity, 8) == WEIR_OK);
	EX_ASSERT(weir_ctx_init(&ctx, NULL, WEIR_FOREVER) == WEIR_OK);
	EX_ASSERT(weir_loop_init(&loop) == WEIR_OK);
}

static void reset(void)
{
	reset_with(1);
}

static void send(uint64_t item)
{
	weir_err err = weir_chan_send(&chan, &item, NULL);

	EX_ASSERT(err == WEIR_OK || err == WEIR_ECLOSED);
	sent += err == WEIR_OK;
}

static void send_2(void)
{
	send(2);
}

static void send_2_and_3(void)
{
	send(2);
	send(3);
}

static void recv_one(void)
{
	uint64_t item = ITEMS;
	weir_err err = weir_chan_recv(&chan, &item, NULL);

	EX_ASSERT(err == WEIR_OK || err == WEIR_ECLOSED);
	book(err, item);
}

static void close_it(void)
{
	weir_chan_close(&chan);
}

static void cancel_ctx(void)
{
	weir_ctx_cancel(&ctx);
}

static void empty_recv(void)
{
	reset();
	prepare(&a, NULL, false, ITEMS);
	prepare(&b, NULL, false, ITEMS);
}

static void full_send(void)
{
	reset();
	send(0);
	prepare(&a, NULL, true, 4);
	prepare(&b, NULL, false, ITEMS);
}

static void submit_a(void)
{
	submit(&a, NULL);
	ex_set(&submitted);
}

static void submit_b(void)
{
	submit(&b, NULL);
}

/* C6, C16: free + filled slots = capacity; no item is lost or duplicated. */
static void adds_up(void)
{
	weir_chan_info info;

	check_calm(&chan.space_);
	check_calm(&chan.items_);
	EX_ASSERT(weir_chan_stat(&chan, &info) == WEIR_OK);
	EX_ASSERT(info.length == sent - received);
	EX_ASSERT(info.space + info.length == info.capacity);
	EX_ASSERT(weir_loop_destroy(&loop) == WEIR_OK);
	EX_ASSERT(weir_ctx_destroy(&ctx) == WEIR_OK);
}

static void a_once(void)
{
	EX_ASSERT(a.ran == 1);
	adds_up();
}

static void a_ok(void)
{
	EX_ASSERT(a.err == WEIR_OK);
	a_once();
}

static void both_ok(void)
{
	EX_ASSERT(b.ran == 1 && b.err == WEIR_OK);
	a_ok();
}

/* C35, C6: the callback runs on the thread that decides. */
SCENARIO(chan_op_recv_meets_send, 3, empty_recv, a_ok, submit_a, send_2)
SCENARIO(chan_op_send_meets_recv, 3, full_send, a_ok, submit_a, recv_one)
/* Each operation may decide the other one. */
SCENARIO(chan_op_send_meets_op_recv, 2, full_send, both_ok, submit_a, submit_b,
	 recv_one)
/* C3: an operation and a thread in one queue. */
SCENARIO(chan_op_and_thread, 2, empty_recv, a_ok, submit_a, recv_one,
	 send_2_and_3)

static void empty_recv_again(void)
{
	empty_recv();
	a.again = true;
}

static void twice(void)
{
	EX_ASSERT(a.item == 3 && received == 2);
	a_ok();
}
SCENARIO(chan_op_submits_again, 2, empty_recv_again, twice, submit_a,
	 send_2_and_3)

/* A callback submits again while a call counts slots for it. */
static void full_send_again(void)
{
	full_send();
	a.again = true;
}

static void recv_three(void)
{
	recv_one();
	recv_one();
	recv_one();
}
SCENARIO(chan_op_sends_again, 2, full_send_again, a_ok, submit_a, recv_three)

/* C35: when cancel returns, operation and item belong to the caller. */
static void cancel_a(void)
{
	weir_err err = weir_chan_op_cancel(&a.op);

	EX_ASSERT(err == WEIR_OK || err == WEIR_EBUSY);
	if (!err)
		ended(&a, WEIR_EBUSY);
	a.gone = !err;
	ex_touch(&a.item, sizeof(a.item), true);
	ex_free(&a.op, sizeof(a.op));
	ex_free(&a.item, sizeof(a.item));
}

static void submit_and_cancel(void)
{
	submit(&a, NULL);
	cancel_a();
}

static void cancel_when_submitted(void)
{
	ex_await(&submitted);
	cancel_a();
}

SCENARIO(chan_op_cancel_meets_item, 3, empty_recv, a_once, submit_and_cancel,
	 send_2)
SCENARIO(chan_op_cancel_meets_slot, 3, full_send, a_once, submit_and_cancel,
	 recv_one)
/* C7: an item that the cancelled operation does not take goes to the next. */
SCENARIO(chan_op_cancel_grants_next, 2, empty_recv, a_once, submit_a,
	 cancel_when_submitted, submit_b, send_2_and_3)

/* C19: a receive takes an item that is left, or none is left. */
static void none_left(void)
{
	EX_ASSERT(a.err == WEIR_OK || sent == received);
	a_once();
}
SCENARIO(chan_op_close_meets_item, 2, empty_recv, none_left, submit_a, send_2,
	 close_it)
SCENARIO(chan_op_close_meets_slot, 2, full_send, a_once, submit_a, recv_one,
	 close_it)

static void queued_recv(void)
{
	empty_recv();
	submit(&a, NULL);
}

static void queued_send(void)
{
	full_send();
	submit(&a, NULL);
}
SCENARIO(chan_op_close_meets_cancel, 2, queued_recv, a_once, cancel_a, send_2,
	 close_it)
SCENARIO(chan_op_close_meets_cancelled_send, 2, queued_send, a_once, cancel_a,
	 recv_one, close_it)

/*
 * On a loop: other threads can run between the decision and the callback.
 */
static void run_until_ended(void)
{
	while (!a.ran) {
		while (!__atomic_load_n(&ex_event, __ATOMIC_ACQUIRE))
			ex_yield();
		(void)weir_loop_dispatch(&loop);
	}
}

static void loop_recv(void)
{
	reset();
	prepare(&a, &loop, false, ITEMS);
}

static void loop_send(void)
{
	reset();
	send(0);
	prepare(&a, &loop, true, 4);
}

static void submit_and_run(void)
{
	submit(&a, NULL);
	run_until_ended();
}

SCENARIO(chan_op_loop_close_meets_item, 2, loop_recv, none_left, submit_and_run,
	 send_2, close_it)
SCENARIO(chan_op_loop_close_meets_slot, 2, loop_send, a_once, submit_and_run,
	 recv_one, close_it)

/* C13: the context is cancelled between the decision and the callback. */
static void submit_in_ctx_and_run(void)
{
	submit(&a, &ctx);
	run_until_ended();
	EX_ASSERT(a.err == WEIR_OK || a.err == WEIR_ECANCELED);
}
SCENARIO(chan_op_ctx_meets_item, 2, loop_recv, a_once, submit_in_ctx_and_run,
	 send_2, cancel_ctx)
SCENARIO(chan_op_ctx_meets_slot, 2, loop_send, a_once, submit_in_ctx_and_run,
	 recv_one, cancel_ctx)

/* C14: the deadline passes while the operation is decided. */
static void submit_late_and_run(void)
{
	int64_t soon = weir_deadline_after(1000);
	weir_err err = a.sends ?
		weir_chan_op_send_until(&a.op, &chan, &a.item, soon) :
		weir_chan_op_recv_until(&a.op, &chan, &a.item, soon);

	if (err != WEIR_EQUEUED)
		ended(&a, err);
	ex_clock_advance(2000);
	(void)weir_loop_dispatch(&loop);
	run_until_ended();
	EX_ASSERT(a.err == WEIR_OK || a.err == WEIR_ETIMEDOUT);
}
SCENARIO(chan_op_deadline_meets_item, 3, loop_recv, a_once, submit_late_and_run,
	 send_2)
SCENARIO(chan_op_deadline_meets_slot, 3, loop_send, a_once, submit_late_and_run,
	 recv_one)

/* A cancel on another thread meets the dispatch, which copies the item. */
static void dispatch_once(void)
{
	ex_await(&submitted);
	(void)weir_loop_dispatch(&loop);
}
SCENARIO(chan_op_cancel_meets_dispatch, 2, loop_recv, a_once, submit_a,
	 dispatch_once, cancel_when_submitted, send_2)

/*
 * C22: when a destroy returns WEIR_OK, the loop does not access the channel any
 * more, although the callback of its operation may not have run.
 */
static void granted_recv(void)
{
	loop_recv();
	submit(&a, NULL);
	send(2);
}

static void granted_send(void)
{
	loop_send();
	submit(&a, NULL);
	recv_one();
}

static void dispatch(void)
{
	(void)weir_loop_dispatch(&loop);
}

static void destroy_chan(void)
{
	weir_err err = weir_chan_destroy(&chan);

	EX_ASSERT(err == WEIR_OK || err == WEIR_EBUSY);
	if (err)
		return;
	ex_free(&chan, sizeof(chan));
	ex_free(slots, sizeof(slots));
}

static void a_has_run(void)
{
	EX_ASSERT(a.ran == 1 && a.err == WEIR_OK);
}
SCENARIO(chan_destroy_meets_receiving_op, 3, granted_recv, a_has_run, dispatch,
	 destroy_chan)
SCENARIO(chan_destroy_meets_sending_op, 3, granted_send, a_has_run, dispatch,
	 destroy_chan)

/*
 * C7: a loop that stalls keeps the item, or the slot, of its own operation.  The
 * thread behind the operation gets the next one.
 */
static void stalled_recv(void)
{
	reset_with(2);
	prepare(&a, &loop, false, ITEMS);
}

static void stalled_recv_queued(void)
{
	stalled_recv();
	submit(&a, NULL);
}

static void stalled_send_queued(void)
{
	reset_with(2);
	send(0);
	send(1);
	prepare(&a, &loop, true, 4);
	submit(&a, NULL);
}

static void recv_two(void)
{
	recv_one();
	recv_one();
}

static void runs_late(void)
{
	if (!a.ran)
		(void)weir_loop_dispatch(&loop);
	a_ok();
}
SCENARIO(chan_op_stalled_meets_item, 3, stalled_recv_queued, runs_late, recv_one,
	 send_2_and_3)
SCENARIO(chan_op_stalled_meets_slot, 3, stalled_send_queued, runs_late, send_2,
	 recv_two)
SCENARIO(chan_op_stalled_joins, 2, stalled_recv, runs_late, submit_a, recv_one,
	 send_2_and_3)

/* Wait until n calls are queued, so that the order of the queue is fixed. */
static void await_queued(uint32_t n)
{
	while (chan.items_.waiters_ < n)
		ex_yield();
}

static void submit_second(void)
{
	await_queued(1);
	submit(&a, NULL);
}

static void recv_third(void)
{
	await_queued(2);
	recv_one();
}

/* The same behind a thread that returns its item to the semaphore. */
static void recv_in_ctx(void)
{
	uint64_t item = ITEMS;
	weir_err err = weir_chan_recv(&chan, &item, &ctx);

	EX_ASSERT(err == WEIR_OK || err == WEIR_ECANCELED);
	book(err, item);
	ex_set(&left);
}

static void send_and_cancel(void)
{
	await_queued(3);
	send(2);
	cancel_ctx();
	ex_await(&left);
	if (received)
		send(3);
	send(4);
}
SCENARIO(chan_op_stalled_behind_cancelled, 1, stalled_recv, runs_late,
	 recv_in_ctx, submit_second, recv_third, send_and_cancel)

/*
 * C7: the first of two cancelled receives has been woken for an item.  The item
 * goes to the operation behind them, and the next one to the thread behind it.
 */
static void recv_fourth(void)
{
	await_queued(3);
	recv_one();
}

static void submit_send_and_cancel(void)
{
	await_queued(2);
	submit(&a, NULL);
	await_queued(4);
	send(2);
	cancel_ctx();
	while (leaving)
		ex_yield();
	if (received)
		send(3);
	send(4);
}

static void two_leave(void)
{
	stalled_recv();
	leaving = 2;
}

static void recv_and_leave(void)
{
	recv_in_ctx();
	leaving--;
}
SCENARIO(chan_op_stalled_behind_two_cancelled, 1, two_leave, runs_late,
	 recv_and_leave, recv_and_leave, recv_fourth, submit_send_and_cancel)

/*
 * The same behind two operations.  The call that counts the item of the first
 * operation finds that of the second, too.
 */
static void two_stalled_recvs(void)
{
	reset_with(3);
	prepare(&a, &loop, false, ITEMS);
	prepare(&b, &loop, false, ITEMS);
	submit(&a, NULL);
	submit(&b, NULL);
}

static void send_3_and_4(void)
{
	send(3);
	send(4);
}

static void both_run_late(void)
{
	(void)weir_loop_dispatch(&loop);
	both_ok();
}
SCENARIO(chan_op_stalled_behind_another, 2, two_stalled_recvs, both_run_late,
	 recv_one, send_2, send_3_and_4)
