/* SPDX-License-Identifier: MIT */
/*
 * Counting: how slots that the other side has made ready become permits.
 *
 * A receiver that empties a slot writes only the slot.  A sender that finds no
 * permit in space_ counts the free slots behind space_limit_ and releases a
 * permit for each (weir_chan_count_).  So the words of the senders stay in the
 * caches of the senders; the same holds for the receivers.  Both sides use this
 * code (struct weir_chan_side_).  For the senders:
 *
 *     free permits + permits held by calls without a ticket
 *                                          = space_limit_ - tickets in tail_
 *     tickets in tail_ <= space_limit_ <= tickets in head_ + capacity
 *
 * Slots are counted in the order of their tickets, so the slot of each ticket
 * below space_limit_ is free: a sender with a permit never waits for a slot.
 *
 * In charge.  If calls of one side may sleep (blocked > 0), then at least one of
 * these must hold, or a ready slot would wake no sleeper:
 *
 *   1. AWAITED is set in the tickets of the other side, and the ticket that
 *      makes the slot of the limit ready has not been taken.  The call that
 *      takes it clears AWAITED, and is in charge (3) after it has made the slot
 *      ready.
 *   2. A permit is free: the semaphore wakes a sleeper, and a call that has yet
 *      to join its queue finds the permit.
 *   3. A call is in charge: it holds a permit, it is in weir_chan_count_ or
 *      weir_chan_serve_, or it is about to acquire permits for the rest of a
 *      batch.  That acquire takes a permit, blocks or fails.
 *
 * An operation that holds a permit is not in charge, because its loop may
 * stall.  The semaphore grants a permit to an operation when it is released, or
 * when the lock is dropped if the semaphore was locked then.  So a call that
 * has released permits checks whether a permit is still free and the semaphore
 * is unlocked.
 *
 * A call in charge ends with 1 or 2 (weir_chan_serve_).  A call that took or
 * returned a permit, or counted for the other side, checks for 2 at its end:
 * weir_chan_pass_on_.  A call that blocks raises `blocked` first and then
 * establishes 1 or 2 itself.  No step needs a fence between a store and a load:
 * whether the ticket had been taken before AWAITED was set is decided by the
 * order of two read-modify-writes of one word.  If it had been taken, then the
 * other call is copying an item, and weir_chan_serve_ waits for it.
 *
 * Exactness.  Between the change of the limit and the release of the permits,
 * ready slots are neither permits nor behind the limit.  A call that would fail
 * because of this (a try, or a call whose deadline passes) waits for `moving` to
 * become 0.  A call that sleeps does not: the release wakes it.  No callback
 * and no event hook runs while `moving` is raised, because it might make such a
 * call.
 *
 * A slot that is ready behind one that is being copied cannot be counted either.
 * Suppose that at least two tickets of the other side are not counted.  The call
 * with the later ticket may have returned already, so its slot must be usable.
 * So a call that would fail waits until the slot of the earlier ticket is copied.
 *
 * Pairs
 *
 *   [CH5] blocked  release: await_ticket  acquire: claim_free, claim_filled
 *                  The call that clears AWAITED, and through its release of
 *                  permits the call that takes the last of them, sees `blocked`
 *                  as it was when AWAITED was set, or newer.
 *   [CH6] limit    release: move_limit  acquire: weir_chan_count_,
 *                  weir_chan_serve_
 *                  A call that sees the limit sees `moving`.
 *   [CH7] moved    release: move_limit  acquire: await_moved
 *                  A call that sees no call moving finds its permits.
 */
#include "base/atomic.h"
#include "base/cpu.h"
#include "core/notify.h"
#include "core/sem_wait.h"
#include "pattern/chan.h"

/* The most slots that are counted at once. */
#define COUNT_MAX 64

bool weir_chan_can_count_(const weir_chan *chan,
			  const struct weir_chan_side_ *side)
{
	/* relaxed: a hint. */
	return weir_chan_is_ready_(chan, at_load_relaxed(side->limit),
				   side->phase);
}

/* Count n slots from `limit` on.  Returns false if the limit has changed. */
static bool move_limit(const struct weir_chan_side_ *side, uint64_t limit,
		       int64_t n)
{
	bool outer = weir_callbacks_hold_();
	bool moved;

	/* relaxed: published by the limit. */
	at_add_relaxed(side->moving, 1);
	/* [CH6] release */
	moved = at_cas_weak_release(side->limit, &limit, limit + (uint64_t)n);
	/* No event RELEASED: the hook might make a call that waits. */
	if (moved)
		weir_sem_put_(side->sem, n);
	/* [CH7] release */
	at_sub_release(side->moving, 1);
	weir_callbacks_resume_(outer);
	return moved;
}

