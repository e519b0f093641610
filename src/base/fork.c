/* SPDX-License-Identifier: MIT */
/*
 * Counts forks.  The handler is registered at load time, because pthread_atfork
 * allocates memory and a wait must not (C26).  If the registration fails,
 * process ids distinguish the processes; that costs a system call each time.
 */
#include "base/fork.h"

#include <pthread.h>
#include <unistd.h>

#include "base/atomic.h"

uint32_t weir_generation_ = 1;
static pid_t loaded_by;		/* 0: forks are counted */

static void count_fork(void)
{
	/* relaxed: the child has one thread at this moment. */
	at_add_relaxed(&weir_generation_, 1);
}

__attribute__((constructor)) static void register_fork_handler(void)
{
	if (pthread_atfork(NULL, NULL, count_fork))
		loaded_by = getpid();
}

uint32_t weir_forks_(void)
{
	if (loaded_by)
		return (uint32_t)getpid() ^ (uint32_t)loaded_by;
	/* relaxed: changes only while the process has one thread. */
	return at_load_relaxed(&weir_generation_) - 1;
}
