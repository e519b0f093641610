/* SPDX-License-Identifier: MIT */
#include "posix/lock.h"

#include <pthread.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/lock.h"

static uint32_t lock;

void weir_posix_lock_(sigset_t *before)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, before);
	weir_lock_(&lock);
}

void weir_posix_unlock_(const sigset_t *before)
{
	weir_unlock_(&lock);
	pthread_sigmask(SIG_SETMASK, before, NULL);
}

void weir_posix_lock_reset_(const sigset_t *before)
{
	/* relaxed: the child has one thread at this moment. */
	at_store_relaxed(&lock, 0);
	pthread_sigmask(SIG_SETMASK, before, NULL);
}
