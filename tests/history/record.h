/* SPDX-License-Identifier: MIT */
/*
 * Threads that make seeded random calls on one semaphore.  Each thread records
 * its calls and their results.
 */
#ifndef TESTS_HISTORY_RECORD_H
#define TESTS_HISTORY_RECORD_H

#include "history.h"

#define WORKERS_MAX (HISTORY_THREADS - 1)

/* The parameters of a run. */
struct shape {
	int workers;
	int calls;		/* calls of each thread */
	int permits;
	int heaviest;		/* largest request */
	weir_policy policy;
	uint32_t barge_us;
	bool overdue;		/* barge_us may pass during the run */
	bool resizes;
	bool contexts;
	bool closes;
	weir_close how;
	uint64_t seed;
};

/* The thread pool: started once, so that its memory is allocated once. */
void record_start(void);
void record_stop(void);

/*
 * Run once.  The history is valid until the next run.  Fails the test if a
 * thread does not return, if permits are missing or a call waits in the end, or
 * if a call used the heap.
 */
history record_run(const struct shape *shape);

/* Number of allocator calls so far, by any thread of this program. */
int64_t record_allocations(void);

#endif /* TESTS_HISTORY_RECORD_H */
