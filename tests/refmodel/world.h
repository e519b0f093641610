/* SPDX-License-Identifier: MIT */
/*
 * Semaphores, their models, contexts, permits and waiting threads.  Each
 * operation is applied to the library and to the model, and all visible state
 * is compared before the next operation.
 *
 * A world is one semaphore with its threads; a scene is the state that worlds
 * share.
 */
#ifndef TESTS_REFMODEL_WORLD_H
#define TESTS_REFMODEL_WORLD_H

#include "model.h"
#include "pool.h"
#include "source.h"
#include "tree.h"
#include "weir/permit.h"

#define WORLDS 2
#define HOLDS 5
#define LOG_SIZE 20
#define LOG_LINE 120

typedef struct world world;

/* A permit object and its expected content. */
typedef struct hold {
	weir_permit permit;
	world *of;		/* null: empty */
	int64_t n;
	bool owned;
} hold;

typedef struct scene {
	source from;
	world *world[WORLDS];
	int worlds;
	tree tree;
	hold hold[HOLDS];
	int64_t patience_ns;	/* timeout for a call that must end */
	int64_t step;
	char log[LOG_SIZE][LOG_LINE];	/* the most recent operations */
} scene;

struct world {
	scene *scene;
	weir_sem *sem;
	weir_sem own;		/* used unless *sem is on the heap */
	model m;
	weir_policy policy;
	bool overdue;		/* BARGING, bound always passed */
	pool_worker pool[POOL_SIZE];
};

/* Log an operation before it runs; the log is printed on failure. */
__attribute__((format(printf, 2, 3)))
void world_log(world *w, const char *format, ...);

/* Print the log also if the program exceeds its time limit. */
void world_watch(world *w);
void world_unwatch(void);

void world_expect(world *w, const char *what, int64_t got, int64_t want);
#define EXPECT(w, got, want)                                                   \
	world_expect(w, #got, (int64_t)(got), (int64_t)(want))

/*
 * Called after an operation: wait for every call that must return, compare, and
 * count the step.
 *
 * at_once: the effects of the operation must be visible immediately.
 */
void world_settle(world *w, bool at_once);

/* Pause while waiting for a condition; fails if it takes too long. */
void world_nap(world *w, const char *what, int64_t *started);

/* An idle thread of the pool, or null. */
pool_worker *world_idle_worker(world *w);

/* The panic hook outside the pair below: fails the test. */
void world_no_panic(const char *message);

/* The calls between these two must panic `count` times. */
void world_expect_panics(int count);
void world_check_panics(world *w);

#endif /* TESTS_REFMODEL_WORLD_H */
