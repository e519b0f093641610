/* SPDX-License-Identifier: MIT */
/*
 * A million items through a small channel, sent and received by blocking
 * threads, by operations on loops, by operations that their thread cancels
 * while other threads decide them, and by polled operations with deadlines.
 * Each item arrives exactly once (C6, C35).  The items of the blocking sender
 * arrive in order (C4).  A slow machine sends as many as it can in 20 seconds.
 */
#include <poll.h>
#include <sched.h>
#include <stdlib.h>

#include "check.h"
#include "weir/chan_async.h"
#include "weir/loop.h"

#define KINDS 4
#define ITEMS (UNDER_TSAN ? 100000 : 1000000)	/* of all kinds together */
#define OPS 6			/* on a loop */

static weir_chan chan;
static unsigned char *seen;
static uint32_t per_kind;
static uint32_t sent[KINDS];
static uint64_t arrived;
static int64_t until_ns;

/* Returns true if the sender of a kind, which has sent n, sends one more. */
static bool sends_more(uint32_t n)
{
	return n < per_kind && (n < 100 || weir_now_ns() < until_ns);
}

static void arrive(uint32_t item)
{
	CHECK(item < KINDS * per_kind);
	CHECK_EQ(__atomic_fetch_add(&seen[item], 1, __ATOMIC_RELAXED), 0);
	__atomic_fetch_add(&arrived, 1, __ATOMIC_RELAXED);
}

/*
 * Kind 0: threads that block.
 */
static void *block_send(void *arg)
{
	uint32_t i;

	for (i = 0; sends_more(i); i++)
		CHECK_OK(weir_chan_send(&chan, &i, NULL));
	sent[0] = i;
	return arg;
}

static void *block_recv(void *arg)
{
	int64_t last = -1;
	uint32_t item;
	weir_err err;

	(void)arg;
	while (!(err = weir_chan_recv(&chan, &item, NULL))) {
		arrive(item);
		if (item >= per_kind)
			continue;
		/*
		 * C4: the items of the blocking sender that this thread gets.
		 */
		CHECK((int64_t)item > last);
		last = item;
	}
	CHECK_ERR(err, WEIR_ECLOSED);
	return NULL;
}

/*
 * Kind 1: operations on a loop of their own.
 */
struct on_loop {
	weir_loop loop;
	uint32_t next;		/* to send */
	int live;		/* submitted operations */
	int64_t last;		/* item of the blocking sender */
	struct one {
		weir_chan_op op;
		struct on_loop *all;
		uint32_t item;
	} ones[OPS];
};

static void send_next(struct one *one)
{
	struct on_loop *all = one->all;
	weir_err err = WEIR_OK;

	while (!err && sends_more(all->next)) {
		one->item = per_kind + all->next++;
		err = weir_chan_op_send(&one->op, &chan, &one->item, NULL);
	}
	CHECK(!err || err == WEIR_EQUEUED);
	all->live += err == WEIR_EQUEUED;
}

static void was_sent(weir_chan_op *op, weir_err err, void *user)
{
	struct one *one = user;

	CHECK(op == &one->op);
	CHECK_OK(err);
	one->all->live--;
	send_next(one);
}

static void take(struct one *one)
{
	arrive(one->item);
	if (one->item < per_kind) {
		CHECK((int64_t)one->item > one->all->last);
		one->all->last = one->item;
	}
}

static void recv_next(struct one *one)
{
	weir_err err;

	while (!(err = weir_chan_op_recv(&one->op, &chan, &one->item, NULL)))
		take(one);
	CHECK(err == WEIR_EQUEUED || err == WEIR_ECLOSED);
	one->all->live += err == WEIR_EQUEUED;
}

static void was_received(weir_chan_op *op, weir_err err, void *user)
{
	struct one *one = user;

	CHECK(op == &one->op);
	CHECK(!err || err == WEIR_ECLOSED);
	one->all->live--;
	if (err)
		return;
	take(one);
	recv_next(one);
}

static void run_loop(bool sends)
{
	struct on_loop all = { .last = -1 };

	CHECK_OK(weir_loop_init(&all.loop));
	for (int i = 0; i < OPS; i++) {
		all.ones[i].all = &all;
		weir_chan_op_init(&all.ones[i].op, &all.loop,
				  sends ? was_sent : was_received, &all.ones[i]);
		if (sends)
			send_next(&all.ones[i]);
		else
			recv_next(&all.ones[i]);
	}
	while (all.live) {
		struct pollfd p = { .fd = weir_loop_fd(&all.loop),
				    .events = POLLIN };

		(void)poll(&p, 1, weir_loop_timeout_ms(&all.loop));
		(void)weir_loop_dispatch(&all.loop);
	}
	CHECK_OK(weir_loop_destroy(&all.loop));
	if (sends)
		sent[1] = all.next;
}

