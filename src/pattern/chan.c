/* SPDX-License-Identifier: MIT */
/*
 * The bounded channel: weir/chan.h.
 *
 * Two semaphores count, a ring of slots holds (chan_ring.c).  A sender takes a permit
 * of space_, fills a slot of the ring and gives a permit to items_; a receiver does
 * the same the other way round.  There is no lock.
 *
 *     space + items + being copied = capacity
 *
 * Closing.  First the ring is closed, which decides what is sent, then both
 * semaphores.  From there on permits of items_ mean nothing (senders with a ticket
 * may still be copying), and receivers go by what the ring has.  One that had its
 * permit before may find nothing left, because another came first.
 */
#include "weir/chan.h"

#include "base/spin.h"
#include "pattern/chan.h"

/*
 * For a moment before one waits, if others wait already: to join them would cost a
 * thread switch, and one to wake for every item, where a newcomer may as well pass.
 * (With nobody there the semaphore looks for itself.)
 */
static void look_first(weir_sem *sem)
{
	struct weir_spin_wait_ look;
	bool seen;

	if (weir_sem_available(sem) > 0 || !weir_spin_wait_may_pay_())
		return;
	look = weir_spin_wait_begin_();
	do
		seen = weir_sem_available(sem) > 0;
	while (!seen && weir_spin_wait_continue_(&look));
	weir_spin_wait_end_(seen);
}

static weir_err enter(weir_sem *sem, struct weir_ctx *ctx)
{
	look_first(sem);
	return weir_sem_acquire(sem, 1, ctx);
}

static weir_err enter_until(weir_sem *sem, int64_t deadline_ns)
{
	look_first(sem);
	return weir_sem_acquire_until(sem, 1, deadline_ns);
}

weir_err weir_chan_send(weir_chan *chan, const void *item, struct weir_ctx *ctx)
{
	weir_err err;

	if (weir_chan_is_misplaced_(chan) || !item)
		return WEIR_EINVAL;
	err = enter(&chan->space_, ctx);
	return err ? err : weir_chan_put_one_(chan, item);
}

weir_err weir_chan_send_until(weir_chan *chan, const void *item,
			      int64_t deadline_ns)
{
	weir_err err;

	if (weir_chan_is_misplaced_(chan) || !item)
		return WEIR_EINVAL;
	err = enter_until(&chan->space_, deadline_ns);
	return err ? err : weir_chan_put_one_(chan, item);
}

weir_err weir_chan_try_send(weir_chan *chan, const void *item)
{
	weir_err err;

	if (weir_chan_is_misplaced_(chan) || !item)
		return WEIR_EINVAL;
	err = weir_sem_try_acquire(&chan->space_, 1);
	return err ? err : weir_chan_put_one_(chan, item);
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
		int64_t got, put;
		weir_err err;

		look_first(&chan->space_);
		err = weir_sem_acquire_upto(&chan->space_, n > 0,
					    (int64_t)(n - *sent), ctx, &got);
		if (err || !got)
			return err;
		put = weir_chan_put_all_(chan, next, got);
		*sent += (size_t)put;
		if (put < got)
			return WEIR_ECLOSED;
		next += (size_t)put * chan->item_size_;
	} while (*sent < n);
	return WEIR_OK;
}

weir_err weir_chan_recv(weir_chan *chan, void *item, struct weir_ctx *ctx)
{
	weir_err err;

	if (weir_chan_is_misplaced_(chan) || !item)
		return WEIR_EINVAL;
	err = enter(&chan->items_, ctx);
	return weir_chan_take_one_(chan, item, err);
}

weir_err weir_chan_recv_until(weir_chan *chan, void *item, int64_t deadline_ns)
{
	weir_err err;

	if (weir_chan_is_misplaced_(chan) || !item)
		return WEIR_EINVAL;
	err = enter_until(&chan->items_, deadline_ns);
	return weir_chan_take_one_(chan, item, err);
}

weir_err weir_chan_try_recv(weir_chan *chan, void *item)
{
	weir_err err;

	if (weir_chan_is_misplaced_(chan) || !item)
		return WEIR_EINVAL;
	err = weir_sem_try_acquire(&chan->items_, 1);
	return weir_chan_take_one_(chan, item, err);
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
	look_first(&chan->items_);
	err = weir_sem_acquire_upto(&chan->items_, 1, (int64_t)max, ctx, &n);
	if (err == WEIR_ECLOSED)
		n = (int64_t)max;
	else if (err)
		return err;
	*got = (size_t)weir_chan_take_all_(chan, items, n);
	return *got ? WEIR_OK : WEIR_ECLOSED;
}
