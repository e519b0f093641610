/* SPDX-License-Identifier: MIT */
/*
 * The bounded channel: weir/chan.h.
 *
 * Two semaphores count, a ring of slots holds.  A sender takes a permit of
 * space_, then a ticket from tail_, fills the slot of that ticket and gives a
 * permit to items_; a receiver does the same the other way round.  Permits say
 * that a slot is to be had, and whose turn it is; tickets say which.  There is no
 * lock: who copies a large item holds up nobody but those that want this very
 * slot.
 *
 *     space + items + being copied = capacity
 *
 * A slot has a turn:
 *
 *     2 t      free for the sender with ticket t
 *     2 t + 1  filled, for the receiver with ticket t
 *     2 (t + capacity)   free again
 *
 * A permit does not say that the slot of the next ticket is ready: a later one
 * may have been finished first.  Then one waits for the slot's turn.  Each waits
 * for a lower ticket than its own, or for the other side of the same ticket,
 * and that one waits for nothing else: there is no circle.
 *
 * Closing.  The lowest bit of tail_ is set, and with it the number of tickets is
 * final: a send that has one is received, one that has none is refused.  Then
 * both semaphores are closed.  From there on permits of items_ mean nothing
 * (senders with a ticket may still be copying) and receivers count tickets: those
 * below the final tail are items.  A receiver that had its permit before may
 * find itself beyond, because another came first: then there is nothing left.
 *
 * Pairs
 *
 *   [CH1] filled  release: put   acquire: take
 *                 The receiver sees the item.
 *   [CH2] free    release: take  acquire: put
 *                 The next item is not written before this one has been read.
 *   [CH3] closed  release: weir_chan_close  acquire: weir_chan_closed_tail_,
 *                 claim_tail
 *                 WEIR_ECLOSED sees what the closer did.
 */
#include "weir/chan.h"

#include <string.h>

#include "base/atomic.h"
#include "base/cpu.h"
#include "pattern/chan.h"

/* A pointer or a number is most of what is sent. */
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
static bool claim_tail(weir_chan *chan, uint64_t n, uint64_t *ticket)
{
	/* [CH3] acquire */
	uint64_t seen = at_load_acquire(&chan->tail_);

	while (!(seen & WEIR_CHAN_CLOSED_)) {
		/* relaxed: tickets order nothing, turns do. */
		if (at_cas_weak_relaxed(&chan->tail_, &seen,
					seen + (n << WEIR_CHAN_TICKET_))) {
			*ticket = seen >> WEIR_CHAN_TICKET_;
			return true;
		}
	}
	return false;
}

static void put(weir_chan *chan, uint64_t ticket, const void *item)
{
	uint64_t *turn = weir_chan_turn_(chan, ticket);
	struct weir_backoff_ backoff = { 0 };

	/* [CH2] acquire */
	while (at_load_acquire(turn) != 2 * ticket)
		weir_backoff_wait_(&backoff);
	copy(turn + 1, item, chan->item_size_);
	/* [CH1] release */
	at_store_release(turn, 2 * ticket + 1);
}

/* With n permits of space_. */
weir_err weir_chan_put_all_(weir_chan *chan, const unsigned char *items,
			    int64_t n)
{
	uint64_t ticket;

	if (!claim_tail(chan, (uint64_t)n, &ticket)) {
		weir_sem_release(&chan->space_, n);
		return WEIR_ECLOSED;
	}
	for (int64_t i = 0; i < n; i++)
		put(chan, ticket + (uint64_t)i,
		    items + (size_t)i * chan->item_size_);
	weir_sem_release(&chan->items_, n);
	return WEIR_OK;
}

weir_err weir_chan_send(weir_chan *chan, const void *item, struct weir_ctx *ctx)
{
	weir_err err;

	if (weir_chan_is_misplaced_(chan) || !item)
		return WEIR_EINVAL;
	err = weir_sem_acquire(&chan->space_, 1, ctx);
	return err ? err : weir_chan_put_all_(chan, item, 1);
}

weir_err weir_chan_send_until(weir_chan *chan, const void *item,
			      int64_t deadline_ns)
{
	weir_err err;

	if (weir_chan_is_misplaced_(chan) || !item)
		return WEIR_EINVAL;
	err = weir_sem_acquire_until(&chan->space_, 1, deadline_ns);
	return err ? err : weir_chan_put_all_(chan, item, 1);
}

weir_err weir_chan_try_send(weir_chan *chan, const void *item)
{
	weir_err err;

	if (weir_chan_is_misplaced_(chan) || !item)
		return WEIR_EINVAL;
	err = weir_sem_try_acquire(&chan->space_, 1);
	return err ? err : weir_chan_put_all_(chan, item, 1);
}

weir_err weir_chan_send_many(weir_chan *chan, const void *items, size_t n,
			     struct weir_ctx *ctx, size_t *sent)
{
	const unsigned char *next = items;

