/* SPDX-License-Identifier: MIT */
#ifndef TESTS_ASYNC_CALLS_H
#define TESTS_ASYNC_CALLS_H

/* An operation whose callback notes what it was told, and when. */
#include "check.h"
#include "weir/async.h"
#include "weir/ctx.h"
#include "weir/loop.h"

struct call {
	weir_op op;
	int ran;		/* how often */
	weir_err err;
	int turn;		/* how many ran before, of all */
	pthread_t on;
};

extern int calls_ran;		/* of all, since calls_from_zero */

void calls_from_zero(void);
void call_ran(weir_op *op, weir_err err, void *user);

/* Set up, submit, and expect it to wait. */
void call_init(struct call *c, weir_loop *loop);
void call_queue(struct call *c, weir_loop *loop, weir_sem *sem, int64_t n,
		struct weir_ctx *ctx);

/* Ran once, with this outcome. */
void call_was(const char *file, int line, const struct call *c, weir_err err);
#define CALL_WAS(c, err) call_was(__FILE__, __LINE__, (c), (err))

/* Whether the loop's descriptor is readable now. */
bool is_readable(const weir_loop *loop);

#endif /* TESTS_ASYNC_CALLS_H */
