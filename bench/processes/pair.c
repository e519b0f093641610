/* SPDX-License-Identifier: MIT */
/* Uncontended acquire and release. */
#include "processes.h"

void measure_pair(const struct bench_args *args, const struct kind *kind)
{
	kind->make();
	/* glibc omits atomics in single-threaded processes. */
	bench_second_thread();
	printf("{\"ns\": %.3f}\n", bench_repeat(args, kind->pairs, NULL));
}
