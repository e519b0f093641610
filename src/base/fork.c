/* SPDX-License-Identifier: MIT */
/* Counting forks.  The handler is set at load time: waits allocate nothing. */
#include "base/fork.h"

#include <pthread.h>

#include "base/atomic.h"

static uint32_t forks;

static void count_fork(void)
{
	/* relaxed: the child has one thread at this moment. */
	at_add_relaxed(&forks, 1);
}

__attribute__((constructor)) static void watch_forks(void)
{
	(void)pthread_atfork(NULL, NULL, count_fork);
}

uint32_t weir_forks_(void)
{
	/* relaxed: changes only while the process has one thread. */
	return at_load_relaxed(&forks);
}
