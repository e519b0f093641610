/* SPDX-License-Identifier: MIT */
/*
 * The contract as a sequential model: one operation at a time, no threads.
 * Each function does to the state what the contract says, answers what the call
 * answers, and lists the waiting calls that end by it.
 *
 * Everything that is out counts as held: the model has no instant between a
 * grant and the return of the call.
 */
#ifndef TESTS_REFMODEL_MODEL_H
#define TESTS_REFMODEL_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "weir/sem.h"

#define MODEL_MAX 32			/* most calls that can wait */
#define MODEL_WAITS ((weir_err)1)	/* the call has joined a list */

typedef struct model_call {
	int id;
	int64_t min, max;
	int ctx;		/* number of its context; 0: none */
	bool idle;		/* waits for idleness, not for permits */
	bool moved;		/* into the queue, by a resize */
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

/* N, F, held, debt, Q, and those aside: the words of the contract. */
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

/* These contexts have been cancelled: one bit for each number. */
void model_cancel(model *m, uint32_t ctxs);

/* A call that this operation ends, besides those on the model's lists. */
void model_end_call(model *m, int id, weir_err err, int64_t got);

int64_t model_waiting_permits(const model *m);

#endif /* TESTS_REFMODEL_MODEL_H */
