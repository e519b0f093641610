/* SPDX-License-Identifier: MIT */
#ifndef WEIR_PATTERN_CHAN_H
#define WEIR_PATTERN_CHAN_H

/* What the files of the channel share; chan.c and chan_ring.c say how it works. */
#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "weir/chan.h"

#define WEIR_CHAN_CLOSED_ UINT64_C(1)
#define WEIR_CHAN_TICKET_ 1	/* tail_ counts tickets above the bit */

static inline bool weir_chan_is_misplaced_(const weir_chan *chan)
{
	return !chan || (uintptr_t)chan % sizeof(uint64_t) || !chan->capacity_;
}

static inline uint64_t *weir_chan_turn_(const weir_chan *chan, uint64_t ticket)
{
	uint64_t at = chan->mask_ ? ticket & chan->mask_ :
				    ticket % chan->capacity_;

	return (uint64_t *)(void *)(chan->slots_ + at * chan->stride_);
}

/* Whether it is closed; then *tail is how many were sent, all in all. */
static inline bool weir_chan_closed_tail_(const weir_chan *chan, uint64_t *tail)
{
	/* [CH3] acquire */
	uint64_t seen = at_load_acquire(&chan->tail_);

	*tail = seen >> WEIR_CHAN_TICKET_;
	return seen & WEIR_CHAN_CLOSED_;
}

/*
 * Send n items, with n permits of space_.  Returns how many went: fewer if it was
 * closed meanwhile, and then the rest of the permits is given back.
 */
int64_t weir_chan_put_all_(weir_chan *chan, const unsigned char *items,
			   int64_t n);

static inline weir_err weir_chan_put_one_(weir_chan *chan, const void *item)
{
	return weir_chan_put_all_(chan, item, 1) ? WEIR_OK : WEIR_ECLOSED;
}

/*
 * Receive n items, with n permits of items_, or with none if it is closed.  Returns
 * how many there were: fewer if it is closed.
 */
int64_t weir_chan_take_all_(weir_chan *chan, unsigned char *items, int64_t n);

/* After an acquire of items_ that said err. */
static inline weir_err weir_chan_take_one_(weir_chan *chan, void *item,
					   weir_err err)
{
	if (err && err != WEIR_ECLOSED)
		return err;
	return weir_chan_take_all_(chan, item, 1) ? WEIR_OK : WEIR_ECLOSED;
}

#endif /* WEIR_PATTERN_CHAN_H */
