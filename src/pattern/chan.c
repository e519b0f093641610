/* SPDX-License-Identifier: MIT */
/*
 * The bounded channel of weir/chan.h.
 *
 * A ring of slots holds the items (chan_ring.c).  Two semaphores count: a sender
 * takes a permit of space_ and fills a slot; a receiver takes a permit of items_
 * and empties a slot.  Neither releases a permit for the other side.  A sender
 * that finds no permit counts the slots that have become free and releases
 * permits for all of them at once; receivers count the slots that have been
 * filled (chan_count.c).  Only if a call of the other side sleeps does a call
 * count for it.  So a permit never moves from one side to the other, and only
 * the slots do.  There is no lock.
 *
 * Order, deadlines, contexts, operations and the starvation bound are those of
 * the semaphores: no slot is used without a permit.
 *
 * Closing.  weir_chan_close closes the ring first, which fixes the set of sent
 * items, and then both semaphores.  From then on the permits of items_ have no
 * meaning, because senders with a ticket may still be copying; receivers use
 * the state of the ring instead.  A receiver that took its permit before the
 * close may find the ring empty, because another receiver has taken the last
 * item.
 */
#include "weir/chan.h"

#include "base/spin.h"
#include "pattern/chan.h"

/*
 * Spin until a permit is free or a slot can be counted, before an acquire that
 * would have to wait.  Behind other waiters the semaphore itself does not spin:
 * the call would park, and each item would cost a wake-up and a thread switch,
 * although BARGING lets a new call pass the waiters.
 */
static bool spin(weir_chan *chan, const struct weir_chan_side_ *side)
{
	struct weir_spin_wait_ wait;
	bool found;

	if (!weir_spin_wait_may_pay_() || weir_sem_is_closed(side->sem))
		return false;
	wait = weir_spin_wait_begin_(WEIR_SPIN_WAKE_NS_);
	do
		found = weir_sem_available(side->sem) > 0 ||
			weir_chan_can_count_(chan, side);
	while (!found && weir_spin_wait_continue_(&wait));
	weir_spin_wait_end_(found);
	return found;
}

/* Count slots, or spin until there may be a permit.  Returns false: sleep. */
static bool refill(weir_chan *chan, const struct weir_chan_side_ *side)
{
	if (weir_chan_count_(chan, side))
		return true;
	if (!spin(chan, side))
		return false;
	(void)weir_chan_count_(chan, side);
	return true;
}

/* As acquire, after no permit was free. */
static weir_err acquire_long(weir_chan *chan,
			     const struct weir_chan_side_ *side, int64_t max,
			     struct weir_ctx *ctx, int64_t *got)
{
	weir_err err;

	if (refill(chan, side)) {
		err = weir_sem_acquire_upto(side->sem, 0, max, ctx, got);
		if (err || *got)
			return err;
	}
	weir_chan_block_(chan, side);
	err = weir_sem_acquire_upto(side->sem, 1, max, ctx, got);
	weir_chan_unblock_(side);
	return err;
}

/*
 * Take 1 to max permits, waiting for them until ctx ends; *got is set to their
 * number.
 */
static weir_err acquire(weir_chan *chan, const struct weir_chan_side_ *side,
			int64_t max, struct weir_ctx *ctx, int64_t *got)
{
	weir_err err = weir_sem_acquire_upto(side->sem, 0, max, ctx, got);

	if (!err && !*got)
		err = acquire_long(chan, side, max, ctx, got);
	/* A permit that this call has not used goes to the next waiter. */
	if (err)
		weir_chan_pass_on_(chan, side);
	return err;
}

static weir_err acquire_one(weir_chan *chan, const struct weir_chan_side_ *side,
			    struct weir_ctx *ctx)
{
	int64_t got;
	weir_err err;

	if (ctx)
		return acquire(chan, side, 1, ctx, &got);
	err = weir_sem_try_acquire(side->sem, 1);
	if (err != WEIR_EAGAIN)
		return err;
	return acquire_long(chan, side, 1, NULL, &got);
}

static weir_err acquire_until(weir_chan *chan,
			      const struct weir_chan_side_ *side,
			      int64_t deadline_ns)
{
	weir_err err = weir_sem_try_acquire(side->sem, 1);

	if (err == WEIR_EAGAIN && refill(chan, side))
		err = weir_sem_try_acquire(side->sem, 1);
	if (err != WEIR_EAGAIN)
		return err;
	weir_chan_block_(chan, side);
	err = weir_sem_acquire_until(side->sem, 1, deadline_ns);
	weir_chan_unblock_(side);
	/* A slot that is ready wins over the deadline. */
	if (err == WEIR_ETIMEDOUT && !weir_chan_try_(chan, side))
		err = WEIR_OK;
	/* As in acquire. */
	if (err)
		weir_chan_pass_on_(chan, side);
	return err;
}

