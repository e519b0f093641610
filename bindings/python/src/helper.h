/* SPDX-License-Identifier: MIT */
#ifndef WEIRPY_HELPER_H
#define WEIRPY_HELPER_H

/*
 * The waits of asyncio tasks for a semaphore between processes.
 *
 * libweir has no asynchronous acquire between processes.  So the tasks that wait
 * for one NamedSemaphore share a helper thread.  It acquires for one task after
 * the other, in order of arrival, and exists while tasks wait.  It uses no
 * Python object and does not need the GIL.
 *
 * Every function is called with the GIL held.
 */
#include <stdbool.h>
#include <stdint.h>

#include "weir/async.h"
#include "weir/loop.h"
#include "weir/named.h"

struct weirpy_queue;
struct weirpy_request;

/* Returns null if memory is exhausted. */
struct weirpy_queue *weirpy_queue_new(weir_named *sem);
/*
 * Wait until the helper has ended, and free the queue.  Releases the GIL.
 * Requires: no request is submitted.  A null queue does not exist.
 */
void weirpy_queue_free(struct weirpy_queue *queue);
/* Whether the queue was inherited by a fork: its requests do not exist. */
bool weirpy_queue_is_stale(const struct weirpy_queue *queue);
/* Whether a task waits. */
bool weirpy_queue_is_used(struct weirpy_queue *queue);

/*
 * Request n permits.  fn(op, WEIR_OK, user) runs in a dispatch of the loop; the
 * outcome is weirpy_request_err then.  Returns null, with *err set, if that
 * failed.
 */
struct weirpy_request *weirpy_request_new(struct weirpy_queue *queue,
					  int64_t n, weir_loop *loop,
					  weir_op_fn *fn, void *user,
					  weir_err *err);
weir_err weirpy_request_err(const struct weirpy_request *r, int *errnum);
/* Returns true if fn will not run; nothing is held then. */
bool weirpy_request_cancel(struct weirpy_request *r);
/* Free a request that has ended or was cancelled. */
void weirpy_request_free(struct weirpy_request *r);

#endif /* WEIRPY_HELPER_H */
