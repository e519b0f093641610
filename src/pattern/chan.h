/* SPDX-License-Identifier: MIT */
#ifndef WEIR_PATTERN_CHAN_H
#define WEIR_PATTERN_CHAN_H

/* What the files of the channel share; chan.c says how it works. */
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

/* Send n items, with n permits of space_. */
weir_err weir_chan_put_all_(weir_chan *chan, const unsigned char *items,
			    int64_t n);

/*
 * After an acquire of items_ that said err, with n permits if that is OK: take as
 * many items out; at most max if it is closed.
 */
weir_err weir_chan_take_all_(weir_chan *chan, unsigned char *items, int64_t n,
			     int64_t max, weir_err err, int64_t *got);

#endif /* WEIR_PATTERN_CHAN_H */
