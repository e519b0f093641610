/* SPDX-License-Identifier: MIT */
/*
 * Counts forks.  The handler is registered at load time, because pthread_atfork
 * allocates memory and a wait must not (C26).  If the registration fails, each
 * call compares the process id with that of the call before, and a difference
 * counts as one fork; that costs a system call each time.  A process id cannot
 * be the count itself: a waiter stores 8 bits of the count, and the ids of a
 * parent and a child may be equal in these bits.
 */
#include "base/fork.h"

#include <pthread.h>
#include <unistd.h>

#include "base/atomic.h"

uint32_t weir_generation_ = 1;
/*
 * Forks without a handler: the process id of the last call in the low half, the
 * forks before it in the high half.  0: the handler is registered.
 */
static uint64_t last_call;

static void count_fork(void)
{
	/* relaxed: the child has one thread at this moment. */
	at_add_relaxed(&weir_generation_, 1);
}

__attribute__((constructor)) static void register_fork_handler(void)
{
	if (pthread_atfork(NULL, NULL, count_fork))
		last_call = (uint32_t)getpid();
}

static uint32_t count_by_pid(uint64_t last)
{
	uint32_t pid = (uint32_t)getpid();

	/* relaxed: the word publishes no other memory. */
	while ((uint32_t)last != pid) {
		uint64_t forks = (last >> 32) + 1;

		if (at_cas_weak_relaxed(&last_call, &last, forks << 32 | pid))
			return (uint32_t)forks;
	}
	return (uint32_t)(last >> 32);
}

uint32_t weir_forks_(void)
{
	/* relaxed: it changes from 0 only before main. */
	uint64_t last = at_load_relaxed(&last_call);

	if (last)
		return count_by_pid(last);
	/* relaxed: changes only while the process has one thread. */
	return at_load_relaxed(&weir_generation_) - 1;
}
