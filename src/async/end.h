/* SPDX-License-Identifier: MIT */
#ifndef WEIR_ASYNC_END_H
#define WEIR_ASYNC_END_H

#include <stdbool.h>

#include "core/notify.h"

/*
 * An operation that waits for the end of a context: weir_op_submit_end.  Its
 * `sem` is null and its `wants` is WEIR_WANTS_END_.
 */
static inline bool weir_op_awaits_end_(const struct weir_waiter_ *w)
{
	return !w->sem && w->wants == WEIR_WANTS_END_;
}

/*
 * w's deadline has passed: decide w, unless it has been decided.  Requires: the
 * loop's lock is held, which keeps *w valid.  Returns false if w has not joined
 * its context yet: the timer has to stay.
 */
bool weir_op_end_late_(struct weir_waiter_ *w,
		       struct weir_to_notify_ *to_notify);

/*
 * Unregister w, which has been decided with `outcome`, from its context.
 * Returns the reason why the context has ended.
 */
weir_err weir_op_end_finish_(struct weir_waiter_ *w, weir_err outcome);

#endif /* WEIR_ASYNC_END_H */
