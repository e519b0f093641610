/* SPDX-License-Identifier: MIT */
#include "calls.h"

#include <poll.h>

int calls_ran;

void calls_from_zero(void)
{
	calls_ran = 0;
}

void call_ran(weir_op *op, weir_err err, void *user)
{
	struct call *c = user;

	CHECK(op == &c->op);
	c->ran++;
	c->err = err;
	c->on = pthread_self();
	c->turn = __atomic_fetch_add(&calls_ran, 1, __ATOMIC_ACQ_REL);
}

void call_init(struct call *c, weir_loop *loop)
{
	*c = (struct call){ .ran = 0 };
	weir_op_init(&c->op, loop, call_ran, c);
}

void call_queue(struct call *c, weir_loop *loop, weir_sem *sem, int64_t n,
		struct weir_ctx *ctx)
{
	call_init(c, loop);
	CHECK_ERR(weir_op_submit(&c->op, sem, n, ctx), WEIR_EQUEUED);
}

void call_was(const char *file, int line, const struct call *c, weir_err err)
{
	check_int(file, line, "callbacks", c->ran, 1);
	check_err(file, line, "outcome", c->err, err);
}

bool is_readable(const weir_loop *loop)
{
	struct pollfd p = { .fd = weir_loop_fd(loop), .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}
