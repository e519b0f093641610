/* SPDX-License-Identifier: MIT */
#ifndef WEIR_PATTERN_CHAN_H
#define WEIR_PATTERN_CHAN_H

/*
 * Internals shared by the files of the channel.  The heads of chan.c and
 * chan_ring.c explain them.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "pattern/ready.h"
#include "weir/chan.h"

#define WEIR_CHAN_CLOSED_ UINT64_C(1)
#define WEIR_CHAN_TICKET_ 1	/* shift: tail_ is tickets and the closed bit */

weir_err weir_chan_unready_(const weir_chan *chan, const char *call,
			    enum weir_refusal_ refusal);

/* The check at the begin of every call: ready.h. */
static inline weir_err weir_chan_check_(const weir_chan *chan, const char *call,
					enum weir_refusal_ refusal)
{
	return weir_is_ready_(chan) ?
		       WEIR_OK : weir_chan_unready_(chan, call, refusal);
}

/* Returns the turn of the ticket's slot; the item follows it in memory. */
static inline uint64_t *weir_chan_turn_(const weir_chan *chan, uint64_t ticket)
{
	uint64_t at = chan->mask_ ? ticket & chan->mask_ :
				    ticket % chan->capacity_;

	return (uint64_t *)(void *)(chan->slots_ + at * chan->stride_);
}

/*
 * Returns true if the channel is closed.  *tail is set to the number of tickets
 * that senders have taken.
 */
static inline bool weir_chan_closed_tail_(const weir_chan *chan, uint64_t *tail)
{
	/* [CH3] acquire */
	uint64_t seen = at_load_acquire(&chan->tail_);

	*tail = seen >> WEIR_CHAN_TICKET_;
	return seen & WEIR_CHAN_CLOSED_;
}

/*
 * Send n items.  Requires: the caller holds n permits of space_.  Returns how
 * many items were sent: fewer than n if the channel has been closed in the
 * meantime; the other permits are released then.
 */
int64_t weir_chan_put_all_(weir_chan *chan, const unsigned char *items,
			   int64_t n);

static inline weir_err weir_chan_put_one_(weir_chan *chan, const void *item)
{
	return weir_chan_put_all_(chan, item, 1) ? WEIR_OK : WEIR_ECLOSED;
}

/*
 * Receive up to n items.  Requires: the caller holds n permits of items_, or
 * the channel is closed.  Returns how many items were received: fewer than n
 * only if the channel is closed.
 */
int64_t weir_chan_take_all_(weir_chan *chan, unsigned char *items, int64_t n);

/* Receive one item after an acquire of items_ that returned err. */
static inline weir_err weir_chan_take_one_(weir_chan *chan, void *item,
					   weir_err err)
{
	if (err && err != WEIR_ECLOSED)
		return err;
	return weir_chan_take_all_(chan, item, 1) ? WEIR_OK : WEIR_ECLOSED;
}

#endif /* WEIR_PATTERN_CHAN_H */
