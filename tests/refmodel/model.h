/* SPDX-License-Identifier: MIT */
/*
 * The contract as a sequential model: one operation at a time, no threads.
 * Each function changes the state as the contract says, returns what the
 * library's call must return, and lists the waiting calls that end because of
 * it.
 *
 * The model has no state between a grant and the return of the call, so granted
 * permits count as held.
 */
#ifndef TESTS_REFMODEL_MODEL_H
#define TESTS_REFMODEL_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "weir/sem.h"

#define MODEL_MAX 32			/* maximum number of waiting calls */
#define MODEL_WAITS ((weir_err)1)	/* the call waits, on a list */

typedef struct model_call {
	int id;
	int64_t min, max;
	int ctx;		/* number of its context; 0: none */
	bool idle;		/* waits for idle, not for permits */
	bool moved;		/* a resize moved it into the queue */
} model_call;

typedef struct model_list {
	model_call call[MODEL_MAX];
	int count;
} model_list;

typedef struct model_end {
	int id;
	weir_err err;
	int64_t got;
} model_end;

/* The state of a semaphore; `queue` and `oversized` are its waiters. */
typedef struct model {
	int64_t capacity, free, held, debt;
	bool unbounded, barging, closed, drain;
	int max_waiters;
	model_list queue, oversized;
	model_end ended[MODEL_MAX];	/* by the last operation */
	int ends;
} model;

weir_err model_acquire(model *m, model_call call, weir_err ctx, bool late,
		       int64_t *got);
weir_err model_try(model *m, int64_t n);
weir_err model_release(model *m, int64_t n);
weir_err model_resize(model *m, int64_t n, int64_t *debt);
weir_err model_forget(model *m, int64_t n);
weir_err model_wait_idle(model *m, model_call call, weir_err ctx);
void model_close(model *m, weir_close how);

/* Cancel the contexts in ctxs, a set with one bit for each number. */
void model_cancel(model *m, uint32_t ctxs);

/*
 * Record that the current operation ends a call that is on none of the lists.
 */
void model_end_call(model *m, int id, weir_err err, int64_t got);

int64_t model_waiting_permits(const model *m);

#endif /* TESTS_REFMODEL_MODEL_H */
