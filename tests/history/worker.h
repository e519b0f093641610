/* SPDX-License-Identifier: MIT */
/* Declarations shared by the recorder (record.c) and its threads (worker.c). */
#ifndef TESTS_HISTORY_WORKER_H
#define TESTS_HISTORY_WORKER_H

#include "record.h"
#include "weir/ctx.h"

#define CALLS_MAX 512		/* of one thread in one run */

typedef struct run {
	uint64_t stamp __attribute__((aligned(64)));	/* atomic: next */
	weir_sem sem __attribute__((aligned(64)));
	weir_ctx group[HISTORY_GROUPS];
	struct shape shape;
	uint32_t finished;	/* atomic: threads that have finished */
	uint32_t endless;	/* atomic: threads that wait for a cancel */
} run;

typedef struct worker {
	run *run;
	int number;
	uint64_t random;
	int64_t held;
	op log[CALLS_MAX];
	int calls;
	weir_ctx ctx[CALLS_MAX];	/* one for each call with a context */
	int contexts;			/* atomic: number of contexts so far */
} worker;

extern worker workers[HISTORY_THREADS];

/* Begin and end the record of a call of w. */
op *worker_begin(worker *w, op_kind kind);
void worker_end(worker *w, op *o, weir_err err);

/* Make all calls of one thread in one run. */
void worker_run(worker *w);

/* Set and clear the hook that records when a call begins to wait. */
void worker_listen(void);
void worker_stop_listening(void);

/* Calls that the recorder also makes. */
void worker_cancel_group(worker *w, int group);
void worker_close(worker *w, weir_close how);

#endif /* TESTS_HISTORY_WORKER_H */
