/* SPDX-License-Identifier: MIT */
/* CPUs: which, how many, and how to wait for one another. */
#include "base/cpu.h"

#include <errno.h>
#include <sched.h>

#include "base/futex.h"

#define SPIN_ROUNDS 6u		/* 1, 2, 4 ... 32 pauses */
#define NAP_NS 1000000u		/* the longest nap */

uint8_t weir_cpu_(void)
{
	int saved = errno;
	int cpu = sched_getcpu();

	errno = saved;
	if (cpu < 0)
		return 0;
	return (uint8_t)(cpu % 15 + 1);
}

/*
 * How many CPUs the process was given.  Asked at load time: later on, a thread
 * may have been bound to one of them and see no other.
 */
static uint32_t cpus = 1;

__attribute__((constructor)) static void count_cpus(void)
{
	cpu_set_t set;
	int saved = errno;

	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		cpus = (uint32_t)CPU_COUNT(&set);
	errno = saved;
}

bool weir_cpu_has_others_(void)
{
	return cpus > 1;
}

/*
 * To yield is for whoever is waited for on this very CPU, and once is enough: a
 * Linux of today (6.18) takes the rest of its slice from a thread that yields, 3 ms
 * each time where others want the CPU.  One that naps loses nothing.
 */
void weir_backoff_wait_(struct weir_backoff_ *backoff)
{
	uint32_t round = backoff->rounds++;
	uint32_t spins = weir_cpu_has_others_() ? SPIN_ROUNDS : 0;

	if (round < spins) {
		for (uint32_t i = 0; i < 1u << round; i++)
			weir_cpu_pause_();
	} else if (round == spins) {
		int saved = errno;

		sched_yield();
		errno = saved;
	} else {
		uint32_t shift = round - spins - 1;

		/* nanosleep would be a thread-cancellation point. */
		weir_futex_nap_(NAP_NS >> (shift < 10 ? 10 - shift : 0));
	}
}

/* A wait ends by itself here; only the schedule explorer's would not. */
void weir_backoff_recheck_(struct weir_backoff_ *backoff)
{
	(void)backoff;
}
