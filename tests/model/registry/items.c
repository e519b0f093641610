/* SPDX-License-Identifier: MIT */
/* The items of a watched channel: items.h. */
#define HOLDERS_IMPLEMENTATION
#define ITEMS_IMPLEMENTATION
#include "items.h"

#include <inttypes.h>
#include <string.h>

#include "base/atomic.h"
#include "core/sem_queue.h"
#include "core/sem_word.h"
#include "explore.h"
#include "holders.h"
#include "record/context.h"
#include "record/record.h"

static struct {
	weir_chan *chan;
	uint64_t id;
	int64_t of[EX_THREADS];	/* sent - received, since the thread began */
	int64_t total;		/* of all threads */
	uint64_t sends, receives;
} book;

static char *base_now(void)
{
	return weir_registry_->base;
}

static int64_t slot_now(const struct rg_slot *slot)
{
	return (int64_t)(slot->taken - slot->given - slot->returned);
}

static int64_t slots_now(const struct rg_context *context)
{
	int64_t n = 0;

	for (unsigned i = 0; context && i < RG_SLOTS; i++)
		if (context->slots[i].object == book.id)
			n += slot_now(&context->slots[i]);
	return n;
}

static void check_thread(int thread)
{
	int64_t n = slots_now(ex_mine[thread + 1].context);

	if (n != book.of[thread])
		ex_fail("items: thread %d has sent %" PRId64 ", its slot contains "
			"%" PRId64, thread, book.of[thread], n);
}

/* All threads: no call is in progress. */
static void check_sum(const struct rg_object *object)
{
	int64_t n = -object->handed_over;
	uint64_t sends = object->acquires[RG_IMMEDIATE] +
			 object->acquires[RG_QUEUED];
	uint64_t receives = object->releases;

	for (uint32_t i = 0; i < RG_CONTEXTS; i++) {
		const struct rg_context *context =
			weir_rg_context_(base_now(), i);

		if (context->state == RG_FREE)
			continue;
		n += slots_now(context);
		for (unsigned s = 0; s < RG_SLOTS; s++)
			if (context->slots[s].object == book.id) {
				sends += context->slots[s].acquires;
				receives += context->slots[s].releases;
			}
	}
	if (n != book.total)
		ex_fail("items: the channel has %" PRId64 ", the registry "
			"contains %" PRId64, book.total, n);
	if (sends != book.sends || receives != book.receives)
		ex_fail("counts: %" PRIu64 " sends and %" PRIu64 " receives, the "
			"registry has %" PRIu64 " and %" PRIu64, book.sends,
			book.receives, sends, receives);
}

/* The waits of a side, if its semaphore is not locked. */
static void check_waits(const weir_sem *sem, uint32_t receives)
{
	if (weir_door_(sem->word_) == WEIR_LOCKED_)
		return;
	RING_EACH(link, next, end, sem->queue_) {
		const struct weir_waiter_ *w = weir_waiter_of_(link);
		const struct rg_wait *wait;

		if (!w->record)
			ex_fail("waits: a waiter has no record");
		wait = weir_rg_wait_(base_now(), w->record - 1);
		if (wait->state != RG_LIVE || wait->object != book.id ||
		    (wait->flags & RG_RECEIVES) != receives)
			ex_fail("waits: the record of a waiter is not its own");
	}
}

void items_check_now(void)
{
	bool quiet = true;

	if (!book.chan)
		return;
	for (int t = 0; t < EX_THREADS; t++) {
		quiet = quiet && !holders_are_in(t);
		if (!holders_are_in(t))
			check_thread(t);
	}
	if (quiet)
		check_sum(weir_rg_object_(base_now(), book.id));
	check_waits(&book.chan->space_, 0);
	check_waits(&book.chan->items_, RG_RECEIVES);
}

void items_end_thread(void)
{
	book.of[ex_self()] = 0;
}

int64_t items_in(void)
{
	return book.total;
}

weir_err items_init(weir_chan *chan, const weir_chan_opts *opts)
{
	weir_err err = weir_chan_init_opts(chan, opts);

	if (err)
		return err;
	memset(&book, 0, sizeof(book));
	book.chan = chan;
	book.id = weir_record_numbered_(chan->watched_, chan);
	EX_ASSERT(book.id);
	return WEIR_OK;
}

/* The call has sent n items, or has received -n. */
static void end(int64_t n)
{
	book.of[ex_self()] += n;
	book.total += n;
	book.sends += n > 0;
	book.receives += n < 0;
	holders_leave();
}

weir_err items_send(weir_chan *chan, const void *item, struct weir_ctx *ctx)
{
	weir_err err;

	holders_enter();
	err = weir_chan_send(chan, item, ctx);
	end(!err);
	return err;
}

weir_err items_recv(weir_chan *chan, void *item, struct weir_ctx *ctx)
{
	weir_err err;

	holders_enter();
	err = weir_chan_recv(chan, item, ctx);
	end(-!err);
	return err;
}

weir_err items_try_send(weir_chan *chan, const void *item)
{
	weir_err err;

	holders_enter();
	err = weir_chan_try_send(chan, item);
	end(!err);
	return err;
}

weir_err items_try_recv(weir_chan *chan, void *item)
{
	weir_err err;

	holders_enter();
	err = weir_chan_try_recv(chan, item);
	end(-!err);
	return err;
}

weir_err items_send_many(weir_chan *chan, const void *items, size_t n,
			 struct weir_ctx *ctx, size_t *sent)
{
	weir_err err;

	holders_enter();
	err = weir_chan_send_many(chan, items, n, ctx, sent);
	end((int64_t)*sent);
	return err;
}

weir_err items_recv_many(weir_chan *chan, void *items, size_t max,
			 struct weir_ctx *ctx, size_t *got)
{
	weir_err err;

	holders_enter();
	err = weir_chan_recv_many(chan, items, max, ctx, got);
	end(-(int64_t)*got);
	return err;
}