static void *loop_send(void *arg)
{
	run_loop(true);
	return arg;
}

static void *loop_recv(void *arg)
{
	run_loop(false);
	return arg;
}

/*
 * Kind 2: operations without a loop, often cancelled while others decide them.
 */
struct direct {
	weir_chan_op op;
	weir_err err;
	uint32_t ran;
};

static void direct_ran(weir_chan_op *op, weir_err err, void *user)
{
	struct direct *d = user;

	CHECK(op == &d->op);
	d->err = err;
	__atomic_store_n(&d->ran, 1, __ATOMIC_RELEASE);
}

/* Returns the result of the operation; WEIR_EAGAIN: cancelled. */
static weir_err cancel_or_wait(struct direct *d, weir_err err, uint64_t *random)
{
	if (err != WEIR_EQUEUED)
		return err;
	if (random_below(random, 4)) {
		err = weir_chan_op_cancel(&d->op);
		CHECK(!err || err == WEIR_EBUSY);
		if (!err)
			return WEIR_EAGAIN;
	}
	while (!__atomic_load_n(&d->ran, __ATOMIC_ACQUIRE))
		sched_yield();
	d->ran = 0;
	return d->err;
}

static void *direct_send(void *arg)
{
	struct direct d = { .ran = 0 };
	uint64_t random = seed_of(1);

	weir_chan_op_init(&d.op, NULL, direct_ran, &d);
	while (sends_more(sent[2])) {
		uint32_t item = 2 * per_kind + sent[2];
		weir_err err = weir_chan_op_send(&d.op, &chan, &item, NULL);

		err = cancel_or_wait(&d, err, &random);
		CHECK(!err || err == WEIR_EAGAIN);
		sent[2] += !err;
	}
	return arg;
}

static void *direct_recv(void *arg)
{
	struct direct d = { .ran = 0 };
	uint64_t random = seed_of(2);
	weir_err err;

	weir_chan_op_init(&d.op, NULL, direct_ran, &d);
	do {
		uint32_t item = UINT32_MAX;

		err = weir_chan_op_recv(&d.op, &chan, &item, NULL);
		err = cancel_or_wait(&d, err, &random);
		if (!err)
			arrive(item);
		else
			CHECK(item == UINT32_MAX);
	} while (err != WEIR_ECLOSED);
	return arg;
}

/*
 * Kind 3: polled operations, some with a deadline in the near future.
 */
static weir_err poll_to_end(weir_chan_op *op, weir_err err)
{
	while (err == WEIR_EQUEUED) {
		sched_yield();
		err = weir_chan_op_poll(op);
	}
	return err;
}

static void *polled_send(void *arg)
{
	weir_chan_op op;

	weir_chan_op_init(&op, NULL, NULL, NULL);
	while (sends_more(sent[3])) {
		uint32_t item = 3 * per_kind + sent[3];
		weir_err err = weir_chan_op_send_until(
			&op, &chan, &item, weir_deadline_after(20000));

		err = poll_to_end(&op, err);
		CHECK(!err || err == WEIR_ETIMEDOUT);
		sent[3] += !err;
	}
	return arg;
}

static void *polled_recv(void *arg)
{
	weir_chan_op op;
	weir_err err;

	weir_chan_op_init(&op, NULL, NULL, NULL);
	do {
		uint32_t item;

		err = weir_chan_op_recv_until(&op, &chan, &item,
					      weir_deadline_after(20000));
		err = poll_to_end(&op, err);
		if (!err)
			arrive(item);
	} while (err != WEIR_ECLOSED);
	return arg;
}

TEST(c6_a_million_items_arrive_once)
{
	void *(*const senders[KINDS])(void *) = {
		block_send, loop_send, direct_send, polled_send };
	void *(*const receivers[KINDS])(void *) = {
		block_recv, loop_recv, direct_recv, polled_recv };
	check_thread sending[KINDS], receiving[KINDS];
	uint64_t all = 0;

	per_kind = ITEMS / KINDS;
	until_ns = weir_deadline_after(INT64_C(20000000000));
	seen = calloc(KINDS, per_kind);
	CHECK(seen);
	CHECK_OK(weir_chan_init(&chan, NULL, 3, sizeof(uint32_t)));
	for (int i = 0; i < KINDS; i++) {
		sending[i] = start(senders[i], NULL);
		receiving[i] = start(receivers[i], NULL);
	}
	for (int i = 0; i < KINDS; i++)
		finish(sending[i]);
	weir_chan_close(&chan);
	for (int i = 0; i < KINDS; i++)
		finish(receiving[i]);
	for (int i = 0; i < KINDS; i++)
		all += sent[i];
	CHECK_EQ(arrived, all);
	CHECK_OK(weir_chan_destroy(&chan));
	free(seen);
}
