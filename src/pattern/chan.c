/* SPDX-License-Identifier: MIT */
/*
 * The bounded channel of weir/chan.h.
 *
 * A ring of slots holds the items (chan_ring.c).  Two semaphores count: a sender
 * takes a permit of space_ and fills a slot; a receiver takes a permit of items_
 * and empties a slot.  Neither releases a permit for the other side.  A sender
 * that finds no permit counts the slots that have become free and releases
 * permits for all of them at once; receivers count the slots that have been
 * filled (chan_count.c).  A call that finds no such slot waits (chan_wait.c).
 * A call counts for the other side only if a call of that side sleeps.  So slots
 * move from one side to the other, and permits do not.  There is no lock.
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

#include "core/sem_watched.h"
#include "pattern/chan.h"

static weir_err acquire_one(weir_chan *chan, const struct weir_chan_side_ *side,
			    struct weir_ctx *ctx)
{
	int64_t got;
	weir_err err;

	if (ctx)
		return weir_chan_acquire_(chan, side, 1, ctx, &got);
	err = weir_sem_try_acquire(side->sem, 1);
	if (err != WEIR_EAGAIN)
		return err;
	return weir_chan_acquire_long_(chan, side, 1, NULL, &got);
}

/*
 * The calls.  Each body is inlined twice: into the call, and into a second form
 * NAME_watched.  The second form is for a channel that is watched or must not
 * be used.
 */
#define BODY __attribute__((always_inline)) static inline weir_err

#define WATCHED(name, parameters, arguments, sends, moved)                     \
	__attribute__((noinline)) static weir_err name##_watched parameters    \
	{                                                                      \
		weir_err err = weir_chan_begin_(chan, "weir_chan_" #name,      \
						WEIR_SITE_);                   \
									       \
		if (err)                                                       \
			return err;                                            \
		err = name arguments;                                          \
		weir_chan_record_(chan, sends, err, moved,                     \
				  weir_record_waited_());                      \
		weir_record_end_();                                            \
		return err;                                                    \
	}

BODY send(weir_chan *chan, const void *item, struct weir_ctx *ctx)
{
	struct weir_chan_side_ senders = weir_chan_senders_(chan);
	weir_err err;

	if (!item)
		return WEIR_EINVAL;
	err = acquire_one(chan, &senders, ctx);
	return err ? err : weir_chan_put_one_(chan, item);
}
WATCHED(send, (weir_chan *chan, const void *item, struct weir_ctx *ctx),
	(chan, item, ctx), true, !err)

weir_err weir_chan_send(weir_chan *chan, const void *item, struct weir_ctx *ctx)
{
	return weir_is_ready_(chan) ? send(chan, item, ctx) :
				      send_watched(chan, item, ctx);
}

BODY send_until(weir_chan *chan, const void *item, int64_t deadline_ns)
{
	struct weir_chan_side_ senders = weir_chan_senders_(chan);
	weir_err err;

	if (!item)
		return WEIR_EINVAL;
	err = weir_chan_acquire_until_(chan, &senders, deadline_ns);
	return err ? err : weir_chan_put_one_(chan, item);
}
WATCHED(send_until, (weir_chan *chan, const void *item, int64_t deadline_ns),
	(chan, item, deadline_ns), true, !err)

weir_err weir_chan_send_until(weir_chan *chan, const void *item,
			      int64_t deadline_ns)
{
	return weir_is_ready_(chan) ? send_until(chan, item, deadline_ns) :
				      send_until_watched(chan, item, deadline_ns);
}

BODY try_send(weir_chan *chan, const void *item)
{
	struct weir_chan_side_ senders = weir_chan_senders_(chan);
	weir_err err;

	if (!item)
		return WEIR_EINVAL;
	err = weir_chan_try_(chan, &senders);
	return err ? err : weir_chan_put_one_(chan, item);
}
WATCHED(try_send, (weir_chan *chan, const void *item), (chan, item), true, !err)

weir_err weir_chan_try_send(weir_chan *chan, const void *item)
{
	return weir_is_ready_(chan) ? try_send(chan, item) :
				      try_send_watched(chan, item);
}

/* Requires: sent is not null, and *sent is 0. */
BODY send_many(weir_chan *chan, const void *items, size_t n,
	       struct weir_ctx *ctx, size_t *sent)
{
	struct weir_chan_side_ senders = weir_chan_senders_(chan);
	const unsigned char *next = items;

