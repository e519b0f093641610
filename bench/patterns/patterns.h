/* SPDX-License-Identifier: MIT */
/*
 * What is measured of the patterns: weir's, and what stands beside them in C.
 *
 *     chan.c    items through a bounded channel
 *     rwlock.c  a reader-writer lock around an addition
 *     others.c  tasks of a group, tokens of a rate limit
 *     main.c    which of these, and threads that work until told to stop
 *
 * Peers in other languages answer to the same workloads: bench/peers.
 */
#ifndef BENCH_PATTERNS_H
#define BENCH_PATTERNS_H

#include "support.h"

/* What a thread has done; on lines of its own. */
struct share {
	uint64_t done;		/* read by the one that looks on */
	uint64_t sum;		/* of what it sent or received, at its end */
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
 * Threads that run fn, numbered from 0.  What is printed is the time, and how often
 * the kernel switched threads, for each that they counted in args->ms, after the
 * warm-up.  Then they are told to stop.
 */
void crowd_measure(const struct bench_args *args, int threads,
		   bench_thread_fn *fn);

void measure_chan(const struct bench_args *args);
void measure_rwlock(const struct bench_args *args);
void measure_group(const struct bench_args *args);
void measure_limit(const struct bench_args *args);

#endif /* BENCH_PATTERNS_H */
