/* SPDX-License-Identifier: MIT */
/*
 * Waiting for a permit of a channel's side.  A call that finds no permit counts
 * slots (chan_count.c), then spins, and sleeps last: only then does the other
 * side have to count for it.  A call that fails makes sure that the other
 * waiters are served (weir_chan_pass_on_).
 */
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

/*
 * Count slots, or spin until a permit may be free.  Returns false if the caller
 * has to sleep.
 */
static bool refill(weir_chan *chan, const struct weir_chan_side_ *side)
{
	if (weir_chan_count_(chan, side))
		return true;
	if (!spin(chan, side))
		return false;
	(void)weir_chan_count_(chan, side);
	return true;
}

weir_err weir_chan_acquire_long_(weir_chan *chan,
				 const struct weir_chan_side_ *side,
				 int64_t max, struct weir_ctx *ctx,
				 int64_t *got)
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

weir_err weir_chan_acquire_(weir_chan *chan,
			    const struct weir_chan_side_ *side, int64_t max,
			    struct weir_ctx *ctx, int64_t *got)
{
	weir_err err = weir_sem_acquire_upto(side->sem, 0, max, ctx, got);

	if (!err && !*got)
		err = weir_chan_acquire_long_(chan, side, max, ctx, got);
	/* This call may have been in charge: serve the other waiters. */
	if (err)
		weir_chan_pass_on_(chan, side);
	return err;
}

weir_err weir_chan_acquire_until_(weir_chan *chan,
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
	/* As in weir_chan_acquire_. */
	if (err)
		weir_chan_pass_on_(chan, side);
	return err;
}
