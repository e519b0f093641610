/* SPDX-License-Identifier: MIT */
#ifndef WEIR_ASYNC_RUN_H
#define WEIR_ASYNC_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "async/state.h"
#include "base/ring.h"
#include "core/notify.h"
#include "weir/loop.h"

/*
 * The path from the decision about an operation to its callback.  See
 * docs/design/async.md, "From decision to callback".
 */

/* The notifier: weir_waiter_set_notifier_. */
bool weir_run_notify_(struct weir_waiter_ *w);

/*
 * The lock of a runner, a loop or a thread.  The lock lies in static memory,
 * because a cancelling thread may take it after the runner has ended.  Lock
 * order: a runner, then a semaphore.
 */
void weir_run_lock_(const void *runner);
void weir_run_unlock_(const void *runner);

/*
 * Take a decided operation away from its runner.  Waits until the operation has
 * been notified.  Returns false if its callback has started.
 */
bool weir_run_take_(struct weir_waiter_ *w);

/*
 * Take the first ready operation of a loop and set it to RUNNING.  Returns null
 * if no operation is ready.
 */
struct weir_waiter_ *weir_run_next_(weir_loop *loop);

/* Finish w and call its callback. */
void weir_run_callback_(struct weir_waiter_ *w);

#endif /* WEIR_ASYNC_RUN_H */
