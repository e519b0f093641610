/* SPDX-License-Identifier: MIT */
/* The channel: order, bounds, close, bad input, and a storm of all calls. */
#include "check.h"
#include "weir/chan.h"
#include "weir/ctx.h"

static weir_chan chan;

static weir_chan_info info_of(weir_chan *c)
{
	weir_chan_info info;

	CHECK_OK(weir_chan_stat(c, &info));
	return info;
}

/* free slots + items = capacity */
static void check_adds_up(weir_chan *c)
{
	weir_chan_info info = info_of(c);

	CHECK_EQ(info.space + info.length, info.capacity);
}

static void begin(int64_t capacity)
{
	CHECK_OK(weir_chan_init(&chan, NULL, capacity, sizeof(int)));
}

static void end(void)
{
	check_adds_up(&chan);
	CHECK_OK(weir_chan_destroy(&chan));
}

static void send(int item)
{
	CHECK_OK(weir_chan_send(&chan, &item, NULL));
}

static int recv(void)
{
	int item = -1;

	CHECK_OK(weir_chan_recv(&chan, &item, NULL));
	return item;
}

TEST(c4_items_come_in_order)
{
	for (int64_t capacity = 1; capacity <= 5; capacity++) {
		begin(capacity);
		for (int i = 0; i < 40; i++) {
			send(2 * i);
			if (capacity > 1)
				send(2 * i + 1);
			check_adds_up(&chan);
			CHECK_EQ(recv(), 2 * i);
			if (capacity > 1)
				CHECK_EQ(recv(), 2 * i + 1);
		}
		end();
	}
}

TEST(c5_try_fails_if_full_or_empty)
{
	int item = 7;

	begin(2);
	CHECK_ERR(weir_chan_try_recv(&chan, &item), WEIR_EAGAIN);
	CHECK_OK(weir_chan_try_send(&chan, &item));
	CHECK_OK(weir_chan_try_send(&chan, &item));
	CHECK_ERR(weir_chan_try_send(&chan, &item), WEIR_EAGAIN);
	CHECK_EQ(weir_chan_length(&chan), 2);
	item = 0;
	CHECK_OK(weir_chan_try_recv(&chan, &item));
	CHECK_EQ(item, 7);
	CHECK_EQ(weir_chan_length(&chan), 1);
	end();
}

TEST(items_of_any_size_in_memory_of_the_caller)
{
	for (size_t size = 1; size < 40; size++) {
		static uint64_t slots[WEIR_CHAN_BYTES(3, 40) / 8];
		unsigned char in[40], out[41];
		weir_chan c;

		CHECK_OK(weir_chan_init(&c, slots, 3, size));
		for (int round = 0; round < 7; round++) {
			memset(in, round + 1, sizeof(in));
			memset(out, 0xee, sizeof(out));
			CHECK_OK(weir_chan_send(&c, in, NULL));
			CHECK_OK(weir_chan_recv(&c, out, NULL));
			CHECK(!memcmp(in, out, size));
			CHECK_EQ(out[size], 0xee);
		}
		CHECK_OK(weir_chan_destroy(&c));
	}
}

TEST(batches_wrap_around)
{
	int in[7] = { 0, 1, 2, 3, 4, 5, 6 }, out[7];
	size_t n;

	begin(3);
	for (int round = 0; round < 5; round++) {
		CHECK_OK(weir_chan_send_many(&chan, in, 2, NULL, &n));
		CHECK_EQ(n, 2);
		CHECK_OK(weir_chan_recv_many(&chan, out, 7, NULL, &n));
		CHECK_EQ(n, 2);
		CHECK(out[0] == 0 && out[1] == 1);
	}
	CHECK_OK(weir_chan_send_many(&chan, NULL, 0, NULL, &n));
	CHECK_EQ(n, 0);
	CHECK_OK(weir_chan_send_many(&chan, in, 3, NULL, &n));
	CHECK_OK(weir_chan_recv_many(&chan, out, 2, NULL, &n));
	CHECK_EQ(n, 2);
	CHECK_EQ(recv(), 2);
	end();
}

/* C14, C16: a call that timed out has no effect. */
TEST(c14_deadlines)
{
	int item = 9;

	begin(1);
	CHECK_ERR(weir_chan_recv_until(&chan, &item, 0), WEIR_ETIMEDOUT);
	CHECK_EQ(item, 9);
	CHECK_OK(weir_chan_send_until(&chan, &item, 0));
	CHECK_ERR(weir_chan_send_until(&chan, &item, 0), WEIR_ETIMEDOUT);
	CHECK_OK(weir_chan_recv_until(&chan, &item, 0));
	end();
}

