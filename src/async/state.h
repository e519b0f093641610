/* SPDX-License-Identifier: MIT */
#ifndef WEIR_ASYNC_STATE_H
#define WEIR_ASYNC_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/waiter.h"
#include "weir/async.h"

/*
 * The states and kinds of operations.
 *
 * `state` of an operation:
 *
 *   FREE      belongs to its owner               -> QUEUED by submit
 *   QUEUED    in a queue, or decided and about   -> NOTIFIED by the notifier, or
 *             to be notified                        by weir_inbox_empty_
 *   NOTIFIED  ready to run                       -> RUNNING by the thread that
 *                                                   takes it off its runner
 *   RUNNING   being finished                     -> FREE, the last access
 *
 * NOTIFIED and RUNNING are set under the lock of the runner.  A polled operation
 * has no runner: the notifier sets NOTIFIED, and its owner reads it.
 */
enum weir_op_state_ {
	WEIR_OP_FREE_,
	WEIR_OP_QUEUED_,
	WEIR_OP_NOTIFIED_,
	WEIR_OP_RUNNING_
};

/* The kinds of operations; the numbers continue those of enum weir_kind_. */
enum weir_op_kind_ {
	WEIR_OP_ON_THREAD_ = WEIR_OPERATION_,
	WEIR_OP_ON_LOOP_,
	WEIR_OP_POLLED_,
	WEIR_OP_WAKES_		/* a thread sleeps on `state` */
};

/* A weir_op is memory for a waiter. */
_Static_assert(sizeof(weir_op) == 128, "C26");
_Static_assert(sizeof(weir_op) >= sizeof(struct weir_waiter_), "layout");

static inline struct weir_waiter_ *weir_op_inside_of_(weir_op *op)
{
	return (struct weir_waiter_ *)(void *)op;
}

/*
 * Returns false if w was never initialised as an operation.  `state` is the state
 * that was read from w.
 */
static inline bool weir_op_is_valid_(const struct weir_waiter_ *w,
				     uint32_t state)
{
	return state <= WEIR_OP_RUNNING_ && w->kind >= WEIR_OP_ON_THREAD_ &&
	       w->kind <= WEIR_OP_WAKES_;
}

#endif /* WEIR_ASYNC_STATE_H */
