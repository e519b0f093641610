/* SPDX-License-Identifier: MIT */
#ifndef WEIR_POSIX_WATCH_H
#define WEIR_POSIX_WATCH_H

#include <stdint.h>

#include "weir/sem.h"

/*
 * Diagnostics of sem_t: docs/design/posix.md, "Diagnostics".
 *
 * A sem_t has no capacity, and any thread may post it.  A reader may conclude
 * from the value that sem_init was given:
 *
 *   0      A signal.  It has waiters and no holders.
 *   1      A lock, as long as it is used as one: the thread whose wait returned
 *          is its holder.  After a post by a thread that holds nothing, or a
 *          wait by its holder, it is no lock: another thread may release it.
 *   more   A pool or a ring.  The threads whose waits returned are listed, but
 *          another thread may release for them.
 */

/*
 * Watch a semaphore that was just initialised, unless WEIR_DIAG forbids it.
 * `caller`: the call of sem_init.  Requires: no other thread can reach *sem, and
 * the lock of posix/lock.h is held.
 */
void weir_posix_watch_(weir_sem *sem, const void *caller);

/* Called before a thread waits for *sem. */
void weir_posix_watch_wait_(const weir_sem *sem);

#endif /* WEIR_POSIX_WATCH_H */
