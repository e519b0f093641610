/* SPDX-License-Identifier: MIT */
/* The workloads of the patterns, and the threads that run until stopped. */
#include <sys/resource.h>
#include <time.h>

#include "patterns.h"

#define WINDOWS_MAX 100
#define BUSY_MAX 64

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

/* The threads beside the measured ones. */
static pthread_t beside[BUSY_MAX];

static void *use_cpu(void *arg)
{
	uint64_t x = 1;

	while (!stopped())
		x = busy(x, 1000);
	return arg;
}

/* Returns the CPU time of the measured threads. */
static int64_t measured_cpu_ns(const struct bench_args *args)
{
	int64_t used = cpu_ns();

	for (int64_t i = 0; i < args->busy; i++) {
		struct timespec t;
		clockid_t clock;

		must(!pthread_getcpuclockid(beside[i], &clock) &&
		     !clock_gettime(clock, &t), "clock of a thread");
		used -= (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
	}
	return used;
}

void crowd_measure(const struct bench_args *args, int threads,
		   bench_thread_fn *fn)
{
	int64_t from, to, switched, used;
	uint64_t before, after;
	int windows = 0;

	must(threads <= SHARES_MAX && args->busy <= BUSY_MAX,
	     "too many threads");
	for (int64_t i = 0; i < args->busy; i++)
		must(!pthread_create(&beside[i], NULL, use_cpu, NULL), "thread");
	bench_start(args, threads, fn, NULL);
	sleep_ms(args->warm);
	switched = switches();
	used = measured_cpu_ns(args);
	before = sample(threads);
	from = now_ns();
	/* On a busy machine the first operation may take longer. */
	do {
		sleep_ms(args->ms);
		after = sample(threads);
	} while (after == before && ++windows < WINDOWS_MAX);
	to = now_ns();
	used = measured_cpu_ns(args) - used;
	switched = switches() - switched;
	at_set(&crowd.stop, 1);
	bench_join();
	for (int64_t i = 0; i < args->busy; i++)
		must(!pthread_join(beside[i], NULL), "join");
	must(after > before, "no thread made progress");
	printf("{\"ns\": %.3f, \"cpu\": %.3f",
	       (double)(to - from) / (double)(after - before),
	       (double)used / (double)(after - before));
	/* The switches of the busy threads are not known. */
	if (!args->busy)
		printf(", \"switches\": %.5f",
		       (double)switched / (double)(after - before));
	printf("}\n");
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
