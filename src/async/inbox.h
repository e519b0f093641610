/* SPDX-License-Identifier: MIT */
#ifndef WEIR_ASYNC_INBOX_H
#define WEIR_ASYNC_INBOX_H

#include "core/waiter.h"
#include "weir/loop.h"

/*
 * The inbox of a loop: a lock-free stack to which any thread, also in a signal
 * handler, passes notified operations.
 */

/*
 * Pass w to the loop.  Async-signal-safe.  The push is the last access to *w.
 */
void weir_inbox_push_(weir_loop *loop, struct weir_waiter_ *w);

/*
 * Append the operations of the inbox to the loop's ready list, oldest first,
 * and set them to NOTIFIED.  Requires: the loop's lock (run.h) is held.
 */
void weir_inbox_empty_(weir_loop *loop);

/*
 * Make the loop's descriptor readable.  The loop cannot be destroyed meanwhile.
 */
void weir_inbox_raise_(weir_loop *loop);

#endif /* WEIR_ASYNC_INBOX_H */
