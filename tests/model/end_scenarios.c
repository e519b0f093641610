/* SPDX-License-Identifier: MIT */
/*
 * Callbacks on the end of a context under every schedule: weir_op_submit_end.
 * A call here books no permits.
 */
#include "weir/async.h"
#include "weir/loop.h"

#include "scenario.h"

static weir_ctx root, ctx;
static weir_loop loop;
static weir_op op;
static int ran;
static weir_err result;
static uint32_t submitted;
static bool checking;		/* the threads have ended */

static void call_ran(weir_op *which, weir_err err, void *user)
{
	EX_ASSERT(which == &op && user == &ran);
	ran++;
	result = err;
	/* The operation, and with it the context, is the owner's again. */
	EX_ASSERT(weir_ctx_destroy(&ctx) == WEIR_OK);
	if (!checking)
		ex_free(&ctx, sizeof(ctx));
}

static void reset(weir_loop *on, int64_t deadline_ns)
{
	EX_ASSERT(weir_loop_init(&loop) == WEIR_OK);
	EX_ASSERT(weir_ctx_init(&root, NULL, WEIR_FOREVER) == WEIR_OK);
	EX_ASSERT(weir_ctx_init(&ctx, &root, deadline_ns) == WEIR_OK);
	weir_op_init(&op, on, call_ran, &ran);
}

/* Returns true if the callback will run. */
static bool submit(void)
{
	weir_err err = weir_op_submit_end(&op, &ctx);

	if (err != WEIR_EQUEUED) {
		ran++;
		result = err;
		EX_ASSERT(weir_ctx_destroy(&ctx) == WEIR_OK);
		ex_free(&ctx, sizeof(ctx));
	}
	return err == WEIR_EQUEUED;
}

static void submitted_on_thread(void)
{
	reset(NULL, WEIR_FOREVER);
	(void)submit();
}

static void on_thread(void)
{
	reset(NULL, WEIR_FOREVER);
}

static void on_loop(void)
{
	reset(&loop, WEIR_FOREVER);
}

static void on_loop_with_deadline(void)
{
	reset(&loop, weir_deadline_after(1000));
}

static void cancel_root(void)
{
	weir_ctx_cancel(&root);
}

static void cancel_root_too(void)
{
	weir_ctx_cancel(&root);
}

static void submit_it(void)
{
	(void)submit();
	ex_set(&submitted);
}

/* C35: when the cancel returns, the operation's memory is the caller's. */
static void cancel_op(void)
{
	weir_err err = weir_op_cancel(&op);

	EX_ASSERT(err == WEIR_OK || err == WEIR_EBUSY);
	if (!err) {
		ran++;
		result = WEIR_EBUSY;
		EX_ASSERT(weir_ctx_destroy(&ctx) == WEIR_OK);
		ex_free(&ctx, sizeof(ctx));
	}
	ex_free(&op, sizeof(op));
}

static void submit_and_cancel(void)
{
	if (submit())
		cancel_op();
}

static void once(void)
{
	EX_ASSERT(ran == 1);
	EX_ASSERT(weir_loop_destroy(&loop) == WEIR_OK);
	EX_ASSERT(weir_ctx_destroy(&root) == WEIR_OK);
}

/* C13, C35: the callback runs once, whatever thread ends the context. */
SCENARIO(end_submit_meets_cancel, 3, on_thread, once, submit_it, cancel_root)
SCENARIO(end_cancelled_twice, 3, submitted_on_thread, once, cancel_root,
	 cancel_root_too)
SCENARIO(end_cancel_meets_op_cancel, 3, submitted_on_thread, once, cancel_root,
	 cancel_op)
SCENARIO(end_three_ways, 2, on_thread, once, submit_and_cancel, cancel_root,
	 cancel_root_too)

/* Dispatch only while the descriptor is readable, as epoll would. */
static void run(void)
{
	ex_await(&submitted);
	while (!ran) {
		while (!ran && !__atomic_load_n(&ex_event, __ATOMIC_ACQUIRE))
			ex_yield();
		(void)weir_loop_dispatch(&loop);
	}
}

static void dispatched(void)
{
	checking = true;
	(void)weir_loop_dispatch(&loop);
	once();
}

/* C36: no wake-up is lost. */
SCENARIO(end_on_loop, 3, on_loop, once, submit_it, run, cancel_root)

static void run_late(void)
{
	ex_clock_advance(2000);
	(void)weir_loop_dispatch(&loop);
	ex_await(&submitted);
	(void)weir_loop_dispatch(&loop);
}

/* The deadline passes during the submit, and meets a cancel. */
SCENARIO(end_deadline_meets_submit, 3, on_loop_with_deadline, dispatched,
	 submit_it, run_late)
SCENARIO(end_deadline_meets_cancel, 2, on_loop_with_deadline, dispatched,
	 submit_it, run_late, cancel_root)

static void submit_and_cancel_late(void)
{
	submit_and_cancel();
	ex_set(&submitted);
}

SCENARIO(end_deadline_meets_op_cancel, 2, on_loop_with_deadline, dispatched,
	 submit_and_cancel_late, run_late, cancel_root)
