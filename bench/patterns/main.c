/* SPDX-License-Identifier: MIT */
/* The workloads of the patterns, and the threads that run until stopped. */
#include <sys/resource.h>

#include "patterns.h"

#define WINDOWS_MAX 100

struct crowd crowd;

/* Returns the number of context switches of this process. */
static int64_t switches(void)
{
	struct rusage used;

	must(getrusage(RUSAGE_SELF, &used) == 0, "getrusage");
	return used.ru_nvcsw + used.ru_nivcsw;
}

static uint64_t sample(int threads)
{
	uint64_t total = 0;

	for (int i = 0; i < threads; i++)
		total += at_get(&crowd.shares[i].done);
	return total;
}

void crowd_measure(const struct bench_args *args, int threads,
		   bench_thread_fn *fn)
{
	int64_t from, to, switched, used;
	uint64_t before, after;
	int windows = 0;

	must(threads <= SHARES_MAX, "too many threads");
	bench_start(args, threads, fn, NULL);
	sleep_ms(args->warm);
	switched = switches();
	used = cpu_ns();
	before = sample(threads);
	from = now_ns();
	/* On a busy machine the first operation may take longer. */
	do {
		sleep_ms(args->ms);
		after = sample(threads);
	} while (after == before && ++windows < WINDOWS_MAX);
	to = now_ns();
	used = cpu_ns() - used;
	switched = switches() - switched;
	at_set(&crowd.stop, 1);
	bench_join();
	must(after > before, "no thread made progress");
	printf("{\"ns\": %.3f, \"cpu\": %.3f, \"switches\": %.5f}\n",
	       (double)(to - from) / (double)(after - before),
	       (double)used / (double)(after - before),
	       (double)switched / (double)(after - before));
}

int main(int argc, char **argv)
{
	struct bench_args args = bench_args(argc, argv);

	if (!strcmp(args.workload, "chan"))
		measure_chan(&args);
	else if (!strcmp(args.workload, "rwlock"))
		measure_rwlock(&args);
	else if (!strcmp(args.workload, "sharded"))
		measure_sharded(&args);
	else if (!strcmp(args.workload, "group"))
		measure_group(&args);
	else if (!strcmp(args.workload, "limit"))
		measure_limit(&args);
	else
		bench_cannot(args.workload);
	return 0;
}
