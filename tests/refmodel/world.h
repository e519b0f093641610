/* SPDX-License-Identifier: MIT */
/*
 * One semaphore, its model and the threads that wait: each operation is done to
 * both, and everything that can be seen is compared before the next.
 */
#ifndef TESTS_REFMODEL_WORLD_H
#define TESTS_REFMODEL_WORLD_H

#include "model.h"
#include "pool.h"

#define LOG_SIZE 20
#define LOG_LINE 120

typedef struct world {
	weir_sem sem;
	model m;
	weir_policy policy;
	bool overdue;		/* barging with a bound that is always past */
	weir_ctx root;		/* parent of every ctx */
	pool_worker pool[POOL_SIZE];
	uint64_t random;
	int64_t step;
	char log[LOG_SIZE][LOG_LINE];	/* the last operations */
} world;

/* Note an operation before it is done; it is printed if something is wrong. */
__attribute__((format(printf, 2, 3)))
void world_log(world *w, const char *format, ...);

/* Print the log also if the program runs out of time. */
void world_watch(world *w);
void world_unwatch(void);

void world_expect(world *w, const char *what, int64_t got, int64_t want);
#define EXPECT(w, got, want)                                                   \
	world_expect(w, #got, (int64_t)(got), (int64_t)(want))

/*
 * After an operation: let every thread that must return do so, compare, and
 * count the step.
 * at_once: what the operation decided must be visible already.
 */
void world_settle(world *w, bool at_once);

/* A thread of the pool that has nothing to do; null if none. */
pool_worker *world_idle_worker(world *w);

#endif /* TESTS_REFMODEL_WORLD_H */
