/* SPDX-License-Identifier: MIT */
#ifndef WEIR_LOOP_H
#define WEIR_LOOP_H

#include <stdint.h>

#include "weir/base.h"

WEIR_DECLS_BEGIN

/*
 * weir_loop: connects operations (weir/async.h) to an event loop.  One loop
 * carries any number of operations over one file descriptor, and tracks their
 * deadlines.
 *
 *     weir_loop loop;
 *     err = weir_loop_init(&loop);
 *     epoll_ctl(ep, EPOLL_CTL_ADD, weir_loop_fd(&loop), &readable);
 *     for (;;) {
 *             n = epoll_wait(ep, events, 16, weir_loop_timeout_ms(&loop));
 *             ...                             handle all of events[]
 *             weir_loop_dispatch(&loop);
 *     }
 *
 * A callback may free an object that events[] still refers to.  Therefore
 * dispatch after all events have been handled.
 *
 * The following holds for every function below unless its comment differs.
 *
 *   Threads   Every function may be called from any thread, but only one thread
 *             may dispatch a loop at a time.
 *   Memory    No function allocates.  A loop must not move.
 *   Signals   No function is async-signal-safe.  If a signal handler releases a
 *             semaphore, then operations with a loop are granted as usual.
 *   Fork      The child must not use a loop of the parent.
 */
typedef struct weir_loop {
	uint64_t inbox_ __attribute__((aligned(8)));	/* newest first */
	struct weir_ring_ *ready_;	/* notified, oldest first */
	struct weir_ring_ *due_;	/* deadline passed */
	struct weir_ring_ *timers_[44];	/* src/async/timers.h */
	int64_t passed_;		/* time up to which timers are served */
	int64_t soonest_;		/* no deadline is earlier; 0: unknown */
	uint64_t ready_count_;		/* of ready_; under the lock of run.h */
	int32_t fd_;
	uint32_t state_;
	uint64_t dispatching_;		/* a thread dispatches */
	uint64_t loose_;		/* soonest_ may be too early */
	uint64_t ops_;			/* operations that are submitted */
	uint64_t reserved_[10];
} weir_loop;

/*
 * Set up *loop.  WEIR_ESYSTEM: no file descriptor is available; errno has the
 * reason.
 */
WEIR_API WEIR_MUST_USE weir_err weir_loop_init(weir_loop *loop);

/*
 * Retire *loop and close its descriptor.  WEIR_EBUSY: an operation of this loop
 * is submitted and has not ended, or a thread dispatches the loop; nothing has
 * changed.
 */
WEIR_API WEIR_MUST_USE weir_err weir_loop_destroy(weir_loop *loop);

/*
 * Returns the file descriptor of the loop.  It polls readable while callbacks
 * are pending, and stays the same from init to destroy.  Do not read from it or
 * close it.
 */
WEIR_API int weir_loop_fd(const weir_loop *loop);

/*
 * Returns the time at which to dispatch even if the descriptor is not readable.
 * No operation has an earlier deadline.  WEIR_FOREVER: no deadline is tracked.
 * With very many operations the time may be too early; a dispatch then runs no
 * callback, and the next result is later.  If a submit on another thread makes
 * the time earlier, then the descriptor becomes readable.
 */
WEIR_API int64_t weir_loop_deadline(weir_loop *loop);

/*
 * Returns the time until weir_loop_deadline as a timeout for poll(2): in
 * milliseconds, rounded up; -1 if no deadline is tracked.
 */
WEIR_API int weir_loop_timeout_ms(weir_loop *loop);

/*
 * Run the callbacks of the operations that have been decided, in order, and of
 * the operations whose deadline has passed.  Only operations that were decided
 * when this call began are run: a callback that submits again cannot keep the
 * call from returning.  Returns the number of callbacks that ran.  Panics if
 * called in a callback of the same loop.  If a callback throws an exception or
 * ends its thread, then the dispatch ends, and the descriptor stays readable
 * while callbacks are pending.
 */
WEIR_API uint64_t weir_loop_dispatch(weir_loop *loop);

WEIR_DECLS_END

#endif /* WEIR_LOOP_H */