weir_err weir_chan_send(weir_chan *chan, const void *item, struct weir_ctx *ctx)
{
	struct weir_chan_side_ senders;
	weir_err err;

	if (weir_chan_check_(chan, __func__, WEIR_BY_ERROR_) || !item)
		return WEIR_EINVAL;
	senders = weir_chan_senders_(chan);
	err = acquire_one(chan, &senders, ctx);
	return err ? err : weir_chan_put_one_(chan, item);
}

weir_err weir_chan_send_until(weir_chan *chan, const void *item,
			      int64_t deadline_ns)
{
	struct weir_chan_side_ senders;
	weir_err err;

	if (weir_chan_check_(chan, __func__, WEIR_BY_ERROR_) || !item)
		return WEIR_EINVAL;
	senders = weir_chan_senders_(chan);
	err = acquire_until(chan, &senders, deadline_ns);
	return err ? err : weir_chan_put_one_(chan, item);
}

weir_err weir_chan_try_send(weir_chan *chan, const void *item)
{
	struct weir_chan_side_ senders;
	weir_err err;

	if (weir_chan_check_(chan, __func__, WEIR_BY_ERROR_) || !item)
		return WEIR_EINVAL;
	senders = weir_chan_senders_(chan);
	err = weir_chan_try_(chan, &senders);
	return err ? err : weir_chan_put_one_(chan, item);
}

weir_err weir_chan_send_many(weir_chan *chan, const void *items, size_t n,
			     struct weir_ctx *ctx, size_t *sent)
{
	struct weir_chan_side_ senders;
	const unsigned char *next = items;

	if (sent)
		*sent = 0;
	if (weir_chan_check_(chan, __func__, WEIR_BY_ERROR_) || !sent ||
	    (!items && n) || n > (uint64_t)WEIR_SEM_MAX)
		return WEIR_EINVAL;
	senders = weir_chan_senders_(chan);
	do {
		int64_t got, put;
		weir_err err;

		err = n ? acquire(chan, &senders, (int64_t)(n - *sent), ctx,
				  &got) :
			  weir_sem_acquire_upto(&chan->space_, 0, 0, ctx, &got);
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
	struct weir_chan_side_ receivers;
	weir_err err;

	if (weir_chan_check_(chan, __func__, WEIR_BY_ERROR_) || !item)
		return WEIR_EINVAL;
	receivers = weir_chan_receivers_(chan);
	err = acquire_one(chan, &receivers, ctx);
	return weir_chan_take_one_(chan, item, err);
}

weir_err weir_chan_recv_until(weir_chan *chan, void *item, int64_t deadline_ns)
{
	struct weir_chan_side_ receivers;
	weir_err err;

	if (weir_chan_check_(chan, __func__, WEIR_BY_ERROR_) || !item)
		return WEIR_EINVAL;
	receivers = weir_chan_receivers_(chan);
	err = acquire_until(chan, &receivers, deadline_ns);
	return weir_chan_take_one_(chan, item, err);
}

weir_err weir_chan_try_recv(weir_chan *chan, void *item)
{
	struct weir_chan_side_ receivers;
	weir_err err;

	if (weir_chan_check_(chan, __func__, WEIR_BY_ERROR_) || !item)
		return WEIR_EINVAL;
	receivers = weir_chan_receivers_(chan);
	err = weir_chan_try_(chan, &receivers);
	return weir_chan_take_one_(chan, item, err);
}

weir_err weir_chan_recv_many(weir_chan *chan, void *items, size_t max,
			     struct weir_ctx *ctx, size_t *got)
{
	struct weir_chan_side_ receivers;
	int64_t n = 0;
	weir_err err;

	if (got)
		*got = 0;
	if (weir_chan_check_(chan, __func__, WEIR_BY_ERROR_) || !got ||
	    !items || !max || max > (uint64_t)WEIR_SEM_MAX)
		return WEIR_EINVAL;
	receivers = weir_chan_receivers_(chan);
	err = acquire(chan, &receivers, (int64_t)max, ctx, &n);
	if (err == WEIR_ECLOSED)
		n = (int64_t)max;
	else if (err)
		return err;
	*got = (size_t)weir_chan_take_all_(chan, items, n);
	return *got ? WEIR_OK : WEIR_ECLOSED;
}
