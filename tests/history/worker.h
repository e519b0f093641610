/* SPDX-License-Identifier: MIT */
/* What the recorder (record.c) and its threads (worker.c) share. */
#ifndef TESTS_HISTORY_WORKER_H
#define TESTS_HISTORY_WORKER_H

#include "record.h"
#include "weir/ctx.h"

#define CALLS_MAX 512		/* of one thread in one run */

typedef struct run {
	uint64_t stamp __attribute__((aligned(64)));	/* atomic: the next */
	weir_sem sem __attribute__((aligned(64)));
	weir_ctx group[HISTORY_GROUPS];
	struct shape shape;
	uint32_t finished;	/* atomic: threads that are through */
	uint32_t endless;	/* atomic: threads that wait for a cancel */
} run;

typedef struct worker {
	run *run;
	int number;
	uint64_t random;
	int64_t held;
	op log[CALLS_MAX];
	int calls;
	weir_ctx ctx[CALLS_MAX];	/* one for each call that has one */
	int contexts;			/* atomic: made so far in this run */
} worker;

extern worker workers[HISTORY_THREADS];

/* An operation of w, begun; and ended. */
op *worker_begin(worker *w, op_kind kind);
void worker_end(worker *w, op *o, weir_err err);

/* All calls of one thread in one run. */
void worker_run(worker *w);

/* The hook that sees when a call begins to wait. */
void worker_listen(void);
void worker_stop_listening(void);

/* Operations that the recorder also uses. */
void worker_cancel_group(worker *w, int group);
void worker_close(worker *w, weir_close how);

#endif /* TESTS_HISTORY_WORKER_H */
