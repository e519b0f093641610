/* SPDX-License-Identifier: MIT */
/*
 * The ring of the bounded channel: which slot a call uses, and when.
 *
 * Tickets are consecutive numbers.  Ticket t uses slot t % capacity.  Each slot
 * has a turn:
 *
 *     2 t                free for the sender with ticket t
 *     2 t + 1            filled, for the receiver with ticket t
 *     2 (t + capacity)   free again
 *
 * Permits are given out only for slots whose turn has come, in the order of
 * their tickets (chan_count.c).  A call with a permit therefore takes a ticket
 * and never waits for its slot.
 *
 * Closing.  weir_chan_close sets CLOSED in tail_, and the number of tickets is
 * final: a send that has a ticket will be received, a send without one is
 * refused.  Receivers need no permits from then on: while head_ is below the
 * final tail there are items, filled or being filled.  A receiver that finds an
 * item being filled waits until its slot is filled, and only then takes the
 * ticket.  A receiver with a ticket never waits, so a receiver that waits
 * delays no other one.
 *
 * Pairs
 *
 *   [CH1] filled  release: put   acquire: weir_chan_is_ready_
 *                 The receiver sees the item.
 *   [CH2] free    release: take  acquire: weir_chan_is_ready_
 *                 The next item is written only after this one has been read;
 *                 see CH8.
 *   [CH3] closed  release: weir_chan_close  acquire: weir_chan_closed_tail_,
 *                 claim_free
 *                 A call that returns WEIR_ECLOSED sees what the closing thread
 *                 did before.
 *   [CH8] counted release: claim_free  acquire: claim_free
 *                 A sender does not read the turn of its slot.  The sender is
 *                 ordered after the call that has counted the slot as free:
 *                 calls count in the order of the limit (CH6), and each permit
 *                 is ordered after the calls whose permits were released before
 *                 it.  But the permit for this slot may have been taken by
 *                 another sender, which then has an earlier ticket.
 */
#include <string.h>

#include "base/atomic.h"
#include "base/cpu.h"
#include "pattern/chan.h"

/* Most items are a pointer or a number: a constant size is copied inline. */
static void copy(void *to, const void *from, size_t size)
{
	if (size == sizeof(uint64_t))
		memcpy(to, from, sizeof(uint64_t));
	else
		memcpy(to, from, size);
}

/*
 * Sending.
 */

/*
 * Take tickets for n free slots, from *ticket on.  Requires: the caller holds n
 * permits of space_.  Returns false if the channel is closed.  *awaited is set
 * if the caller is in charge of the receivers.
 */
static bool claim_free(weir_chan *chan, int64_t n, uint64_t *ticket,
		       bool *awaited)
{
	/* [CH3] acquire */
	uint64_t seen = at_load_acquire(&chan->tail_);

	for (;;) {
		if (seen & WEIR_CHAN_CLOSED_)
			return false;
		*ticket = seen >> WEIR_CHAN_TICKET_;
		/* [CH5] acquire, [CH8] acquire, [CH8] release */
		if (at_cas_weak_acq_rel(&chan->tail_, &seen,
					(*ticket + (uint64_t)n)
						<< WEIR_CHAN_TICKET_))
			break;
		/* [CH3] acquire: a CAS that fails is relaxed. */
		seen = at_load_acquire(&chan->tail_);
	}
	*awaited = seen & WEIR_CHAN_AWAITED_;
	return true;
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
	struct weir_chan_side_ receivers = weir_chan_receivers_(chan);
	uint64_t ticket;
	bool awaited;

	if (!claim_free(chan, n, &ticket, &awaited)) {
		weir_sem_release(&chan->space_, n);
		return 0;
	}
	for (int64_t i = 0; i < n; i++)
		put(chan, ticket + (uint64_t)i,
		    items + (size_t)i * chan->item_size_);
	if (awaited)
		weir_chan_count_for_(chan, &receivers);
	return n;
}

/*
 * Receiving.
 */

/*
 * Take tickets for 1 to n filled slots, from *ticket on.  Returns the number of
 * tickets; 0 if the channel is closed and empty.  *awaited is set if the caller
 * is in charge of the senders.
 */
static int64_t claim_filled(weir_chan *chan, int64_t n, uint64_t *ticket,
			    bool *awaited)
{
	struct weir_backoff_ backoff = { 0 };

	for (;;) {
		uint64_t seen, tail;
		int64_t count;

		weir_backoff_recheck_(&backoff);
		/* relaxed: the turns provide the order; the CAS checks it. */
		seen = at_load_relaxed(&chan->head_);
		*ticket = seen >> WEIR_CHAN_TICKET_;
		count = weir_chan_count_ready_(chan, *ticket, n,
					       WEIR_CHAN_FILLED_);
		/* [CH5] acquire */
		if (count &&
		    at_cas_weak_acquire(&chan->head_, &seen,
					(*ticket + (uint64_t)count)
						<< WEIR_CHAN_TICKET_)) {
			*awaited = seen & WEIR_CHAN_AWAITED_;
			return count;
		}
		/* relaxed: a hint.  If another call was faster, retry. */
		if (count || at_load_relaxed(&chan->head_) >>
				     WEIR_CHAN_TICKET_ != *ticket) {
			backoff.rounds = 0;
			continue;
		}
		if (weir_chan_closed_tail_(chan, &tail) && *ticket >= tail)
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
	struct weir_chan_side_ senders = weir_chan_senders_(chan);
	struct weir_chan_side_ receivers = weir_chan_receivers_(chan);
	int64_t done = 0;

	while (done < n) {
		uint64_t ticket;
		bool awaited;
		int64_t count = claim_filled(chan, n - done, &ticket, &awaited);

		if (!count)
			break;
		for (int64_t i = 0; i < count; i++)
			take(chan, ticket + (uint64_t)i,
			     items + (size_t)(done + i) * chan->item_size_);
		if (awaited)
			weir_chan_count_for_(chan, &senders);
		done += count;
	}
	weir_chan_pass_on_(chan, &receivers);
	return done;
}
