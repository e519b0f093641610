/* SPDX-License-Identifier: MIT */
/* Implements support.h: command line, clock, repetition, percentiles. */
#include "support.h"

#include <errno.h>
#include <time.h>

#define CHUNK_NS 50000
#define CHUNKS_MAX 100000

void bench_die(const char *what)
{
	fprintf(stderr, "bench: failed: %s\n", what);
	exit(1);
}

void bench_cannot(const char *what)
{
	fprintf(stderr, "bench: not supported: %s\n", what);
	exit(3);
}

struct bench_args bench_args(int argc, char **argv)
{
	struct bench_args args = {
		.workload = argc > 1 ? argv[1] : "",
		.kind = "",
		.threads = 2,
		.capacity = 1,
		.ms = 100,
		.count = 1,
		.timeout = 1000,
	};
	const struct {
		const char *key;
		int64_t *value;
	} keys[] = {
		{ "threads", &args.threads }, { "capacity", &args.capacity },
		{ "section", &args.section }, { "ms", &args.ms },
		{ "warm", &args.warm }, { "count", &args.count },
		{ "timeout", &args.timeout }, { "pin", &args.pin },
		{ "ops", &args.ops }, { "writes", &args.writes },
		{ "busy", &args.busy },
	};

	for (int i = 2; i < argc; i++) {
		char *value = strchr(argv[i], '='), *end;
		size_t length = value ? (size_t)(value - argv[i]) : 0;
		bool known = false;

		must(value != NULL, "arguments must be key=value");
		value++;
		if (!strncmp(argv[i], "kind", length) && length == 4) {
			args.kind = value;
			continue;
		}
		for (size_t k = 0; k < sizeof(keys) / sizeof(*keys); k++) {
			if (strlen(keys[k].key) != length ||
			    strncmp(argv[i], keys[k].key, length))
				continue;
			*keys[k].value = strtoll(value, &end, 10);
			must(*value && !*end && *keys[k].value >= 0,
			     "a value must be a number");
			known = true;
		}
		must(known, "unknown argument");
	}
	must(args.threads > 0 && args.threads <= BENCH_THREADS_MAX,
	     "too many threads");
	return args;
}

static int64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	must(clock_gettime(clock, &now) == 0, "clock_gettime");
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

int64_t cpu_ns(void)
{
	return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

void sleep_ms(int64_t ms)
{
	struct timespec left = { ms / 1000, (long)(ms % 1000) * 1000000 };

	while (nanosleep(&left, &left) < 0 && errno == EINTR)
		;
}

/*
 * CPU time of the other threads.  The query itself takes CPU time if there are
 * thousands of threads, so that of the calling thread is excluded.
 */
static int64_t others_ns(void)
{
	return clock_ns(CLOCK_PROCESS_CPUTIME_ID) -
	       clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

void settle(void)
{
	int64_t before, used;

	do {
		before = others_ns();
		sleep_ms(2);
		used = others_ns() - before;
	} while (used > 100000);
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double bench_repeat(const struct bench_args *args, bench_repeat_fn *fn,
		    void *arg)
{
	static double chunk[CHUNKS_MAX];
	int64_t times = 16, start, end = 0, before, after;
	size_t chunks = 0;

	/* An exact number of operations, for counting instead of timing. */
	if (args->ops) {
		fn(arg, args->ops);
		return 0;
	}
	do {
		times *= 2;
		before = now_ns();
		fn(arg, times);
	} while (now_ns() - before < CHUNK_NS);
	start = now_ns();
	end = start + args->ms * 1000000;
	for (before = start; before < end && chunks < CHUNKS_MAX;
	     before = after) {
		fn(arg, times);
		after = now_ns();
		chunk[chunks++] = (double)(after - before) / (double)times;
	}
	qsort(chunk, chunks, sizeof(*chunk), ascending);
	return chunk[chunks / 2];
}

static void busy_many(void *arg, int64_t times)
{
	*(uint64_t *)arg = busy(*(uint64_t *)arg, times);
}

int64_t bench_busy_rounds(int64_t ns)
{
	const int64_t rounds = 10000;
	double best = 1e9;
	uint64_t x = 1;

	if (!ns)
		return 0;
	for (int i = 0; i < 50; i++) {
		int64_t before = now_ns();
		double took;

		busy_many(&x, rounds);
		took = (double)(now_ns() - before) / (double)rounds;
		if (took < best)
			best = took;
	}
	return (int64_t)((double)ns / best + 0.5);
}

/* One bucket for each value below 64; above, 32 for each power of two. */
static unsigned bucket_of(uint64_t ns)
{
	unsigned high;

	if (ns < 64)
		return (unsigned)ns;
	high = 63u - (unsigned)__builtin_clzll(ns);
	return 64 + (high - 6) * 32 + (unsigned)(ns >> (high - 5) & 31);
}

static double bucket_middle(unsigned bucket)
{
	unsigned high;

	if (bucket < 64)
		return bucket;
	high = (bucket - 64) / 32 + 6;
	return ((double)(32 + (bucket - 64) % 32) + 0.5) *
	       (double)(UINT64_C(1) << (high - 5));
}

void bench_times_add(struct bench_times *times, int64_t ns)
{
	times->bucket[bucket_of((uint64_t)ns)]++;
	times->count++;
	if (ns > times->max)
		times->max = ns;
}

void bench_times_merge(struct bench_times *into, const struct bench_times *from)
{
	for (int i = 0; i < BENCH_BUCKETS; i++)
		into->bucket[i] += from->bucket[i];
	into->count += from->count;
	if (from->max > into->max)
		into->max = from->max;
}

static double percentile(const struct bench_times *times, double part)
{
	uint64_t want = (uint64_t)((double)times->count * part), seen = 0;

	for (unsigned i = 0; i < BENCH_BUCKETS; i++) {
		seen += times->bucket[i];
		if (seen > want)
			return bucket_middle(i);
	}
	return (double)times->max;
}

void bench_times_print(const struct bench_times *times)
{
	printf("\"p50\": %.0f, \"p90\": %.0f, \"p99\": %.0f, "
	       "\"p999\": %.0f, \"max\": %lld",
	       percentile(times, 0.5), percentile(times, 0.9),
	       percentile(times, 0.99), percentile(times, 0.999),
	       (long long)times->max);
}

/*
 * Jain's index: 1 if all shares are equal, 1/count if one share is everything.
 */
void bench_fairness_print(const uint64_t *shares, int count)
{
	uint64_t min = UINT64_MAX, max = 0;
	double sum = 0, squares = 0;

	for (int i = 0; i < count; i++) {
		double share = (double)shares[i];

		min = shares[i] < min ? shares[i] : min;
		max = shares[i] > max ? shares[i] : max;
		sum += share;
		squares += share * share;
	}
	printf("\"min_max\": %.4f, \"jain\": %.4f",
	       max ? (double)min / (double)max : 0,
	       squares > 0 ? sum * sum / (squares * count) : 0);
}
