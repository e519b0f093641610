/* SPDX-License-Identifier: MIT */
#ifndef WEIR_LOOP_H
#define WEIR_LOOP_H

#include <stdint.h>

#include "weir/base.h"

WEIR_DECLS_BEGIN

/*
 * weir_loop: what an event loop polls for weir.  It carries any number of
 * operations (weir/async.h) over one file descriptor, and watches their deadlines.
 *
 *     weir_loop loop;
 *     err = weir_loop_init(&loop);
 *     epoll_ctl(ep, EPOLL_CTL_ADD, weir_loop_fd(&loop), &readable);
 *     for (;;) {
 *             n = epoll_wait(ep, events, 16, weir_loop_timeout_ms(&loop));
 *             weir_loop_dispatch(&loop);
 *             ...
 *     }
 *
 * The following holds for every function below unless its comment differs.
 *
 *   Threads   One thread dispatches at a time: the loop's.  The rest from any.
 *   Memory    Allocates nothing.  A loop must stay where it is.
 *   Signals   Not async-signal-safe.  Grants reach a loop from signal handlers
 *             all the same.
 *   Fork      A loop is not to be used in the child.
 */
typedef struct weir_loop {
	uint64_t inbox_ __attribute__((aligned(8)));	/* told, newest first */
	struct weir_ring_ *ready_;	/* decided, oldest first */
	struct weir_ring_ *due_;	/* deadline passed */
	struct weir_ring_ *timers_[44];	/* src/async/timers.h */
	int64_t passed_;		/* the time up to which timers are served */
	int64_t soonest_;		/* no deadline is before; 0: unknown */
	uint64_t ready_count_;		/* under the lock of run.h */
	int32_t fd_;
	uint32_t state_;
	uint64_t dispatching_;		/* the dispatching thread's */
	uint64_t loose_;		/* there may be no deadline at soonest_ */
	uint64_t reserved_[11];
} weir_loop;

/* Set up *loop.  WEIR_ESYSTEM: no descriptor can be had now (errno). */
WEIR_API WEIR_MUST_USE weir_err weir_loop_init(weir_loop *loop);

/*
 * Retire *loop and close its descriptor.  WEIR_EBUSY, with nothing changed:
 * callbacks have still to run or are running, or deadlines are watched.
 * Requires: no operation of this loop is submitted.
 */
WEIR_API WEIR_MUST_USE weir_err weir_loop_destroy(weir_loop *loop);

/*
 * The descriptor: polls readable while callbacks have to run.  The same from
 * init to destroy.  Do not read from it or close it.
 */
WEIR_API int weir_loop_fd(const weir_loop *loop);

/*
 * When to dispatch though the descriptor is not readable: no deadline of an
 * operation is before this.  WEIR_FOREVER: none is watched.  With very many it
 * may be early; a dispatch then does nothing, and the next answer is later.  A
 * submit from another thread that brings it forward makes the descriptor
 * readable.
 */
WEIR_API int64_t weir_loop_deadline(weir_loop *loop);

/* The same for poll(2) and its kin: from now, rounded up; -1: for ever. */
WEIR_API int weir_loop_timeout_ms(weir_loop *loop);

/*
 * Run the callbacks of the operations that have been decided, in order, and of
 * those whose deadline has passed; those that were there when this began, so
 * that callbacks which submit again cannot keep it from returning.  Returns how
 * many ran.  In a callback of the same loop it panics.
 */
WEIR_API uint64_t weir_loop_dispatch(weir_loop *loop);

WEIR_DECLS_END

#endif /* WEIR_LOOP_H */
