/* SPDX-License-Identifier: MIT */
/*
 * Channels under every schedule of a few threads, among them the schedules that
 * break bounded buffers: a slow receiver, a slow sender, a close in the middle.
 */
#include "pattern_scenario.h"
#include "weir/chan.h"

#define ITEMS 8

static weir_chan chan;
static uint64_t slots[WEIR_CHAN_BYTES(2, 8) / 8];
static weir_ctx ctx;
static uint32_t flag;
static int sent, received, times[ITEMS];
static weir_err results[EX_THREADS];
static uint64_t last;

static void reset(int64_t capacity)
{
	EX_ASSERT(weir_chan_init(&chan, slots, capacity, 8) == WEIR_OK);
	EX_ASSERT(weir_ctx_init(&ctx, NULL, WEIR_FOREVER) == WEIR_OK);
}

static void one_slot(void)
{
	reset(1);
}

static void two_slots(void)
{
	reset(2);
}

static weir_err send(uint64_t item, struct weir_ctx *until)
{
	weir_err err = weir_chan_send(&chan, &item, until);

	sent += err == WEIR_OK;
	return err;
}

static weir_err book(weir_err err, uint64_t item)
{
	if (!err) {
		EX_ASSERT(item < ITEMS && times[item]++ == 0);
		received++;
	}
	return err;
}

static weir_err recv(struct weir_ctx *until)
{
	uint64_t item = ITEMS;
	weir_err err = weir_chan_recv(&chan, &item, until);

	return book(err, item);
}

/* C6, C16: free + filled slots = capacity; no item is lost or duplicated. */
static void adds_up(void)
{
	weir_chan_info info;

	check_calm(&chan.space_);
	EX_ASSERT(weir_chan_stat(&chan, &info) == WEIR_OK);
	EX_ASSERT(info.length == sent - received);
	EX_ASSERT(info.space + info.length == info.capacity);
}

static void is_empty(void)
{
	adds_up();
	EX_ASSERT(sent == received);
}

static void send_0_and_1(void)
{
	EX_ASSERT(send(0, NULL) == WEIR_OK);
	EX_ASSERT(send(1, NULL) == WEIR_OK);
}

static void send_2(void)
{
	EX_ASSERT(send(2, NULL) == WEIR_OK);
}

static void send_3(void)
{
	EX_ASSERT(send(3, NULL) == WEIR_OK);
}

static void recv_one(void)
{
	EX_ASSERT(recv(NULL) == WEIR_OK);
}

static void recv_two(void)
{
	recv_one();
	recv_one();
}

static void recv_two_in_order(void)
{
	for (uint64_t want = 0; want < 2; want++) {
		uint64_t item;

		EX_ASSERT(weir_chan_recv(&chan, &item, NULL) == WEIR_OK);
		EX_ASSERT(item == want);
		received++;
	}
}

/* C4: items arrive in order, through one slot and through two. */
SCENARIO(chan_of_one_slot, 3, one_slot, is_empty, send_0_and_1,
	 recv_two_in_order)
SCENARIO(chan_of_two_slots, 3, two_slots, is_empty, send_0_and_1,
	 recv_two_in_order)

/* A sender is slow to fill its slot; a receiver is slow to empty it. */
SCENARIO(chan_many_senders, 2, two_slots, is_empty, send_2, send_3, recv_two)
SCENARIO(chan_many_receivers_one_slot, 2, one_slot, is_empty, send_0_and_1,
	 recv_one, recv_one)

/* One receiver is slow to empty the first slot; the second is free again. */
static void full_of_two(void)
{
	reset(2);
	send_0_and_1();
}

SCENARIO(chan_slow_receiver, 2, full_of_two, is_empty, recv_one, recv_two,
	 send_2)

static void send_or_closed(void)
{
	results[ex_self()] = send((uint64_t)ex_self(), NULL);
	EX_ASSERT(results[ex_self()] == WEIR_OK ||
		  results[ex_self()] == WEIR_ECLOSED);
}

static void recv_till_closed(void)
{
	weir_err err;

	while ((err = recv(NULL)) == WEIR_OK)
		;
	EX_ASSERT(err == WEIR_ECLOSED);
}

static void close_it(void)
{
	weir_chan_close(&chan);
}

/* C19: the item of a send that meets a close is received or refused. */
SCENARIO(chan_close_meets_send, 2, one_slot, is_empty, send_or_closed,
	 recv_till_closed, close_it)

