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
 * out at the other, in order.  If the channel is full, then senders wait.  If
 * it is empty, then receivers wait.
 *
 *     static weir_chan jobs;
 *
 *     err = weir_chan_init(&jobs, NULL, 64, sizeof(struct job));
 *     err = weir_chan_send(&jobs, &job, ctx);         // one thread
 *     err = weir_chan_recv(&jobs, &job, ctx);         // another
 *     weir_chan_close(&jobs);         // receivers take the rest, then stop
 *
 * Each item that was sent is received exactly once, also around a close.  Items
 * of one sender arrive in the order of its sends.  Senders, and likewise
 * receivers, are served in order of arrival, except that a running thread may
 * overtake a parked one, for throughput.  If the parked thread has waited for a
 * millisecond, then no thread overtakes it, unless it was woken to retry and has
 * not run yet (WEIR_BARGING, weir/sem.h): no thread starves.
 *
 * The following holds for every function below unless its comment differs.
 *
 *   Threads   Every function may be called from any thread between init and
 *             destroy, by any number of senders and receivers.
 *   Memory    No function allocates.  A waiter lives on its caller's stack.
 *   Orders    A send happens before the receive that takes its item.  A receive
 *             happens before the send that fills its slot again.  If a call
 *             fails, then it orders nothing, except that a call that returns
 *             WEIR_ECLOSED happens after the close.
 *   Signals   No function is async-signal-safe.  If a signal handler runs
 *             during a wait, then the wait continues.  No function is a
 *             thread-cancellation point.
 *   Waiting   A call waits for a slot or an item in the queue of a semaphore.
 *             Every call, also a try, may have to wait for a few steps of a
 *             thread that is inside another call, such as the copy of one item.
 *   Fork      As in weir/sem.h.  If a thread waited or was inside a call at the
 *             fork, then the child must not use the channel.
 *   Misuse    As in weir/sem.h.  If a channel is null, misaligned or zeroed,
 *             then the result is WEIR_EINVAL, or a panic where no error can be
 *             returned.
 */
typedef struct weir_chan {
	weir_sem space_;		/* free slots that were counted */
	uint64_t tail_;			/* tickets of senders, and flags */
	uint64_t space_limit_;		/* slots counted in space_ */
	uint64_t space_moving_;		/* calls that count slots */
	uint64_t senders_;		/* that may have to sleep, or copy */
	uint64_t apart_[4];
	weir_sem items_;		/* filled slots that were counted */
	uint64_t head_;			/* tickets of receivers, and a flag */
	uint64_t items_limit_;
	uint64_t items_moving_;
	uint64_t receivers_;
	uint64_t apart_too_[4];
	unsigned char *slots_;
	uint64_t capacity_;
	uint64_t mask_;			/* capacity - 1 if power of two, or 0 */
	uint64_t item_size_, stride_;
	uint64_t owned_;		/* the slots are on the heap */
	uint32_t ready_;		/* src/pattern/ready.h */
	uint32_t watched_;		/* number of its record; 0: none */
	uint64_t reserved_[1];		/* zero, for later versions */
} weir_chan;

/* The most slots, and the largest item size. */
#define WEIR_CHAN_MAX (INT64_C(1) << 31)
#define WEIR_CHAN_ITEM_MAX (WEIR_CAST_(size_t, 1) << 30)

/*
 * The memory that the slots need, in bytes:
 *
 *     static uint64_t slots[WEIR_CHAN_BYTES(64, sizeof(struct job)) / 8];
 */
#define WEIR_CHAN_BYTES(capacity, item_size)                                   \
	(WEIR_CAST_(size_t, capacity) *                                        \
	 (8 + (WEIR_CAST_(size_t, item_size) + 7) / 8 * 8))

/*
 * Set up *chan with `capacity` slots for items of item_size bytes; both are at
 * least 1.  If slots is not null, then it points to WEIR_CHAN_BYTES(capacity,
 * item_size) bytes, aligned to 8, which the channel uses until destroy.  If it
 * is null, then the slots are allocated on the heap.  WEIR_ENOMEM: memory is
 * exhausted.
 * Requires: no other thread can reach *chan yet.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_chan_init(weir_chan *chan, void *slots, int64_t capacity,
	       size_t item_size);

/* Options for weir_chan_init_opts. */
typedef struct weir_chan_opts {
	int64_t capacity;	/* as the parameters of weir_chan_init */
	size_t item_size;
	void *slots;
	const char *name;	/* for messages; not copied; may be null.  A
				   channel with a name is watched: weir/diag.h */
	uint64_t flags;		/* 0 */
	uint64_t reserved_[3];	/* zero, for later versions */
} weir_chan_opts;

