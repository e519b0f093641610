/* SPDX-License-Identifier: MIT */
/*
 * Measuring one thing against another.
 *
 * Rounds are outermost, and within a round every contestant runs once, in random
 * order: what disturbs the machine then disturbs all of them.  Ratios are formed
 * within a round.  Reported are the median over the rounds and the range of the
 * middle half.  A run during which the thread lost the CPU is thrown away and
 * repeated.
 */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <stdint.h>

struct contestant {
	const char *name;
	/* Do the measured thing `times` times; arg is the one given below. */
	void (*run)(void *arg, int64_t times);
	void *arg;
};

/*
 * Measure them and print a table: a line each with its nanoseconds per time and
 * its ratio to the first contestant, the yardstick.
 */
void bench_compare(const struct contestant *contestants, int count);

#endif /* BENCH_BENCH_H */