static void full_of_one(void)
{
	reset(1);
	EX_ASSERT(send(3, NULL) == WEIR_OK);
}

static void recv_or_closed(void)
{
	weir_err err = recv(NULL);

	EX_ASSERT(err == WEIR_OK || err == WEIR_ECLOSED);
}

/*
 * C19: one receiver has its permit from before the close; the other one takes
 * the last item.
 */
SCENARIO(chan_close_with_receivers, 2, full_of_one, is_empty, recv_or_closed,
	 recv_or_closed, close_it)

/* C19: a close refuses a waiting sender, and no slot is lost. */
SCENARIO(chan_close_meets_full, 2, full_of_one, is_empty, send_or_closed,
	 recv_till_closed, close_it)

static void send_ctx(void)
{
	results[ex_self()] = send((uint64_t)ex_self(), &ctx);
	EX_ASSERT(results[ex_self()] == WEIR_OK ||
		  results[ex_self()] == WEIR_ECANCELED);
}

static void cancel(void)
{
	weir_ctx_cancel(&ctx);
}

/* C13: a cancel meets a slot that becomes free. */
SCENARIO(chan_cancel_meets_slot, 2, full_of_one, adds_up, send_ctx, recv_one,
	 cancel)

static void recv_ctx(void)
{
	weir_err err = recv(&ctx);

	EX_ASSERT(err == WEIR_OK || err == WEIR_ECANCELED);
}

/* C13: a cancel meets an item; an item not received stays in the channel. */
SCENARIO(chan_cancel_meets_item, 2, one_slot, adds_up, send_2, recv_ctx, cancel)

static void recv_timed(void)
{
	uint64_t item = ITEMS;
	weir_err err = weir_chan_recv_until(&chan, &item,
					    weir_deadline_after(1000));

	EX_ASSERT(err == WEIR_OK || err == WEIR_ETIMEDOUT);
	book(err, item);
}

static void send_timed(void)
{
	uint64_t item = 4;
	weir_err err = weir_chan_send_until(&chan, &item,
					    weir_deadline_after(1000));

	EX_ASSERT(err == WEIR_OK || err == WEIR_ETIMEDOUT);
	sent += err == WEIR_OK;
}

/* C14: a deadline meets an item, and a free slot. */
SCENARIO(chan_item_meets_timeout, 3, one_slot, adds_up, recv_timed, send_2)
SCENARIO(chan_slot_meets_timeout, 3, full_of_one, adds_up, send_timed, recv_one)

static void send_three(void)
{
	const uint64_t items[] = { 0, 1, 2 };
	size_t n;

	EX_ASSERT(weir_chan_send_many(&chan, items, 3, NULL, &n) == WEIR_OK);
	EX_ASSERT(n == 3);
	sent += 3;
	ex_set(&flag);
}

static void recv_batches(void)
{
	while (received < 3) {
		uint64_t items[3];
		size_t n;

		EX_ASSERT(weir_chan_recv_many(&chan, items, 3, NULL, &n) ==
			  WEIR_OK);
		EX_ASSERT(n >= 1 && n <= 2);
		for (size_t i = 0; i < n; i++)
			EX_ASSERT(items[i] == last++);
		received += (int)n;
	}
}

static void send_some_or_closed(void)
{
	const uint64_t items[] = { 0, 1 };
	size_t n;
	weir_err err = weir_chan_send_many(&chan, items, 2, NULL, &n);

	EX_ASSERT(err == WEIR_OK ? n == 2 : err == WEIR_ECLOSED && n < 2);
	sent += (int)n;
}

/* Batches larger than the channel. */
SCENARIO(chan_batches, 2, two_slots, is_empty, send_three, recv_batches)
SCENARIO(chan_batch_meets_close, 2, one_slot, is_empty, send_some_or_closed,
	 recv_till_closed, close_it)

static void send_two_at_once(void)
{
	const uint64_t items[] = { 0, 1 };
	size_t n;

	EX_ASSERT(weir_chan_send_many(&chan, items, 2, NULL, &n) == WEIR_OK);
	EX_ASSERT(n == 2);
	sent += 2;
}

static void recv_four(void)
{
	recv_two();
	recv_two();
}