/* Set up *chan with options, as weir_chan_init. */
WEIR_API WEIR_MUST_USE weir_err
weir_chan_init_opts(weir_chan *chan, const weir_chan_opts *opts);

/*
 * Retire *chan.  If the result is WEIR_OK, then its memory and the slots may be
 * reused, and items still in the channel are lost.
 * WEIR_EBUSY: a thread or an operation (weir/chan_async.h) waits, or a decided
 * operation has not copied its item yet, which it does before its callback.
 * Nothing has changed.
 * Requires: no other call on *chan is running or follows.
 */
WEIR_API WEIR_MUST_USE weir_err weir_chan_destroy(weir_chan *chan);

/*
 * Copy one item in, waiting for a free slot until ctx ends.  A null ctx never
 * ends.  WEIR_ECANCELED, WEIR_ETIMEDOUT, WEIR_ECLOSED: nothing was sent.  If
 * ctx has ended, then it wins over a free slot.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_chan_send(weir_chan *chan, const void *item, struct weir_ctx *ctx);

/*
 * Send with a deadline, which limits the wait only: a free slot wins over a
 * deadline that has passed.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_chan_send_until(weir_chan *chan, const void *item, int64_t deadline_ns);

/*
 * Send if that needs no waiting.  WEIR_EAGAIN: the channel is full, or other
 * senders wait.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_chan_try_send(weir_chan *chan, const void *item);

/*
 * Send n items from consecutive memory, in order.  Each step sends as many
 * items as slots are free; items of other senders may come in between.  *sent
 * is set to the number of items sent, also with an error: the others were not
 * sent.  With n == 0 the call sends nothing and does not wait.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_chan_send_many(weir_chan *chan, const void *items, size_t n,
		    struct weir_ctx *ctx, size_t *sent);

/*
 * Copy the oldest item out, waiting for one until ctx ends.  A null ctx never
 * ends.
 * WEIR_ECLOSED: the channel was closed and every item has been received.
 * After an error *item is unchanged.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_chan_recv(weir_chan *chan, void *item, struct weir_ctx *ctx);

/*
 * Receive with a deadline, as weir_chan_send_until; and receive if that needs
 * no waiting, otherwise return WEIR_EAGAIN.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_chan_recv_until(weir_chan *chan, void *item, int64_t deadline_ns);
WEIR_API WEIR_MUST_USE weir_err
weir_chan_try_recv(weir_chan *chan, void *item);

/*
 * Receive as many items as are available, at most max, in order.  Waits for the
 * first item.  *got is set to the number received, 0 with an error.
 * WEIR_EINVAL: max is 0.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_chan_recv_many(weir_chan *chan, void *items, size_t max,
		    struct weir_ctx *ctx, size_t *got);

/*
 * Close the channel.  Senders that wait, and every later send, get
 * WEIR_ECLOSED.  Receivers continue until the last item has been received, and
 * get WEIR_ECLOSED then.  If a send and the close coincide, then its item is
 * received or the send returns WEIR_ECLOSED.  Closing twice is harmless.
 */
WEIR_API void weir_chan_close(weir_chan *chan);

WEIR_API bool weir_chan_is_closed(const weir_chan *chan);

/*
 * Returns the number of items.  The result is for display: it may be outdated
 * already.
 */
WEIR_API int64_t weir_chan_length(const weir_chan *chan);

/*
 * A snapshot.  If no call is running, then capacity == space + length.  An item
 * that is being copied is counted in length or not at all.
 */
typedef struct weir_chan_info {
	int64_t capacity;
	int64_t length;		/* items */
	int64_t space;		/* free slots */
	size_t item_size;
	uint32_t senders;	/* waiting */
	uint32_t receivers;
	bool closed;
	uint64_t reserved_[4];
} weir_chan_info;

WEIR_API WEIR_MUST_USE weir_err
weir_chan_stat(weir_chan *chan, weir_chan_info *info);

WEIR_DECLS_END

#endif /* WEIR_CHAN_H */