	if ((!items && n) || n > (uint64_t)WEIR_SEM_MAX)
		return WEIR_EINVAL;
	do {
		int64_t got, put;
		weir_err err;

		err = n ? weir_chan_acquire_(chan, &senders,
					     (int64_t)(n - *sent), ctx, &got) :
			  weir_sem_acquire_upto(&chan->space_, 0, 0, ctx, &got);
		if (err || !got)
			return err;
		put = weir_chan_put_all_(chan, next, got);
		*sent += (size_t)put;
		if (put < got)
			return WEIR_ECLOSED;
		next += (size_t)put * chan->item_size_;
	} while (*sent < n);
	/*
	 * Pass on once for the whole batch: this call was in charge until here.
	 */
	weir_chan_pass_on_(chan, &senders);
	return WEIR_OK;
}
WATCHED(send_many, (weir_chan *chan, const void *items, size_t n,
		    struct weir_ctx *ctx, size_t *sent),
	(chan, items, n, ctx, sent), true, (int64_t)*sent)

weir_err weir_chan_send_many(weir_chan *chan, const void *items, size_t n,
			     struct weir_ctx *ctx, size_t *sent)
{
	if (!sent)
		return WEIR_EINVAL;
	*sent = 0;
	return weir_is_ready_(chan) ? send_many(chan, items, n, ctx, sent) :
				      send_many_watched(chan, items, n, ctx,
							sent);
}

BODY recv(weir_chan *chan, void *item, struct weir_ctx *ctx)
{
	struct weir_chan_side_ receivers = weir_chan_receivers_(chan);

	if (!item)
		return WEIR_EINVAL;
	return weir_chan_take_one_(chan, item,
				   acquire_one(chan, &receivers, ctx));
}
WATCHED(recv, (weir_chan *chan, void *item, struct weir_ctx *ctx),
	(chan, item, ctx), false, !err)

weir_err weir_chan_recv(weir_chan *chan, void *item, struct weir_ctx *ctx)
{
	return weir_is_ready_(chan) ? recv(chan, item, ctx) :
				      recv_watched(chan, item, ctx);
}

BODY recv_until(weir_chan *chan, void *item, int64_t deadline_ns)
{
	struct weir_chan_side_ receivers = weir_chan_receivers_(chan);

	if (!item)
		return WEIR_EINVAL;
	return weir_chan_take_one_(chan, item,
				   weir_chan_acquire_until_(chan, &receivers,
							    deadline_ns));
}
WATCHED(recv_until, (weir_chan *chan, void *item, int64_t deadline_ns),
	(chan, item, deadline_ns), false, !err)

weir_err weir_chan_recv_until(weir_chan *chan, void *item, int64_t deadline_ns)
{
	return weir_is_ready_(chan) ? recv_until(chan, item, deadline_ns) :
				      recv_until_watched(chan, item, deadline_ns);
}

BODY try_recv(weir_chan *chan, void *item)
{
	struct weir_chan_side_ receivers = weir_chan_receivers_(chan);

	if (!item)
		return WEIR_EINVAL;
	return weir_chan_take_one_(chan, item,
				   weir_chan_try_(chan, &receivers));
}
WATCHED(try_recv, (weir_chan *chan, void *item), (chan, item), false, !err)

weir_err weir_chan_try_recv(weir_chan *chan, void *item)
{
	return weir_is_ready_(chan) ? try_recv(chan, item) :
				      try_recv_watched(chan, item);
}

/* Requires: got is not null, and *got is 0. */
BODY recv_many(weir_chan *chan, void *items, size_t max, struct weir_ctx *ctx,
	       size_t *got)
{
	struct weir_chan_side_ receivers = weir_chan_receivers_(chan);
	int64_t n = 0;
	weir_err err;

	if (!items || !max || max > (uint64_t)WEIR_SEM_MAX)
		return WEIR_EINVAL;
	err = weir_chan_acquire_(chan, &receivers, (int64_t)max, ctx, &n);
	if (err == WEIR_ECLOSED)
		n = (int64_t)max;
	else if (err)
		return err;
	*got = (size_t)weir_chan_take_all_(chan, items, n);
	return *got ? WEIR_OK : WEIR_ECLOSED;
}
WATCHED(recv_many, (weir_chan *chan, void *items, size_t max,
		    struct weir_ctx *ctx, size_t *got),
	(chan, items, max, ctx, got), false, (int64_t)*got)

weir_err weir_chan_recv_many(weir_chan *chan, void *items, size_t max,
			     struct weir_ctx *ctx, size_t *got)
{
	if (!got)
		return WEIR_EINVAL;
	*got = 0;
	return weir_is_ready_(chan) ? recv_many(chan, items, max, ctx, got) :
				      recv_many_watched(chan, items, max, ctx,
							got);
}
