/* SPDX-License-Identifier: MIT */
/*
 * The ring of the bounded channel: which slot a call uses, and when.
 *
 * A permit means that some slot is available; a ticket is the number of a slot.
 * Each slot has a turn:
 *
 *     2 t                free for the sender with ticket t
 *     2 t + 1            filled, for the receiver with ticket t
 *     2 (t + capacity)   free again
 *
 * A permit does not mean that the slot of the next ticket is ready: its
 * previous user may still be copying, while users of later slots have
 * finished.  A call therefore waits until the slot's turn has come, and only
 * then takes the ticket.  A call with a ticket never waits, and a call that
 * waits delays no other call: if its thread naps, another call takes the
 * ticket.  (If tickets were taken before the wait, one preempted thread would
 * make each later call nap for the call before it; that was measured to be a
 * hundred times slower.)
 *
 * Closing.  weir_chan_close sets the lowest bit of tail_, and the number of
 * tickets is final: a send that has a ticket will be received, a send without
 * one is refused.  Receivers need no permits from then on: while head_ is
 * below the final tail there are items, filled or being filled.
 *
 * Pairs
 *
 *   [CH1] filled  release: put   acquire: count_ready
 *                 The receiver sees the item.
 *   [CH2] free    release: take  acquire: count_ready
 *                 The next item is written only after this one has been read.
 *   [CH3] closed  release: weir_chan_close  acquire: weir_chan_closed_tail_
 *                 A call that returns WEIR_ECLOSED sees what the closing thread
 *                 did before.
 */
#include <string.h>

#include "base/atomic.h"
#include "base/cpu.h"
#include "pattern/chan.h"

#define FREE 0
#define FILLED 1

/* Most items are a pointer or a number: a constant size is copied inline. */
static void copy(void *to, const void *from, size_t size)
{
	if (size == sizeof(uint64_t))
		memcpy(to, from, sizeof(uint64_t));
	else
		memcpy(to, from, size);
}

/* Returns how many slots from the ticket's on are in `phase`; at most n. */
static int64_t count_ready(const weir_chan *chan, uint64_t ticket, int64_t n,
			   uint64_t phase)
{
	int64_t count = 0;

	/* [CH1] acquire, [CH2] acquire */
	while (count < n && at_load_acquire(weir_chan_turn_(chan, ticket)) ==
				    2 * ticket + phase) {
		count++;
		ticket++;
	}
	return count;
}

/*
 * Sending.
 */

/*
 * Take tickets for 1 to n free slots, from *ticket on.  Returns the number of
 * tickets; 0 if the channel is closed.
 */
static int64_t claim_free(weir_chan *chan, int64_t n, uint64_t *ticket)
{
	struct weir_backoff_ backoff = { 0 };

	for (;;) {
		uint64_t seen, last;
		int64_t count;

		/* The condition needs several loads. */
		weir_backoff_recheck_(&backoff);
		if (weir_chan_closed_tail_(chan, ticket))
			return 0;
		seen = last = *ticket << WEIR_CHAN_TICKET_;
		count = count_ready(chan, *ticket, n, FREE);
		/* relaxed: the turns provide the order. */
		if (count &&
		    at_cas_weak_relaxed(&chan->tail_, &seen,
					seen + ((uint64_t)count
						<< WEIR_CHAN_TICKET_)))
			return count;
		/* relaxed: a hint.  If another call was faster, retry. */
		if (count || at_load_relaxed(&chan->tail_) != last)
			backoff.rounds = 0;
		else
			weir_backoff_wait_(&backoff);
	}
}

static void put(weir_chan *chan, uint64_t ticket, const void *item)
{
	uint64_t *turn = weir_chan_turn_(chan, ticket);

	copy(turn + 1, item, chan->item_size_);
	/* [CH1] release */
	at_store_release(turn, 2 * ticket + 1);
}

int64_t weir_chan_put_all_(weir_chan *chan, const unsigned char *items,
			   int64_t n)
{
	int64_t done = 0;

	while (done < n) {
		uint64_t ticket;
		int64_t count = claim_free(chan, n - done, &ticket);

		if (!count) {
			weir_sem_release(&chan->space_, n - done);
			break;
		}
		for (int64_t i = 0; i < count; i++)
			put(chan, ticket + (uint64_t)i,
			    items + (size_t)(done + i) * chan->item_size_);
		weir_sem_release(&chan->items_, count);
		done += count;
	}
	return done;
}

/*
 * Receiving.
 */

/*
 * Take tickets for 1 to n filled slots, from *ticket on.  Returns the number of
 * tickets; 0 if the channel is closed and empty.
 */
static int64_t claim_filled(weir_chan *chan, int64_t n, uint64_t *ticket)
{
	struct weir_backoff_ backoff = { 0 };

	for (;;) {
		uint64_t head, last, tail;
		int64_t count;

		weir_backoff_recheck_(&backoff);
		/* relaxed: the turns provide the order; the CAS checks it. */
		head = last = at_load_relaxed(&chan->head_);
		count = count_ready(chan, head, n, FILLED);
		*ticket = head;
		/* relaxed: as above. */
		if (count && at_cas_weak_relaxed(&chan->head_, &head,
						 head + (uint64_t)count))
			return count;
		if (count || at_load_relaxed(&chan->head_) != last) {
			backoff.rounds = 0;
			continue;
		}
		if (weir_chan_closed_tail_(chan, &tail) && last >= tail)
			return 0;
		weir_backoff_wait_(&backoff);
	}
}

static void take(weir_chan *chan, uint64_t ticket, void *item)
{
	uint64_t *turn = weir_chan_turn_(chan, ticket);

	copy(item, turn + 1, chan->item_size_);
	/* [CH2] release */
	at_store_release(turn, 2 * (ticket + chan->capacity_));
}

int64_t weir_chan_take_all_(weir_chan *chan, unsigned char *items, int64_t n)
{
	int64_t done = 0;

	while (done < n) {
		uint64_t ticket;
		int64_t count = claim_filled(chan, n - done, &ticket);

		if (!count)
			break;
		for (int64_t i = 0; i < count; i++)
			take(chan, ticket + (uint64_t)i,
			     items + (size_t)(done + i) * chan->item_size_);
		weir_sem_release(&chan->space_, count);
		done += count;
	}
	return done;
}
