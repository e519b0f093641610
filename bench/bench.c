/* SPDX-License-Identifier: MIT */
/* Measuring one thing against another: bench.h. */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define ROUNDS 41
#define ROUND_NS 10000000	/* about how long one run lasts */
#define CONTESTANTS_MAX 16
#define RETRIES 20

struct result {
	int64_t times;			/* per run */
	double ns[ROUNDS];		/* per time */
	double ratio[ROUNDS];		/* to the first contestant */
};

static double clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* One run: wall-clock nanoseconds per time. */
static double run_once(const struct contestant *who, int64_t times)
{
	double wall = 0, cpu;

	for (int i = 0; i < RETRIES; i++) {
		wall = clock_ns(CLOCK_MONOTONIC);
		cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		who->run(who->arg, times);
		cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
		wall = clock_ns(CLOCK_MONOTONIC) - wall;
		if (wall < cpu * 1.02)
			break;
	}
	return wall / (double)times;
}

/* How many times fill a run. */
static int64_t calibrate(const struct contestant *who)
{
	int64_t times = 1000;

	while (run_once(who, times) * (double)times < ROUND_NS / 2.0)
		times *= 2;
	return times;
}

static void shuffle(int *order, int count)
{
	for (int i = count - 1; i > 0; i--) {
		int k = (int)(random() % (i + 1));
		int moved = order[i];

		order[i] = order[k];
		order[k] = moved;
	}
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void bench_compare(const struct contestant *contestants, int count)
{
	static struct result results[CONTESTANTS_MAX];
	int order[CONTESTANTS_MAX];

	if (count > CONTESTANTS_MAX)
		abort();
	for (int i = 0; i < count; i++) {
		results[i].times = calibrate(&contestants[i]);
		order[i] = i;
	}
	for (int round = 0; round < ROUNDS; round++) {
		shuffle(order, count);
		for (int i = 0; i < count; i++)
			results[order[i]].ns[round] =
				run_once(&contestants[order[i]],
					 results[order[i]].times);
		for (int i = 0; i < count; i++)
			results[i].ratio[round] =
				results[i].ns[round] / results[0].ns[round];
	}
	printf("%-24s %8s %17s %8s %15s\n", "", "ns", "middle half", "ratio",
	       "middle half");
	for (int i = 0; i < count; i++) {
		double *ns = results[i].ns, *ratio = results[i].ratio;

		qsort(ns, ROUNDS, sizeof(*ns), ascending);
		qsort(ratio, ROUNDS, sizeof(*ratio), ascending);
		printf("%-24s %8.2f %8.2f-%8.2f %8.3f %7.3f-%7.3f\n",
		       contestants[i].name, ns[ROUNDS / 2], ns[ROUNDS / 4],
		       ns[ROUNDS - 1 - ROUNDS / 4], ratio[ROUNDS / 2],
		       ratio[ROUNDS / 4], ratio[ROUNDS - 1 - ROUNDS / 4]);
	}
}