/* C13: an ended context wins over a free slot and over an available item. */
TEST(c13_ended_context_wins)
{
	weir_ctx ctx = WEIR_CTX_INIT;
	int item = 9;
	size_t n = 5;

	begin(2);
	send(1);
	weir_ctx_cancel(&ctx);
	CHECK_ERR(weir_chan_send(&chan, &item, &ctx), WEIR_ECANCELED);
	CHECK_ERR(weir_chan_recv(&chan, &item, &ctx), WEIR_ECANCELED);
	CHECK_ERR(weir_chan_send_many(&chan, &item, 1, &ctx, &n),
		  WEIR_ECANCELED);
	CHECK_EQ(n, 0);
	n = 5;
	CHECK_ERR(weir_chan_recv_many(&chan, &item, 1, &ctx, &n),
		  WEIR_ECANCELED);
	CHECK_EQ(n, 0);
	CHECK_EQ(item, 9);
	CHECK_EQ(recv(), 1);
	CHECK_OK(weir_ctx_destroy(&ctx));
	end();
}

TEST(c19_close_drains)
{
	int item, items[4];
	size_t n;

	begin(4);
	for (int i = 0; i < 4; i++)
		send(i);
	CHECK(!weir_chan_is_closed(&chan));
	weir_chan_close(&chan);
	weir_chan_close(&chan);
	CHECK(weir_chan_is_closed(&chan));
	CHECK(info_of(&chan).closed);
	item = 9;
	CHECK_ERR(weir_chan_send(&chan, &item, NULL), WEIR_ECLOSED);
	CHECK_ERR(weir_chan_try_send(&chan, &item), WEIR_ECLOSED);
	CHECK_ERR(weir_chan_send_until(&chan, &item, 0), WEIR_ECLOSED);
	CHECK_ERR(weir_chan_send_many(&chan, &item, 1, NULL, &n),
		  WEIR_ECLOSED);
	CHECK_EQ(recv(), 0);
	CHECK_OK(weir_chan_try_recv(&chan, &item));
	CHECK_EQ(item, 1);
	CHECK_OK(weir_chan_recv_many(&chan, items, 4, NULL, &n));
	CHECK_EQ(n, 2);
	CHECK(items[0] == 2 && items[1] == 3);
	CHECK_ERR(weir_chan_recv(&chan, &item, NULL), WEIR_ECLOSED);
	CHECK_ERR(weir_chan_try_recv(&chan, &item), WEIR_ECLOSED);
	CHECK_ERR(weir_chan_recv_until(&chan, &item, 0), WEIR_ECLOSED);
	CHECK_ERR(weir_chan_recv_many(&chan, items, 4, NULL, &n),
		  WEIR_ECLOSED);
	CHECK_EQ(item, 1);
	end();
}

static void *send_one(void *arg)
{
	return (void *)(intptr_t)weir_chan_send(&chan, arg, NULL);
}

static void *recv_one(void *arg)
{
	return (void *)(intptr_t)weir_chan_recv(&chan, arg, NULL);
}

/* Shutdown in every state: empty with receivers, full with senders. */
TEST(c19_close_wakes_waiters)
{
	int a = 1, b = 2, item = 0;
	check_thread one, two;

	begin(1);
	one = start(recv_one, &a);
	two = start(recv_one, &b);
	AWAIT(info_of(&chan).receivers == 2);
	CHECK_ERR(weir_chan_destroy(&chan), WEIR_EBUSY);
	weir_chan_close(&chan);
	CHECK_EQ((intptr_t)finish(one), WEIR_ECLOSED);
	CHECK_EQ((intptr_t)finish(two), WEIR_ECLOSED);
	end();

	begin(1);
	send(5);
	one = start(send_one, &a);
	two = start(send_one, &b);
	AWAIT(info_of(&chan).senders == 2);
	CHECK_ERR(weir_chan_destroy(&chan), WEIR_EBUSY);
	weir_chan_close(&chan);
	CHECK_EQ((intptr_t)finish(one), WEIR_ECLOSED);
	CHECK_EQ((intptr_t)finish(two), WEIR_ECLOSED);
	CHECK_OK(weir_chan_recv(&chan, &item, NULL));
	CHECK_EQ(item, 5);
	CHECK_ERR(weir_chan_recv(&chan, &item, NULL), WEIR_ECLOSED);
	end();
}

