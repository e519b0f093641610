/* SPDX-License-Identifier: MIT */
/* Acquire and release with nobody in the way. */
#include "processes.h"

void measure_pair(const struct bench_args *args, const struct kind *kind)
{
	kind->make();
	/* glibc leaves out atomics where there is one thread. */
	bench_second_thread();
	printf("{\"ns\": %.3f}\n", bench_repeat(args, kind->pairs, NULL));
}
