/* SPDX-License-Identifier: MIT */
#ifndef WEIR_ASYNC_RUN_H
#define WEIR_ASYNC_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/ring.h"
#include "core/waiter.h"
#include "weir/async.h"
#include "weir/loop.h"

/*
 * Between the decision about an operation and its callback.
 * docs/design/async.md, "From decision to callback".
 *
 * `state` of an operation:
 *
 *   FREE   its owner's                          -> ASKED by submit
 *   ASKED  in a queue, or decided and about     -> TOLD by the teller, or by
 *          to be told                              whoever empties the inbox
 *   TOLD   ready to run                         -> BEGUN by whoever takes it off
 *   BEGUN  being concluded                      -> FREE, the last access
 *
 * TOLD and BEGUN are set under the lock of the runner; of a polled operation,
 * which has none, by the teller and by its owner.
 */
enum weir_op_state_ {
	WEIR_OP_FREE_,
	WEIR_OP_QUEUED_,
	WEIR_OP_NOTIFIED_,
	WEIR_OP_RUNNING_
};

/* Kinds of operations: enum weir_kind_ goes on. */
enum weir_op_kind_ {
	WEIR_OP_ON_THREAD_ = WEIR_OPERATION_,
	WEIR_OP_ON_LOOP_,
	WEIR_OP_POLLED_,
	WEIR_OP_WAKES_		/* state is slept on */
};

/* The same memory, from outside and from inside. */
_Static_assert(sizeof(weir_op) == 128, "C26");
_Static_assert(sizeof(weir_op) >= sizeof(struct weir_waiter_), "layout");

static inline struct weir_waiter_ *weir_op_inside_of_(weir_op *op)
{
	return (struct weir_waiter_ *)(void *)op;
}

/* The teller: weir_waiter_set_notifier_. */
bool weir_run_notify_(struct weir_waiter_ *w);

/*
 * The lock of a runner, a loop's or a thread's.  It lies in static memory: a
 * canceller may come when the runner is gone.  It is taken before a semaphore's
 * lock, never after.
 */
void weir_run_lock_(const void *runner);
void weir_run_unlock_(const void *runner);

/* Under the lock: take what was told to the loop to the end of its list. */
void weir_run_empty_inbox_(weir_loop *loop);

/*
 * Take an operation that has been decided away from its runner, waiting for it
 * to be told.  False: its callback has begun.
 */
bool weir_run_take_(struct weir_waiter_ *w);

/* The first that is ready on a loop, BEGUN; null: none. */
struct weir_waiter_ *weir_run_next_(weir_loop *loop);

/* Conclude it and call its callback. */
void weir_run_callback_(struct weir_waiter_ *w);

/* Make its descriptor readable, while nobody may destroy the loop. */
void weir_run_raise_(weir_loop *loop);

#endif /* WEIR_ASYNC_RUN_H */
