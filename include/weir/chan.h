/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CHAN_H
#define WEIR_CHAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/base.h"
#include "weir/sem.h"

WEIR_DECLS_BEGIN

struct weir_ctx;	/* cancellation and deadlines, weir/ctx.h */

/*
 * weir_chan: a bounded channel.  Items of one size are copied in at one end and
 * out at the other, in order; a full channel makes senders wait, an empty one
 * makes receivers wait.
 *
 *     static weir_chan jobs;
 *
 *     err = weir_chan_init(&jobs, NULL, 64, sizeof(struct job));
 *     err = weir_chan_send(&jobs, &job, ctx);         // one thread
 *     err = weir_chan_recv(&jobs, &job, ctx);         // another
 *     weir_chan_close(&jobs);         // receivers take what is left, and leave
 *
 * What a send put in, exactly one receive takes out: nothing is lost and nothing
 * comes twice, also around a close.  Items of one sender arrive in its order.
 * Those that wait are served in the order they came, senders and receivers each;
 * but one that is running may go before one that sleeps, for throughput, until
 * that has waited for a millisecond (WEIR_BARGING, weir/sem.h): none starves.
 *
 * The following holds for every function below unless its comment differs.
 *
 *   Threads   Callable from any thread between init and destroy; any number of
 *             senders and receivers.
 *   Memory    Allocates nothing.  A waiter lives on its caller's stack.
 *   Orders    A send happens before the receive that takes its item; a receive
 *             before the send that fills its slot again.  A call that fails
 *             orders nothing, except that WEIR_ECLOSED happens after the close.
 *   Signals   Not async-signal-safe.  A signal during a wait is handled and the
 *             wait goes on.  No function is a thread-cancellation point.
 *   Waiting   For a slot or an item: in the queue of a semaphore.  Besides, a
 *             call may have to let another finish copying one item, also one
 *             that "does not wait".
 *   Fork      As in weir/sem.h: not to be used in the child if somebody waited,
 *             or was inside a call, at the fork.
 *   Misuse    As in weir/sem.h: a null, misaligned or zeroed channel is
 *             WEIR_EINVAL, or a panic where no error can be returned.
 */
typedef struct weir_chan {
	weir_sem space_;		/* free slots */
	uint64_t tail_;			/* 2 * tickets of senders + closed */
	uint64_t apart_[7];
	weir_sem items_;		/* filled slots */
	uint64_t head_;			/* tickets of receivers */
	uint64_t apart_too_[7];
	unsigned char *slots_;
	uint64_t capacity_;
	uint64_t mask_;			/* capacity - 1 if a power of two, or 0 */
	uint64_t item_size_, stride_;
	uint64_t owned_;		/* the slots come from the heap */
	uint64_t reserved_[2];		/* zero, for later versions */
} weir_chan;

/* The most slots, and the largest item. */
#define WEIR_CHAN_MAX (INT64_C(1) << 31)
#define WEIR_CHAN_ITEM_MAX ((size_t)1 << 30)

/* How much memory the slots take:
 *     static uint64_t slots[WEIR_CHAN_BYTES(64, sizeof(struct job)) / 8]; */
#define WEIR_CHAN_BYTES(capacity, item_size)                                   \
	((size_t)(capacity) * (8 + ((size_t)(item_size) + 7) / 8 * 8))

/*
 * Set up *chan with `capacity` slots for items of item_size bytes, both at least
 * 1.  The slots lie in `slots`, which is WEIR_CHAN_BYTES(capacity, item_size)
 * bytes, aligned to 8, and the channel's until destroy; or on the heap, if it is
 * null.  WEIR_ENOMEM: there is no room.
 * Requires: no other thread can reach *chan yet.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_chan_init(weir_chan *chan, void *slots, int64_t capacity,
	       size_t item_size);

/*
 * Retire *chan; its memory, and the slots, may be reused when this returns
 * WEIR_OK.  Items still in it are gone.  WEIR_EBUSY: somebody waits, or an
 * operation (weir/chan_async.h) has not been told yet.
 * Requires: no other call on *chan is running or follows.
 */
WEIR_API WEIR_MUST_USE weir_err weir_chan_destroy(weir_chan *chan);

/*
 * Copy one item in, waiting for a free slot until ctx ends (null: never).
 * WEIR_ECANCELED, WEIR_ETIMEDOUT, WEIR_ECLOSED: nothing was sent.  A ctx that has
 * ended wins over a slot that is free.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_chan_send(weir_chan *chan, const void *item, struct weir_ctx *ctx);

/* The same with a plain deadline: it limits waiting only, a free slot wins. */
WEIR_API WEIR_MUST_USE weir_err
weir_chan_send_until(weir_chan *chan, const void *item, int64_t deadline_ns);

/* The same if no waiting is needed; else WEIR_EAGAIN: full, or others wait. */
WEIR_API WEIR_MUST_USE weir_err
weir_chan_try_send(weir_chan *chan, const void *item);

/*
 * Send n items that lie one behind the other, in order.  Each time as many go at
 * once as there are free slots; items of other senders may come in between.
 * *sent tells how many went, also with an error: the rest was not sent.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_chan_send_many(weir_chan *chan, const void *items, size_t n,
		    struct weir_ctx *ctx, size_t *sent);

/*
 * Copy the oldest item out, waiting for one until ctx ends (null: never).
 * WEIR_ECLOSED: the channel was closed and every item sent has been taken.
 * After any error *item is as it was.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_chan_recv(weir_chan *chan, void *item, struct weir_ctx *ctx);

/* The same with a plain deadline, and if no waiting is needed (WEIR_EAGAIN). */
WEIR_API WEIR_MUST_USE weir_err
weir_chan_recv_until(weir_chan *chan, void *item, int64_t deadline_ns);
WEIR_API WEIR_MUST_USE weir_err
weir_chan_try_recv(weir_chan *chan, void *item);

/*
 * Take as many items as there are, at most max, in order; waits for the first.
 * *got tells how many, 0 with an error.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_chan_recv_many(weir_chan *chan, void *items, size_t max,
		    struct weir_ctx *ctx, size_t *got);

/*
 * Take no more in: senders that wait, and every later send, get WEIR_ECLOSED.
 * Receivers go on until the last item that was sent is taken, and get
 * WEIR_ECLOSED then.  A send that meets the close is either received or refused.
 * Closing twice is harmless.
 */
WEIR_API void weir_chan_close(weir_chan *chan);

WEIR_API bool weir_chan_is_closed(const weir_chan *chan);

/* Items in it at this moment.  For display: it may have changed already. */
WEIR_API int64_t weir_chan_length(const weir_chan *chan);

/*
 * The channel at a moment.  While no call is running, capacity == space + length;
 * an item that is being copied is in neither, or in length.
 */
typedef struct weir_chan_info {
	int64_t capacity;
	int64_t length;		/* items */
	int64_t space;		/* free slots */
	size_t item_size;
	uint32_t senders;	/* that wait */
	uint32_t receivers;
	bool closed;
	uint64_t reserved_[4];
} weir_chan_info;

WEIR_API WEIR_MUST_USE weir_err
weir_chan_stat(weir_chan *chan, weir_chan_info *info);

WEIR_DECLS_END

#endif /* WEIR_CHAN_H */
