/* SPDX-License-Identifier: MIT */
/*
 * Semaphores, their models, contexts, permits and the threads that wait: each
 * operation is done to the library and to the model, and everything that can be
 * seen is compared before the next.
 *
 * A world is one semaphore and its threads; a scene is what worlds share.
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

/* A permit, and what it must hold. */
typedef struct hold {
	weir_permit permit;
	world *of;		/* null: nothing */
	int64_t n;
	bool owned;
} hold;

typedef struct scene {
	source from;
	world *world[WORLDS];
	int worlds;
	tree tree;
	hold hold[HOLDS];
	int64_t patience_ns;	/* for a call that has to end */
	int64_t step;
	char log[LOG_SIZE][LOG_LINE];	/* the last operations */
} scene;

struct world {
	scene *scene;
	weir_sem *sem;
	weir_sem own;		/* where it lies, unless it is on the heap */
	model m;
	weir_policy policy;
	bool overdue;		/* barging with a bound that is always past */
	pool_worker pool[POOL_SIZE];
};

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

/* Wait a little for what must come; it has come too late after a while. */
void world_nap(world *w, const char *what, int64_t *started);

/* A thread of the pool that has nothing to do; null if none. */
pool_worker *world_idle_worker(world *w);

/* The panic hook of the whole test: no panic is expected. */
void world_no_panic(const char *message);

/* Around a call: so many panics must come of it. */
void world_expect_panics(int count);
void world_check_panics(world *w);

#endif /* TESTS_REFMODEL_WORLD_H */
