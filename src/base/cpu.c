/* SPDX-License-Identifier: MIT */
/*
 * The number of the current CPU, the number of CPUs, and backoff while waiting.
 */
#include "base/cpu.h"

#include <errno.h>
#include <sched.h>

#include "base/futex.h"

#define SPIN_ROUNDS 6u		/* 1, 2, 4 ... 32 pauses */
#define NAP_NS 1000000u		/* longest nap */

/* Returns the current CPU; -1 if it is unknown.  Preserves errno. */
static int current_cpu(void)
{
	int saved = errno;
	int cpu = sched_getcpu();

	errno = saved;
	return cpu;
}

/*
 * The number of CPUs that this process may run on, and a number above all of
 * theirs.  Both are determined at load time: later, the calling thread may be
 * bound to one CPU, and sched_getaffinity would report only that one.
 */
static uint32_t cpus = 1, span = 1;

__attribute__((constructor)) static void count_cpus(void)
{
	cpu_set_t set;
	int saved = errno;

	if (sched_getaffinity(0, sizeof(set), &set) == 0) {
		cpus = (uint32_t)CPU_COUNT(&set);
		for (uint32_t i = 0; i < CPU_SETSIZE; i++)
			if (CPU_ISSET(i, &set))
				span = i + 1;
	}
	errno = saved;
}

uint8_t weir_cpu_(void)
{
	int cpu;

	/* The hints have no use then: weir_cpu_has_others_. */
	if (cpus == 1)
		return 1;
	cpu = current_cpu();
	return cpu < 0 ? 0 : (uint8_t)((uint32_t)cpu % 15 + 1);
}

uint32_t weir_cpu_number_(void)
{
	int cpu = current_cpu();

	return cpu < 0 ? 0 : (uint32_t)cpu;
}

uint32_t weir_cpu_span_(void)
{
	return span;
}

bool weir_cpu_has_others_(void)
{
	return cpus > 1;
}

void weir_cpu_yield_(void)
{
	int saved = errno;

	sched_yield();
	errno = saved;
}

/*
 * The backoff yields only once.  A yield helps if the awaited thread is queued
 * on this CPU; a second yield adds nothing.  A thread that yields loses the
 * rest of its time slice (Linux 6.18): 3 ms each time, if other threads want
 * the CPU.  A thread that naps keeps its time slice.
 */
void weir_backoff_wait_(struct weir_backoff_ *backoff)
{
	uint32_t round = backoff->rounds++;
	uint32_t spins = weir_cpu_has_others_() ? SPIN_ROUNDS : 0;

	if (round < spins) {
		for (uint32_t i = 0; i < 1u << round; i++)
			weir_cpu_pause_();
	} else if (round == spins) {
		weir_cpu_yield_();
	} else {
		uint32_t shift = round - spins - 1;

		/*
		 * Do not use nanosleep, which is a thread-cancellation point.
		 */
		weir_futex_nap_(NAP_NS >> (shift < 10 ? 10 - shift : 0));
	}
}

/*
 * This does nothing, because every wait here is bounded in time.  In the
 * schedule explorer a wait lasts until another thread changes the memory that
 * was read.
 */
void weir_backoff_recheck_(struct weir_backoff_ *backoff)
{
	(void)backoff;
}
