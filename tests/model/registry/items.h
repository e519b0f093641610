/* SPDX-License-Identifier: MIT */
#ifndef TESTS_MODEL_REGISTRY_ITEMS_H
#define TESTS_MODEL_REGISTRY_ITEMS_H

/*
 * The items of a watched channel, and the registry compared with them.
 *
 * The calls of weir/chan.h are wrapped, as those of weir/sem.h in holders.h.  After
 * each atomic write of each thread these are compared:
 *
 *   - For each thread outside a call: its slot contains the items that it has
 *     sent, minus those that it has received, since it began.
 *   - If all threads are outside a call: the slots of all threads, minus
 *     handed_over, contain the items in the channel.  The counts of sends and
 *     receives are those of the calls.
 *   - Each wait for an item has RG_RECEIVES, and no wait for a slot has it.
 */
#include "weir/chan.h"

weir_err items_init(weir_chan *chan, const weir_chan_opts *opts);
weir_err items_send(weir_chan *chan, const void *item, struct weir_ctx *ctx);
weir_err items_recv(weir_chan *chan, void *item, struct weir_ctx *ctx);
weir_err items_try_send(weir_chan *chan, const void *item);
weir_err items_try_recv(weir_chan *chan, void *item);
weir_err items_send_many(weir_chan *chan, const void *items, size_t n,
			 struct weir_ctx *ctx, size_t *sent);
weir_err items_recv_many(weir_chan *chan, void *items, size_t max,
			 struct weir_ctx *ctx, size_t *got);

/* The number of items that were sent and not received. */
int64_t items_in(void);

/* For holders.c: after each write, and when this thread ends. */
void items_check_now(void);
void items_end_thread(void);

/* holders.c: a call of this thread is in progress. */
bool holders_are_in(int thread);

#ifndef ITEMS_IMPLEMENTATION
#define weir_chan_init_opts items_init
#define weir_chan_send items_send
#define weir_chan_recv items_recv
#define weir_chan_try_send items_try_send
#define weir_chan_try_recv items_try_recv
#define weir_chan_send_many items_send_many
#define weir_chan_recv_many items_recv_many
#endif

#endif /* TESTS_MODEL_REGISTRY_ITEMS_H */