int64_t weir_chan_count_(weir_chan *chan, const struct weir_chan_side_ *side)
{
	/* [CH6] acquire */
	uint64_t limit = at_load_acquire(side->limit), last;
	int64_t n;

	do {
		last = limit;
		n = weir_chan_count_ready_(chan, last, COUNT_MAX, side->phase);
		if (n && move_limit(side, last, n))
			return n;
		/*
		 * If another call has counted the slot of `last`, then that
		 * slot may be in use, and the next slot may be ready.
		 *
		 * [CH6] acquire
		 */
		limit = at_load_acquire(side->limit);
	} while (n || limit != last);
	return 0;
}

/* Wait until every slot below the limit has its permit. */
static void await_moved(const struct weir_chan_side_ *side)
{
	struct weir_backoff_ backoff = { 0 };

	/* [CH7] acquire */
	while (at_load_acquire(side->moving))
		weir_backoff_wait_(&backoff);
}

/* Set AWAITED; return the tickets of the other side and its flags. */
static uint64_t await_ticket(const struct weir_chan_side_ *side)
{
	/* relaxed: the CAS checks it. */
	uint64_t seen = at_load_relaxed(side->others);

	/* [CH5] release */
	while (!at_cas_weak_release(side->others, &seen,
				    seen | WEIR_CHAN_AWAITED_))
		;
	return seen;
}

/*
 * Wait until the slot of the limit has been made ready, or counted.  Requires:
 * the call that makes it ready has its ticket.
 */
static void await_copy(weir_chan *chan, const struct weir_chan_side_ *side,
		       uint64_t limit)
{
	struct weir_backoff_ backoff = { 0 };
	uint64_t tail;

	for (;;) {
		weir_backoff_recheck_(&backoff);
		/* relaxed: a hint; the caller reads the limit again. */
		if (weir_chan_is_ready_(chan, limit, side->phase) ||
		    at_load_relaxed(side->limit) != limit ||
		    weir_chan_closed_tail_(chan, &tail))
			return;
		weir_backoff_wait_(&backoff);
	}
}

void weir_chan_count_all_(weir_chan *chan, const struct weir_chan_side_ *side)
{
	/* relaxed: a call that has returned before is ordered by the caller. */
	uint64_t end = (at_load_relaxed(side->others) >> WEIR_CHAN_TICKET_) +
		       side->ahead;

	for (;;) {
		uint64_t limit, tail;

		while (weir_chan_count_(chan, side))
			;
		/* relaxed: if it is outdated, await_copy returns at once. */
		limit = at_load_relaxed(side->limit);
		/* The call with the last ticket may still be in progress. */
		if (limit + 1 >= end || weir_chan_closed_tail_(chan, &tail))
			break;
		await_copy(chan, side, limit);
	}
	await_moved(side);
}

weir_err weir_chan_try_(weir_chan *chan, const struct weir_chan_side_ *side)
{
	weir_err err = weir_sem_try_acquire(side->sem, 1);

	if (err != WEIR_EAGAIN)
		return err;
	weir_chan_count_all_(chan, side);
	return weir_sem_try_acquire(side->sem, 1);
}

void weir_chan_serve_(weir_chan *chan, const struct weir_chan_side_ *side)
{
	while (!weir_chan_count_(chan, side) || !weir_chan_has_free_(side)) {
		/* [CH6] acquire */
		uint64_t limit = at_load_acquire(side->limit);
		uint64_t seen = await_ticket(side);
		uint64_t tail;

		if ((seen >> WEIR_CHAN_TICKET_) + side->ahead == limit)
			return;
		/*
		 * After a close no call needs a permit, and a receiver may have
		 * taken the item of the limit without one.
		 */
		if (weir_chan_closed_tail_(chan, &tail))
			return;
		await_copy(chan, side, limit);
	}
}

void weir_chan_block_(weir_chan *chan, const struct weir_chan_side_ *side)
{
	/* relaxed: [CH5] publishes it. */
	at_add_relaxed(side->blocked, 1);
	weir_chan_serve_(chan, side);
}

void weir_chan_unblock_(const struct weir_chan_side_ *side)
{
	/* relaxed: a call that reads the old value serves no call. */
	at_sub_relaxed(side->blocked, 1);
}
