/* SPDX-License-Identifier: MIT */
#ifndef WEIR_ASYNC_COUNT_H
#define WEIR_ASYNC_COUNT_H

#include "async/state.h"
#include "base/atomic.h"
#include "weir/loop.h"

/*
 * Count a submitted operation in its loop, and subtract it when it has ended.
 * Both functions do nothing if w has no loop.  After the subtraction the
 * calling thread does not access the loop any more, unless this thread
 * dispatches the loop.
 */
static inline void weir_op_count_(struct weir_waiter_ *w)
{
	weir_loop *loop = w->runner;

	if (w->kind == WEIR_OP_ON_LOOP_)
		/* relaxed: only weir_op_uncount_ publishes. */
		at_add_relaxed(&loop->ops_, 1);
}

static inline void weir_op_uncount_(struct weir_waiter_ *w)
{
	weir_loop *loop = w->runner;

	if (w->kind == WEIR_OP_ON_LOOP_)
		/* [A9] release */
		at_sub_acq_rel(&loop->ops_, 1);
}

#endif /* WEIR_ASYNC_COUNT_H */
