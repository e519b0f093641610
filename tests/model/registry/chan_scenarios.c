/* SPDX-License-Identifier: MIT */
/* The registry and the true items of a watched channel: items.h. */
#include <string.h>

#include "explore.h"
#include "weir/chan.h"
#include "weir/ctx.h"
#include "weir/sem.h"

#include "holders.h"
#include "items.h"

static weir_chan chan;
static uint64_t slots[WEIR_CHAN_BYTES(2, 8) / 8];
static weir_ctx ctx;
static uint32_t ready;

static void reset(int64_t capacity)
{
	weir_chan_opts opts = { .capacity = capacity, .item_size = 8,
				.slots = slots, .name = "explored" };

	EX_ASSERT(weir_chan_init_opts(&chan, &opts) == WEIR_OK);
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

static void adds_up(void)
{
	weir_chan_info info;

	holders_check();
	items_check_now();
	EX_ASSERT(weir_chan_stat(&chan, &info) == WEIR_OK);
	EX_ASSERT(info.length == items_in());
}

static void is_empty(void)
{
	adds_up();
	EX_ASSERT(!items_in());
}

static void send(void)
{
	uint64_t item = 0;

	EX_ASSERT(weir_chan_send(&chan, &item, NULL) == WEIR_OK);
}

static void recv(void)
{
	uint64_t item;

	EX_ASSERT(weir_chan_recv(&chan, &item, NULL) == WEIR_OK);
}

static void send_two(void)
{
	send();
	send();
}

static void recv_two(void)
{
	recv();
	recv();
}

static void send_and_recv(void)
{
	send();
	recv();
}

static void try_both(void)
{
	uint64_t item = 0;

	if (weir_chan_try_recv(&chan, &item) == WEIR_OK)
		send();
	if (weir_chan_try_send(&chan, &item) == WEIR_OK)
		recv();
}

/* Both sides wait for each other, or do not. */
SCENARIO(registry_of_items, 1, one_slot, is_empty, send_two, recv_two)
SCENARIO(registry_of_items_in_two_slots, 1, two_slots, is_empty, send_two,
	 recv_two)
SCENARIO(registry_of_items_of_three, 1, one_slot, is_empty, send, send,
	 recv_two)
SCENARIO(registry_of_items_back_and_forth, 1, two_slots, is_empty,
	 send_and_recv, try_both)

/* A batch is one call. */
static void send_batch(void)
{
	const uint64_t items[3] = { 0 };
	size_t sent;

	EX_ASSERT(weir_chan_send_many(&chan, items, 3, NULL, &sent) == WEIR_OK);
}

static void recv_batch(void)
{
	uint64_t items[3];
	size_t n = 0, got;

	while (n < 3) {
		EX_ASSERT(weir_chan_recv_many(&chan, items, 3 - n, NULL, &got) ==
			  WEIR_OK);
		n += got;
	}
}

SCENARIO(registry_of_batches, 1, two_slots, is_empty, send_batch, recv_batch)

/* The slot of a thread that ends is added to the object. */
static void send_and_end(void)
{
	send();
	holders_end_thread();
	ex_set(&ready);
}

static void recv_and_end(void)
{
	recv();
	holders_end_thread();
}

static void recv_later_and_end(void)
{
	ex_await(&ready);
	recv();
	holders_end_thread();
}

SCENARIO(registry_of_items_of_ended_threads, 1, one_slot, is_empty,
	 send_and_end, recv_and_end)
SCENARIO(registry_of_items_of_ended_sender, 1, two_slots, is_empty,
	 send_and_end, recv_later_and_end, send_and_recv)

/* Waits that end without an item. */
static void recv_in_ctx(void)
{
	uint64_t item;
	weir_err err = weir_chan_recv(&chan, &item, &ctx);

	EX_ASSERT(err == WEIR_OK || err == WEIR_ECANCELED);
}

static void cancel(void)
{
	weir_ctx_cancel(&ctx);
}

static void close_it(void)
{
	weir_chan_close(&chan);
}

static void recv_until_closed(void)
{
	uint64_t item;

	while (weir_chan_recv(&chan, &item, NULL) == WEIR_OK)
		;
}

static void try_send(void)
{
	uint64_t item = 0;

	(void)!weir_chan_try_send(&chan, &item);
}

SCENARIO(registry_of_cancelled_receive, 1, one_slot, adds_up, try_send,
	 recv_in_ctx, cancel)
SCENARIO(registry_of_closed_channel, 1, one_slot, is_empty, try_send,
	 recv_until_closed, close_it)