/* C4: blocked senders continue in order of arrival as slots become free. */
TEST(c4_senders_are_served_in_order)
{
	int items[3] = { 10, 11, 12 };
	check_thread threads[3];

	begin(1);
	send(9);
	for (int i = 0; i < 3; i++) {
		threads[i] = start(send_one, &items[i]);
		AWAIT(info_of(&chan).senders == (uint32_t)i + 1);
	}
	for (int want = 9; want < 13; want++)
		CHECK_EQ(recv(), want);
	for (int i = 0; i < 3; i++)
		CHECK_EQ((intptr_t)finish(threads[i]), WEIR_OK);
	end();
}

TEST(bad_input)
{
	static uint64_t room[8];
	weir_chan c, zeroed;
	weir_chan_info info;
	int item = 0;
	size_t n;

	memset(&zeroed, 0, sizeof(zeroed));
	CHECK_ERR(weir_chan_init(NULL, NULL, 1, 4), WEIR_EINVAL);
	CHECK_ERR(weir_chan_init(&c, NULL, 0, 4), WEIR_EINVAL);
	CHECK_ERR(weir_chan_init(&c, NULL, -1, 4), WEIR_EINVAL);
	CHECK_ERR(weir_chan_init(&c, NULL, WEIR_CHAN_MAX + 1, 4), WEIR_EINVAL);
	CHECK_ERR(weir_chan_init(&c, NULL, 1, 0), WEIR_EINVAL);
	CHECK_ERR(weir_chan_init(&c, NULL, 1, WEIR_CHAN_ITEM_MAX + 1),
		  WEIR_EINVAL);
	CHECK_ERR(weir_chan_init(&c, (char *)room + 1, 1, 4), WEIR_EINVAL);
	CHECK_ERR(weir_chan_init((weir_chan *)(void *)((char *)&c + 4), NULL,
				 1, 4), WEIR_EINVAL);
	CHECK_ERR(weir_chan_send(&zeroed, &item, NULL), WEIR_EINVAL);
	CHECK_ERR(weir_chan_send_until(NULL, &item, 0), WEIR_EINVAL);
	CHECK_ERR(weir_chan_try_send(NULL, &item), WEIR_EINVAL);
	CHECK_ERR(weir_chan_recv(&zeroed, &item, NULL), WEIR_EINVAL);
	CHECK_ERR(weir_chan_recv_until(NULL, &item, 0), WEIR_EINVAL);
	CHECK_ERR(weir_chan_try_recv(NULL, &item), WEIR_EINVAL);
	CHECK_ERR(weir_chan_destroy(&zeroed), WEIR_EINVAL);
	CHECK_ERR(weir_chan_stat(&zeroed, &info), WEIR_EINVAL);
	CHECK_PANICS("weir_chan_close", weir_chan_close(&zeroed));
	CHECK_PANICS("weir_chan_length", CHECK_EQ(weir_chan_length(NULL), 0));
	CHECK_PANICS("weir_chan_is_closed", CHECK(weir_chan_is_closed(NULL)));

	CHECK_OK(weir_chan_init(&c, room, 2, 4));
	CHECK_ERR(weir_chan_send(&c, NULL, NULL), WEIR_EINVAL);
	CHECK_ERR(weir_chan_recv(&c, NULL, NULL), WEIR_EINVAL);
	CHECK_ERR(weir_chan_send_many(&c, NULL, 1, NULL, &n), WEIR_EINVAL);
	CHECK_ERR(weir_chan_send_many(&c, &item, 1, NULL, NULL), WEIR_EINVAL);
	CHECK_ERR(weir_chan_recv_many(&c, NULL, 1, NULL, &n), WEIR_EINVAL);
	CHECK_ERR(weir_chan_recv_many(&c, &item, 0, NULL, &n), WEIR_EINVAL);
	CHECK_ERR(weir_chan_recv_many(&c, &item, 1, NULL, NULL), WEIR_EINVAL);
	CHECK_ERR(weir_chan_stat(&c, NULL), WEIR_EINVAL);
	CHECK_EQ(weir_chan_length(&c), 0);
	CHECK_OK(weir_chan_destroy(&c));
	CHECK_PANICS("is destroyed",
		     CHECK_ERR(weir_chan_destroy(&c), WEIR_EINVAL));
}

