/* SPDX-License-Identifier: MIT */
#ifndef WEIR_POSIX_CANCEL_H
#define WEIR_POSIX_CANCEL_H

#include <pthread.h>

#include "weir/ctx.h"

/*
 * sem_wait(3) is a thread-cancellation point; weir's acquire is not.  A thread
 * that waits has a context, and lists it here.  pthread_cancel(3), which
 * libweir-posix replaces, ends the context of the thread.  The wait then fails,
 * and the thread acts on the cancellation itself.  No wait is unwound.
 */
struct weir_posix_wait_ {
	struct weir_posix_wait_ *prev, *next;
	pthread_t thread;
	weir_ctx ctx;
};

/* List the wait of this thread, with a new context; remove it from the list. */
void weir_posix_wait_begin_(struct weir_posix_wait_ *wait);
void weir_posix_wait_end_(struct weir_posix_wait_ *wait);

/* Called after pthread_cancel(thread). */
void weir_posix_cancelled_(pthread_t thread);

/*
 * Called in the child of a fork, with the lock held.  No other thread exists there.
 * This thread waits if the fork was made by a signal handler in its wait: that wait
 * remains in the list.
 */
void weir_posix_cancel_reset_(void);

#endif /* WEIR_POSIX_CANCEL_H */
