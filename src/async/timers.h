/* SPDX-License-Identifier: MIT */
#ifndef WEIR_ASYNC_TIMERS_H
#define WEIR_ASYNC_TIMERS_H

#include <stdbool.h>

#include "core/waiter.h"
#include "weir/loop.h"

/*
 * The deadlines of a loop's operations.
 * Requires, for every function below: the loop's lock is held (run.h).
 *
 * Deadlines are counted in ticks of about a millisecond; passed_ is the tick up
 * to which the loop has been served.  An operation is in list 0 if its tick is
 * not after passed_, and otherwise in list k + 1, where k is the highest bit in
 * which its tick and passed_ differ.  When passed_ advances and k is the
 * highest bit that changes, lists 0 to k are due, list k + 1 is distributed to
 * lower lists, and higher lists stay as they are.  So an operation moves down
 * at most as often as there are bits; adding and removing are O(1) and allocate
 * no memory.  Operations that are due move to the list due_.
 */

/*
 * Add w->deadline_ns.  Returns true if the new deadline is earlier than all
 * others, so that the loop has to wake earlier.
 */
bool weir_timers_add_(weir_loop *loop, struct weir_waiter_ *w);

/* Remove w's deadline.  Does nothing if the deadline was not added. */
void weir_timers_remove_(weir_loop *loop, struct weir_waiter_ *w);

/* Move the operations whose deadlines have passed at now_ns to due_. */
void weir_timers_advance_(weir_loop *loop, int64_t now_ns);

/* Remove an operation from due_ and return it; null: none. */
struct weir_waiter_ *weir_timers_next_(weir_loop *loop);

/* Returns a lower bound of all deadlines. */
int64_t weir_timers_soonest_(weir_loop *loop);

#endif /* WEIR_ASYNC_TIMERS_H */