/*
 * A storm: senders and receivers use all forms of the calls, contexts end, and
 * the channel is closed at the end.  Each item that was sent arrives once; the
 * items of one sender arrive in order.
 */
#define THREADS 4
#define ROUNDS 4000

struct side {
	uint64_t seed;
	int64_t sent, sum_sent;		/* by a sender: number, sum */
	int64_t received, sum_received;
	int64_t last[THREADS];
	int number;
};

static weir_chan storm;

struct item {
	int64_t number, who, check;
};

static void *storm_sender(void *arg)
{
	struct side *side = arg;

	for (int64_t i = 1; i <= ROUNDS * check_scale(); i++) {
		struct item items[3];
		size_t n = 1;
		weir_err err;

		for (int k = 0; k < 3; k++)
			items[k] = (struct item){ i * 3 + k, side->number,
						  ~(i * 3 + k) };
		switch (random_below(&side->seed, 4)) {
		case 0:
			err = weir_chan_try_send(&storm, items);
			break;
		case 1:
			err = weir_chan_send_until(&storm, items,
						   weir_deadline_after(1000));
			break;
		case 2:
			err = weir_chan_send_many(&storm, items, 3, NULL, &n);
			break;
		default:
			err = weir_chan_send(&storm, items, NULL);
			break;
		}
		CHECK(err == WEIR_OK || err == WEIR_EAGAIN ||
		      err == WEIR_ETIMEDOUT);
		for (size_t k = 0; !err && k < n; k++) {
			side->sent++;
			side->sum_sent += items[k].number;
		}
	}
	return NULL;
}

static void record(struct side *side, const struct item *item)
{
	CHECK_EQ(item->check, ~item->number);
	CHECK(item->number > side->last[item->who]);
	side->last[item->who] = item->number;
	side->received++;
	side->sum_received += item->number;
}

static void *storm_receiver(void *arg)
{
	struct side *side = arg;
	weir_err err = WEIR_OK;

	while (err != WEIR_ECLOSED) {
		struct item items[3];
		size_t n = 1;

		switch (random_below(&side->seed, 4)) {
		case 0:
			err = weir_chan_try_recv(&storm, items);
			break;
		case 1:
			err = weir_chan_recv_until(&storm, items,
						   weir_deadline_after(1000));
			break;
		case 2:
			err = weir_chan_recv_many(&storm, items, 3, NULL, &n);
			break;
		default:
			err = weir_chan_recv(&storm, items, NULL);
			break;
		}
		CHECK(err == WEIR_OK || err == WEIR_EAGAIN ||
		      err == WEIR_ETIMEDOUT || err == WEIR_ECLOSED);
		for (size_t k = 0; !err && k < n; k++)
			record(side, &items[k]);
	}
	return NULL;
}

static void run_storm(int64_t capacity)
{
	struct side senders[THREADS], receivers[THREADS];
	check_thread in[THREADS], out[THREADS];
	int64_t sent = 0, received = 0, sum = 0;

	CHECK_OK(weir_chan_init(&storm, NULL, capacity, sizeof(struct item)));
	for (int i = 0; i < THREADS; i++) {
		receivers[i] = (struct side){ .seed = seed_of((uint64_t)i) };
		senders[i] = (struct side){ .seed = seed_of((uint64_t)i + 9),
					    .number = i };
		out[i] = start(storm_receiver, &receivers[i]);
		in[i] = start(storm_sender, &senders[i]);
	}
	for (int i = 0; i < THREADS; i++)
		finish(in[i]);
	weir_chan_close(&storm);
	for (int i = 0; i < THREADS; i++) {
		finish(out[i]);
		sent += senders[i].sent;
		received += receivers[i].received;
		sum += senders[i].sum_sent - receivers[i].sum_received;
	}
	CHECK(sent > 0);
	CHECK_EQ(received, sent);
	CHECK_EQ(sum, 0);
	check_adds_up(&storm);
	CHECK_OK(weir_chan_destroy(&storm));
}

TEST(storm_adds_up_in_one_slot)
{
	run_storm(1);
}

TEST(storm_adds_up_in_three_slots)
{
	run_storm(3);
}

TEST(storm_adds_up_in_many_slots)
{
	run_storm(64);
}
