/* SPDX-License-Identifier: MIT */
#ifndef WEIR_ASYNC_TIMERS_H
#define WEIR_ASYNC_TIMERS_H

#include <stdbool.h>

#include "core/waiter.h"
#include "weir/loop.h"

/*
 * The deadlines of a loop's operations.  All under the loop's lock (run.h).
 *
 * Deadlines are counted in ticks of about a millisecond.  An operation stands in
 * list 0 if its tick is that up to which the loop has served (passed_), else in
 * list 1 + the highest bit in which the two differ.  When the time moves on, and
 * bit k is the highest that changes, lists 0 to k are past, list k + 1 is sorted
 * into lower ones, and those above stay as they are.  So an operation moves down at
 * most as often as there are bits; adding and removing are O(1), without
 * memory.  What is past moves to the list due_.
 */

/* Watch w->deadline_ns.  True: it is sooner than what the loop was told. */
bool weir_timers_add_(weir_loop *loop, struct weir_waiter_ *w);

/* No longer; harmless if it is not watched. */
void weir_timers_remove_(weir_loop *loop, struct weir_waiter_ *w);

/* Move what is past at now_ns to due_. */
void weir_timers_advance_(weir_loop *loop, int64_t now_ns);

/* One that is due, no longer watched; null: none. */
struct weir_waiter_ *weir_timers_next_(weir_loop *loop);

/* No deadline is before this. */
int64_t weir_timers_soonest_(weir_loop *loop);

#endif /* WEIR_ASYNC_TIMERS_H */
