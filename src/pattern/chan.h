/* SPDX-License-Identifier: MIT */
#ifndef WEIR_PATTERN_CHAN_H
#define WEIR_PATTERN_CHAN_H

/*
 * Internals shared by the files of the channel.  The heads of chan.c,
 * chan_ring.c, chan_count.c and chan_wait.c explain them.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "core/sem_word.h"
#include "pattern/ready.h"
#include "weir/chan.h"

/* tail_ and head_: the number of tickets, and flags.  head_ is never CLOSED. */
#define WEIR_CHAN_CLOSED_ UINT64_C(1)
#define WEIR_CHAN_AWAITED_ UINT64_C(2)	/* the other side awaits a ticket */
#define WEIR_CHAN_TICKET_ 2		/* shift */

/* The turn of a slot is 2 * ticket + phase. */
#define WEIR_CHAN_FREE_ UINT64_C(0)
#define WEIR_CHAN_FILLED_ UINT64_C(1)

weir_err weir_chan_unready_(const weir_chan *chan, const char *call,
			    enum weir_refusal_ refusal);

/* The check at the beginning of every call: ready.h. */
static inline weir_err weir_chan_check_(const weir_chan *chan, const char *call,
					enum weir_refusal_ refusal)
{
	return weir_is_ready_(chan) ?
		       WEIR_OK : weir_chan_unready_(chan, call, refusal);
}

/*
 * weir_chan_begin_ and weir_record_end_ enclose a call on a watched channel.
 * `site` is its call site.  weir_chan_record_ records that a call has sent or
 * received n items, and that its result is err.
 */
weir_err weir_chan_begin_(weir_chan *chan, const char *call, uint64_t site);
void weir_chan_record_(const weir_chan *chan, bool sends, weir_err err,
		       int64_t n, bool waited);

/* Returns the turn of the ticket's slot; the item follows it in memory. */
static inline uint64_t *weir_chan_turn_(const weir_chan *chan, uint64_t ticket)
{
	uint64_t at = chan->mask_ ? ticket & chan->mask_ :
				    ticket % chan->capacity_;

	return (uint64_t *)(void *)(chan->slots_ + at * chan->stride_);
}

/* Returns true if the ticket's slot is in `phase` for this ticket. */
static inline bool weir_chan_is_ready_(const weir_chan *chan, uint64_t ticket,
				       uint64_t phase)
{
	/* [CH1] acquire, [CH2] acquire */
	return at_load_acquire(weir_chan_turn_(chan, ticket)) ==
	       2 * ticket + phase;
}

