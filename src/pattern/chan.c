/* SPDX-License-Identifier: MIT */
/*
 * The bounded channel of weir/chan.h.
 *
 * Two semaphores count, and a ring of slots holds the items (chan_ring.c).  A
 * sender takes a permit of space_, fills a slot of the ring and releases a
 * permit of items_.  A receiver takes a permit of items_, empties a slot and
 * releases a permit of space_.  There is no lock.
 *
 *     permits of space_ + permits of items_ + items being copied = capacity
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
 * Spin for a permit before an acquire that would have to wait.  Behind other
 * waiters the semaphore itself does not spin: the call would park, and each
 * item would cost a wake-up and a thread switch, although BARGING lets a new
 * call pass the waiters.  Without other waiters the semaphore spins as well.
 */
static void spin_for_permit(weir_sem *sem)
{
	struct weir_spin_wait_ spin;
	bool found;

	if (weir_sem_available(sem) > 0 || !weir_spin_wait_may_pay_())
		return;
	spin = weir_spin_wait_begin_(WEIR_SPIN_WAKE_NS_);
	do
		found = weir_sem_available(sem) > 0;
	while (!found && weir_spin_wait_continue_(&spin));
	weir_spin_wait_end_(found);
}

static weir_err acquire(weir_sem *sem, struct weir_ctx *ctx)
{
	spin_for_permit(sem);
	return weir_sem_acquire(sem, 1, ctx);
}

static weir_err acquire_until(weir_sem *sem, int64_t deadline_ns)
{
	spin_for_permit(sem);
	return weir_sem_acquire_until(sem, 1, deadline_ns);
}

weir_err weir_chan_send(weir_chan *chan, const void *item, struct weir_ctx *ctx)
{
	weir_err err;

	if (weir_chan_check_(chan, __func__, WEIR_BY_ERROR_) || !item)
		return WEIR_EINVAL;
	err = acquire(&chan->space_, ctx);
	return err ? err : weir_chan_put_one_(chan, item);
}

weir_err weir_chan_send_until(weir_chan *chan, const void *item,
			      int64_t deadline_ns)
{
	weir_err err;

	if (weir_chan_check_(chan, __func__, WEIR_BY_ERROR_) || !item)
		return WEIR_EINVAL;
	err = acquire_until(&chan->space_, deadline_ns);
	return err ? err : weir_chan_put_one_(chan, item);
}

weir_err weir_chan_try_send(weir_chan *chan, const void *item)
{
	weir_err err;

	if (weir_chan_check_(chan, __func__, WEIR_BY_ERROR_) || !item)
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
	if (weir_chan_check_(chan, __func__, WEIR_BY_ERROR_) || !sent ||
	    (!items && n) || n > (uint64_t)WEIR_SEM_MAX)
		return WEIR_EINVAL;
	do {
		int64_t got, put;
		weir_err err;

		spin_for_permit(&chan->space_);
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

	if (weir_chan_check_(chan, __func__, WEIR_BY_ERROR_) || !item)
		return WEIR_EINVAL;
	err = acquire(&chan->items_, ctx);
	return weir_chan_take_one_(chan, item, err);
}

weir_err weir_chan_recv_until(weir_chan *chan, void *item, int64_t deadline_ns)
{
	weir_err err;

	if (weir_chan_check_(chan, __func__, WEIR_BY_ERROR_) || !item)
		return WEIR_EINVAL;
	err = acquire_until(&chan->items_, deadline_ns);
	return weir_chan_take_one_(chan, item, err);
}

weir_err weir_chan_try_recv(weir_chan *chan, void *item)
{
	weir_err err;

	if (weir_chan_check_(chan, __func__, WEIR_BY_ERROR_) || !item)
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
	if (weir_chan_check_(chan, __func__, WEIR_BY_ERROR_) || !got ||
	    !items || !max || max > (uint64_t)WEIR_SEM_MAX)
		return WEIR_EINVAL;
	spin_for_permit(&chan->items_);
	err = weir_sem_acquire_upto(&chan->items_, 1, (int64_t)max, ctx, &n);
	if (err == WEIR_ECLOSED)
		n = (int64_t)max;
	else if (err)
		return err;
	*got = (size_t)weir_chan_take_all_(chan, items, n);
	return *got ? WEIR_OK : WEIR_ECLOSED;
}
