/* SPDX-License-Identifier: MIT */
/*
 * The ring of the bounded channel: which slot, and when.
 *
 * A permit says that a slot is to be had; a ticket says which.  A slot has a turn:
 *
 *     2 t      free for the sender with ticket t
 *     2 t + 1  filled, for the receiver with ticket t
 *     2 (t + capacity)   free again
 *
 * A permit does not say that the slot of the next ticket is ready: whoever had it
 * before may still be copying, while later ones have been finished.  Then one waits
 * for the slot's turn, and takes the ticket only when it has come.  So who has a
 * ticket waits for nothing, and who waits holds up nobody: if it naps, another
 * takes the ticket.  (With tickets taken beforehand each napped for the one before
 * it that napped, at a hundredth of the speed, as soon as one was preempted.)
 *
 * Closing.  The lowest bit of tail_ is set, and with it the number of tickets is
 * final: a send that has one is received, one that has none is refused.  Receivers
 * then need no permits: while tickets are below the final tail there are items,
 * filled or about to be.
 *
 * Pairs
 *
 *   [CH1] filled  release: put   acquire: count_ready
 *                 The receiver sees the item.
 *   [CH2] free    release: take  acquire: count_ready
 *                 The next item is not written before this one has been read.
 *   [CH3] closed  release: weir_chan_close  acquire: weir_chan_closed_tail_
 *                 WEIR_ECLOSED sees what the closer did.
 */
#include <string.h>

#include "base/atomic.h"
#include "base/cpu.h"
#include "pattern/chan.h"

#define FREE 0
#define FILLED 1

/* A pointer or a number is most of what is sent. */
static void copy(void *to, const void *from, size_t size)
{
	if (size == sizeof(uint64_t))
		memcpy(to, from, sizeof(uint64_t));
	else
		memcpy(to, from, size);
}

/* How many slots are FREE, or FILLED, from that of the ticket on; at most n. */
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

/* Tickets, for 1 to n slots that are free; 0: it is closed. */
static int64_t claim_free(weir_chan *chan, int64_t n, uint64_t *ticket)
{
	struct weir_backoff_ backoff = { 0 };

	for (;;) {
		uint64_t seen, last;
		int64_t count;

		/* Several looks, and a wait for what comes after the first. */
		weir_backoff_recheck_(&backoff);
		if (weir_chan_closed_tail_(chan, ticket))
			return 0;
		seen = last = *ticket << WEIR_CHAN_TICKET_;
		count = count_ready(chan, *ticket, n, FREE);
		/* relaxed: tickets order nothing, turns do. */
		if (count &&
		    at_cas_weak_relaxed(&chan->tail_, &seen,
					seen + ((uint64_t)count
						<< WEIR_CHAN_TICKET_)))
			return count;
		/* relaxed: a glance.  Another was first: there is no waiting. */
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

/* Tickets, for 1 to n slots that are filled; 0: closed, and none is left. */
static int64_t claim_filled(weir_chan *chan, int64_t n, uint64_t *ticket)
{
	struct weir_backoff_ backoff = { 0 };

	for (;;) {
		uint64_t head, last, tail;
		int64_t count;

		weir_backoff_recheck_(&backoff);
		/* relaxed: tickets order nothing; the CAS checks it. */
		head = last = at_load_relaxed(&chan->head_);
		count = count_ready(chan, head, n, FILLED);
		*ticket = head;
		/* relaxed: the same. */
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