/* C7: a batch that waits several times, beside a sender that sleeps. */
SCENARIO(chan_batch_beside_sleeper, 2, full_of_one, is_empty, send_two_at_once,
	 send_2, recv_four)

static void try_both(void)
{
	uint64_t item = 5;
	weir_err err = weir_chan_try_send(&chan, &item);

	EX_ASSERT(err == WEIR_OK || err == WEIR_EAGAIN);
	sent += err == WEIR_OK;
	item = ITEMS;
	err = weir_chan_try_recv(&chan, &item);
	EX_ASSERT(err == WEIR_OK || err == WEIR_EAGAIN);
	book(err, item);
}

/* C5: try_send and try_recv beside waiting calls. */
SCENARIO(chan_tries, 2, one_slot, adds_up, try_both, send_2, recv_timed)

/*
 * Counting: slots that the other side has made ready become permits when a call
 * of this side needs them, and only a sleeping call is woken for them.
 */

/* Two calls sleep; the call that is woken first wakes the other one. */
SCENARIO(chan_two_senders_sleep, 2, full_of_two, adds_up, send_2, send_3,
	 recv_two)
SCENARIO(chan_two_receivers_sleep, 2, two_slots, is_empty, recv_one, recv_one,
	 send_0_and_1)

static void try_send_5(void)
{
	uint64_t item = 5;
	weir_err err = weir_chan_try_send(&chan, &item);

	EX_ASSERT(err == WEIR_OK || err == WEIR_EAGAIN);
	sent += err == WEIR_OK;
}

/* C30: a try takes the permit for which a sleeping sender was woken. */
SCENARIO(chan_try_overtakes_sleeper, 2, full_of_two, adds_up, send_2, recv_two,
	 try_send_5)

/* Two slots are free, and the only other sender takes one of them. */
static void recv_two_then_try(void)
{
	uint64_t item = 5;

	recv_two();
	EX_ASSERT(weir_chan_try_send(&chan, &item) == WEIR_OK);
	sent++;
}

static void recv_two_then_send_late(void)
{
	uint64_t item = 5;

	recv_two();
	EX_ASSERT(weir_chan_send_until(&chan, &item, 0) == WEIR_OK);
	sent++;
}

static void send_two_then_try(void)
{
	uint64_t item = ITEMS;

	send_0_and_1();
	EX_ASSERT(weir_chan_try_recv(&chan, &item) == WEIR_OK);
	(void)book(WEIR_OK, item);
}

/* C5, C14: no call fails while another one counts the slots. */
SCENARIO(chan_try_send_meets_count, 3, full_of_two, adds_up, recv_two_then_try,
	 send_2)
SCENARIO(chan_late_send_meets_count, 3, full_of_two, adds_up,
	 recv_two_then_send_late, send_2)
SCENARIO(chan_try_recv_meets_count, 3, two_slots, is_empty, send_two_then_try,
	 recv_one)

/* C7: a sender that was woken gives up; the other one takes the slot. */
SCENARIO(chan_cancelled_sleeper_passes_on, 2, full_of_one, adds_up, send_ctx,
	 send_2, recv_two, cancel)

/*
 * C19: one receiver awaits an item that is being sent; after the close the other
 * one takes it without a permit.
 */
SCENARIO(chan_close_while_receiver_awaits_copy, 2, one_slot, is_empty,
	 send_or_closed, recv_or_closed, recv_or_closed, close_it)

/*
 * C5: a try sees an item that was sent before, and a slot that was emptied
 * before, although a call with an earlier ticket is still copying.
 */
static void send_then_try(void)
{
	uint64_t item = ITEMS;

	EX_ASSERT(send(3, NULL) == WEIR_OK);
	EX_ASSERT(weir_chan_try_recv(&chan, &item) == WEIR_OK);
	(void)book(WEIR_OK, item);
}
SCENARIO(chan_try_recv_meets_copy, 2, two_slots, adds_up, send_2, send_then_try)

static void recv_then_try(void)
{
	uint64_t item = 5;

	EX_ASSERT(recv(NULL) == WEIR_OK);
	EX_ASSERT(weir_chan_try_send(&chan, &item) == WEIR_OK);
	sent++;
}

static void recv_another(void)
{
	EX_ASSERT(recv(NULL) == WEIR_OK);
}
SCENARIO(chan_try_send_meets_copy, 2, full_of_two, adds_up, recv_another,
	 recv_then_try)
