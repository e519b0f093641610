/* SPDX-License-Identifier: MIT */
/*
 * Measurements of the patterns: weir's and their peers in C.
 *
 *     chan.c    items through a bounded channel
 *     rwlock.c  a reader-writer lock around an addition
 *     sharded.c a limit that is not reached, on several CPUs
 *     others.c  tasks of a group, tokens of a rate limit
 *     main.c    the choice of the workload, and its threads
 *
 * Peers in other languages support the same workloads: bench/peers.
 */
#ifndef BENCH_PATTERNS_H
#define BENCH_PATTERNS_H

#include "support.h"

/* The counters of a thread, on their own cache lines. */
struct share {
	uint64_t done;		/* operations; read by the main thread */
	uint64_t sum;		/* sum of the items sent or received */
} __attribute__((aligned(BENCH_LINE)));

#define SHARES_MAX 64

struct crowd {
	struct share shares[SHARES_MAX];
	uint64_t stop;
};
extern struct crowd crowd;

static inline bool stopped(void)
{
	return at_get(&crowd.stop);
}

static inline void count(struct share *mine, uint64_t n)
{
	at_set(&mine->done, mine->done + n);
}

/*
 * Run fn on threads numbered from 0, for args->ms after the warm-up, and stop
 * them.  Prints the time, the CPU time and the context switches for each
 * operation that they counted.  args->busy more threads use CPU time meanwhile;
 * then the context switches are not printed.
 */
void crowd_measure(const struct bench_args *args, int threads,
		   bench_thread_fn *fn);

void measure_chan(const struct bench_args *args);
void measure_rwlock(const struct bench_args *args);
void measure_sharded(const struct bench_args *args);
void measure_group(const struct bench_args *args);
void measure_limit(const struct bench_args *args);

#endif /* BENCH_PATTERNS_H */
