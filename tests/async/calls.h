/* SPDX-License-Identifier: MIT */
#ifndef TESTS_ASYNC_CALLS_H
#define TESTS_ASYNC_CALLS_H

/* An operation whose callback records its result, its thread and its turn. */
#include "check.h"
#include "weir/async.h"
#include "weir/ctx.h"
#include "weir/loop.h"

struct call {
	weir_op op;
	int ran;		/* how often the callback ran */
	weir_err err;
	int turn;		/* number of callbacks that ran before */
	pthread_t on;		/* the thread that ran the callback */
};

extern int calls_ran;		/* callbacks since calls_from_zero */

void calls_from_zero(void);
void call_ran(weir_op *op, weir_err err, void *user);

/* call_queue: initialise and submit; the operation must be queued. */
void call_init(struct call *c, weir_loop *loop);
void call_queue(struct call *c, weir_loop *loop, weir_sem *sem, int64_t n,
		struct weir_ctx *ctx);

/* Check that the callback ran once, with this result. */
void call_was(const char *file, int line, const struct call *c, weir_err err);
#define CALL_WAS(c, err) call_was(__FILE__, __LINE__, (c), (err))

/* Returns true if the loop's descriptor is readable now. */
bool is_readable(const weir_loop *loop);

#endif /* TESTS_ASYNC_CALLS_H */