/* Returns how many slots from the ticket's on are in `phase`; at most n. */
static inline int64_t weir_chan_count_ready_(const weir_chan *chan,
					     uint64_t ticket, int64_t n,
					     uint64_t phase)
{
	int64_t count = 0;

	while (count < n &&
	       weir_chan_is_ready_(chan, ticket + (uint64_t)count, phase))
		count++;
	return count;
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
 * Added to `blocked` for each operation that was decided and copies its item.
 */
#define WEIR_CHAN_COPYING_ (UINT64_C(1) << 32)

/* The words of the senders, or those of the receivers. */
struct weir_chan_side_ {
	weir_sem *sem;		/* permits: counted slots */
	uint64_t *limit;	/* slots of tickets below it are counted */
	uint64_t *moving;	/* calls between a change of limit and the
				   release of the permits */
	uint64_t *blocked;	/* calls and operations that may have to wait;
				   COPYING for each operation that copies */
	uint64_t *others;	/* tickets of the other side */
	uint64_t ahead;		/* ticket t needs ticket t - ahead in others */
	uint64_t phase;		/* of a slot that is ready for this side */
};

static inline struct weir_chan_side_ weir_chan_senders_(weir_chan *chan)
{
	return (struct weir_chan_side_){
		&chan->space_, &chan->space_limit_, &chan->space_moving_,
		&chan->senders_, &chan->head_, chan->capacity_, WEIR_CHAN_FREE_,
	};
}

static inline struct weir_chan_side_ weir_chan_receivers_(weir_chan *chan)
{
	return (struct weir_chan_side_){
		&chan->items_, &chan->items_limit_, &chan->items_moving_,
		&chan->receivers_, &chan->tail_, 0, WEIR_CHAN_FILLED_,
	};
}

/* Returns true if a slot is ready that has not been counted. */
bool weir_chan_can_count_(const weir_chan *chan,
			  const struct weir_chan_side_ *side);

/*
 * Count ready slots: release a permit for each.  Returns their number; 0 if none
 * is ready, or if all of them were counted by other calls.
 */
int64_t weir_chan_count_(weir_chan *chan, const struct weir_chan_side_ *side);

/*
 * Release a permit for every slot that was made ready by a call that has
 * returned.  Waits for copies of items with earlier tickets, and until other
 * calls have released the permits of the slots that they have counted.
 */
void weir_chan_count_all_(weir_chan *chan, const struct weir_chan_side_ *side);

/*
 * Take one permit if that needs no waiting: WEIR_EAGAIN, WEIR_ECLOSED as
 * weir_sem_try_acquire.
 */
weir_err weir_chan_try_(weir_chan *chan, const struct weir_chan_side_ *side);

/*
 * chan_wait.c.  Take 1 to max permits, waiting for them until ctx ends; *got is
 * set to their number.  weir_chan_acquire_long_ is called after no permit was
 * free.  It does not call weir_chan_pass_on_ if it fails: without a ctx it
 * fails only if the channel is closed.
 */
weir_err weir_chan_acquire_(weir_chan *chan,
			    const struct weir_chan_side_ *side, int64_t max,
			    struct weir_ctx *ctx, int64_t *got);
weir_err weir_chan_acquire_long_(weir_chan *chan,
				 const struct weir_chan_side_ *side,
				 int64_t max, struct weir_ctx *ctx,
				 int64_t *got);

/* Take one permit, waiting for it until deadline_ns. */
weir_err weir_chan_acquire_until_(weir_chan *chan,
				  const struct weir_chan_side_ *side,
				  int64_t deadline_ns);

/*
 * weir_chan_block_ and weir_chan_unblock_ enclose an acquire of side->sem that
 * may sleep, and the time of an operation from its submit until it is decided.
 */
void weir_chan_block_(weir_chan *chan, const struct weir_chan_side_ *side);
void weir_chan_unblock_(const struct weir_chan_side_ *side);

/*
 * Called by a call that is in charge of the side, when it has used or returned
 * its permits.  If none is free, then other calls may still be blocked: see
 * chan_count.c, "In charge".
 */
void weir_chan_serve_(weir_chan *chan, const struct weir_chan_side_ *side);

/*
 * Returns true if a permit is free and no lock holder is about to grant it to
 * an operation.
 */
static inline bool weir_chan_has_free_(const struct weir_chan_side_ *side)
{
	/* relaxed: the caller's own access to the word came before. */
	uint64_t word = at_load_relaxed(&side->sem->word_);

	return weir_value_(word) > 0 && weir_door_(word) != WEIR_LOCKED_;
}

static inline void weir_chan_pass_on_(weir_chan *chan,
				      const struct weir_chan_side_ *side)
{
	/* relaxed: [CH5] orders it. */
	if ((uint32_t)at_load_relaxed(side->blocked) &&
	    !weir_chan_has_free_(side))
		weir_chan_serve_(chan, side);
}

/* Called by a call of the other side that has cleared AWAITED. */
static inline void weir_chan_count_for_(weir_chan *chan,
					const struct weir_chan_side_ *side)
{
	(void)weir_chan_count_(chan, side);
	/* The permits may have been granted to operations. */
	weir_chan_pass_on_(chan, side);
}

/*
 * Send n items.  Requires: the caller holds n permits of space_.  Returns how
 * many items were sent: n, or 0 if the channel has been closed in the meantime;
 * the permits are released then.  A caller that does not acquire again calls
 * weir_chan_pass_on_ afterwards.
 */
int64_t weir_chan_put_all_(weir_chan *chan, const unsigned char *items,
			   int64_t n);

static inline weir_err weir_chan_put_one_(weir_chan *chan, const void *item)
{
	struct weir_chan_side_ senders = weir_chan_senders_(chan);

	if (!weir_chan_put_all_(chan, item, 1))
		return WEIR_ECLOSED;
	weir_chan_pass_on_(chan, &senders);
	return WEIR_OK;
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
