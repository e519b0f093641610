/* SPDX-License-Identifier: MIT */
/*
 * Threads that do seeded random things to one semaphore, each writing down what
 * it asks and what it is answered.
 */
#ifndef TESTS_HISTORY_RECORD_H
#define TESTS_HISTORY_RECORD_H

#include "history.h"

#define WORKERS_MAX (HISTORY_THREADS - 1)

/* What a run is like. */
struct shape {
	int workers;
	int calls;		/* of each */
	int permits;
	int heaviest;		/* request */
	weir_policy policy;
	uint32_t barge_us;
	bool overdue;		/* barge_us may pass while the run lasts */
	bool resizes;
	bool contexts;
	bool closes;
	weir_close how;
	uint64_t seed;
};

/* The pool: started once, so that its memory is there once. */
void record_start(void);
void record_stop(void);

/*
 * One run.  The history is good until the next one.  Fails the test if a thread
 * does not come back, if in the end permits are missing or somebody waits, or
 * if a call used the heap.
 */
history record_run(const struct shape *shape);

/* Calls of the allocator so far, by anybody in this program. */
int64_t record_allocations(void);

#endif /* TESTS_HISTORY_RECORD_H */