	if (sent)
		*sent = 0;
	if (weir_chan_is_misplaced_(chan) || !sent || (!items && n) ||
	    n > (uint64_t)WEIR_SEM_MAX)
		return WEIR_EINVAL;
	do {
		int64_t got;
		weir_err err = weir_sem_acquire_upto(&chan->space_, n > 0,
						     (int64_t)(n - *sent), ctx,
						     &got);

		if (err || !got)
			return err;
		err = weir_chan_put_all_(chan, next, got);
		if (err)
			return err;
		*sent += (size_t)got;
		next += (size_t)got * chan->item_size_;
	} while (*sent < n);
	return WEIR_OK;
}

/*
 * Receiving.
 */
static bool is_filled(const weir_chan *chan, const uint64_t *turn,
		      uint64_t ticket)
{
	struct weir_backoff_ backoff = { 0 };
	uint64_t tail;

	for (;;) {
		/* Two looks, and a wait for what comes after the first. */
		weir_backoff_look_(&backoff);
		/* [CH1] acquire */
		if (at_load_acquire(turn) == 2 * ticket + 1)
			return true;
		/* Nobody will fill it: closed, and others were first. */
		if (weir_chan_closed_tail_(chan, &tail) && ticket >= tail)
			return false;
		weir_backoff_wait_(&backoff);
	}
}

static bool take(weir_chan *chan, uint64_t ticket, void *item)
{
	uint64_t *turn = weir_chan_turn_(chan, ticket);

	/* [CH1] acquire.  Nearly always: a permit says that one is filled. */
	if (at_load_acquire(turn) != 2 * ticket + 1 &&
	    !is_filled(chan, turn, ticket))
		return false;
	copy(item, turn + 1, chan->item_size_);
	/* [CH2] release */
	at_store_release(turn, 2 * (ticket + chan->capacity_));
	return true;
}

static int64_t take_from(weir_chan *chan, uint64_t ticket, unsigned char *items,
			 int64_t n)
{
	int64_t got = 0;

	while (got < n && take(chan, ticket + (uint64_t)got,
			       items + (size_t)got * chan->item_size_))
		got++;
	if (got)
		weir_sem_release(&chan->space_, got);
	return got;
}

/* Closed: without permits, what tickets there are.  Returns how many. */
static int64_t claim_rest(weir_chan *chan, int64_t max, uint64_t *ticket)
{
	/* relaxed: tickets order nothing; the CAS checks it. */
	uint64_t head = at_load_relaxed(&chan->head_);
	uint64_t tail;

	(void)weir_chan_closed_tail_(chan, &tail);
	while (head < tail) {
		uint64_t n = tail - head < (uint64_t)max ? tail - head :
							   (uint64_t)max;

		/* relaxed: the same. */
		if (at_cas_weak_relaxed(&chan->head_, &head, head + n)) {
			*ticket = head;
			return (int64_t)n;
		}
	}
	return 0;
}

weir_err weir_chan_take_all_(weir_chan *chan, unsigned char *items, int64_t n,
			     int64_t max, weir_err err, int64_t *got)
{
	uint64_t ticket = 0;

	*got = 0;
	if (err == WEIR_OK)
		/* relaxed: tickets order nothing, turns do. */
		ticket = at_add_relaxed(&chan->head_, (uint64_t)n);
	else if (err == WEIR_ECLOSED)
		n = claim_rest(chan, max, &ticket);
	else
		return err;
	if (n)
		*got = take_from(chan, ticket, items, n);
	return *got ? WEIR_OK : WEIR_ECLOSED;
}

weir_err weir_chan_recv(weir_chan *chan, void *item, struct weir_ctx *ctx)
{
	int64_t got;
	weir_err err;

	if (weir_chan_is_misplaced_(chan) || !item)
		return WEIR_EINVAL;
	err = weir_sem_acquire(&chan->items_, 1, ctx);
	return weir_chan_take_all_(chan, item, 1, 1, err, &got);
}

weir_err weir_chan_recv_until(weir_chan *chan, void *item, int64_t deadline_ns)
{
	int64_t got;
	weir_err err;

	if (weir_chan_is_misplaced_(chan) || !item)
		return WEIR_EINVAL;
	err = weir_sem_acquire_until(&chan->items_, 1, deadline_ns);
	return weir_chan_take_all_(chan, item, 1, 1, err, &got);
}

weir_err weir_chan_try_recv(weir_chan *chan, void *item)
{
	int64_t got;
	weir_err err;

	if (weir_chan_is_misplaced_(chan) || !item)
		return WEIR_EINVAL;
	err = weir_sem_try_acquire(&chan->items_, 1);
	return weir_chan_take_all_(chan, item, 1, 1, err, &got);
}

weir_err weir_chan_recv_many(weir_chan *chan, void *items, size_t max,
			     struct weir_ctx *ctx, size_t *got)
{
	int64_t n = 0;
	weir_err err;

	if (got)
		*got = 0;
	if (weir_chan_is_misplaced_(chan) || !got || !items || !max ||
	    max > (uint64_t)WEIR_SEM_MAX)
		return WEIR_EINVAL;
	err = weir_sem_acquire_upto(&chan->items_, 1, (int64_t)max, ctx, &n);
	err = weir_chan_take_all_(chan, items, n, (int64_t)max, err, &n);
	*got = (size_t)n;
	return err;
}
