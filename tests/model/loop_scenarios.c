/* SPDX-License-Identifier: MIT */
/* Loops under every schedule of a few threads. */
#include "async_scenario.h"

static weir_sem s;
static weir_ctx ctx;
static weir_loop loop;
static struct call a, b;
static uint32_t submitted;
static weir_err result;

static void reset(int64_t capacity)
{
	turns = 0;
	submitted = 0;
	EX_ASSERT(weir_sem_init_opts(&s, &(weir_sem_opts){
		.capacity = capacity }) == WEIR_OK);
	EX_ASSERT(weir_ctx_init(&ctx, NULL, WEIR_FOREVER) == WEIR_OK);
	EX_ASSERT(weir_loop_init(&loop) == WEIR_OK);
	call_init(&a, &loop, &s, 1);
	call_init(&b, &loop, &s, 1);
}

static void none_of_one(void)
{
	reset(1);
}

static void none_of_two(void)
{
	reset(2);
	a.puts = b.puts = false;
}

static void put(void)
{
	weir_sem_release(&s, 1);
}

static void put_another(void)
{
	weir_sem_release(&s, 1);
}

static void cancel_ctx(void)
{
	weir_ctx_cancel(&ctx);
}

/* Dispatch only while the descriptor is readable, as epoll would. */
static void run_until(const struct call *c)
{
	while (!c->ran) {
		while (!__atomic_load_n(&ex_event, __ATOMIC_ACQUIRE))
			ex_yield();
		(void)weir_loop_dispatch(&loop);
	}
}

static void submit_and_run(void)
{
	call_submit(&a, NULL);
	run_until(&a);
}

static void submit_both_and_run(void)
{
	call_submit(&a, NULL);
	call_submit(&b, NULL);
	run_until(&a);
	run_until(&b);
}

static void a_once(void)
{
	check_once(&a);
	check_quiet(&s);
	EX_ASSERT(weir_loop_destroy(&loop) == WEIR_OK);
	EX_ASSERT(weir_ctx_destroy(&ctx) == WEIR_OK);
}

static void both_once(void)
{
	check_once(&b);
	a_once();
}

/*
 * The callbacks of two operations that one thread grants run in order.  With
 * two releasing threads any order is allowed.
 */
static void both_in_order(void)
{
	both_once();
	EX_ASSERT(a.turn < b.turn || a.err || b.err);
}

/* C36: no wake-up is lost. */
SCENARIO(loop_granted, 3, none_of_one, a_once, submit_and_run, put)
SCENARIO(loop_two_releases, 2, none_of_two, both_once, submit_both_and_run,
	 put, put_another)

/*
 * The loop empties its inbox and the same operation is granted again while the
 * first thread is still making the descriptor readable.
 */
static void submit_again_and_run(void)
{
	submit_and_run();
	EX_ASSERT(a.ran == 1);
	a.ran = 0;
	submit_and_run();
}
SCENARIO(loop_same_operation_twice, 2, none_of_two, a_once,
	 submit_again_and_run, put, put_another)

SCENARIO(loop_callback_grants_next, 2, none_of_one, both_in_order,
	 submit_both_and_run, put)

/* The loop is freed as soon as its last callback has run. */
static void run_and_destroy(void)
{
	call_submit(&a, NULL);
	run_until(&a);
	EX_ASSERT(weir_loop_destroy(&loop) == WEIR_OK);
	ex_free(&loop, sizeof(loop));
	ex_free(&a.op, sizeof(a.op));
}

static void quiet(void)
{
	check_once(&a);
	check_quiet(&s);
}
SCENARIO(loop_destroyed_after_callback, 3, none_of_one, quiet, run_and_destroy,
	 put)
SCENARIO(loop_destroyed_two, 2, none_of_two, quiet, run_and_destroy, put,
	 put_another)

/*
 * C36: a loop is destroyed only after its last operation has ended, by its
 * callback or by a cancel on another thread.
 */
static void destroy_loop(void)
{
	weir_sem_info info;

	ex_await(&submitted);
	(void)weir_loop_dispatch(&loop);
	result = weir_loop_destroy(&loop);
	if (result) {
		EX_ASSERT(result == WEIR_EBUSY);
		return;
	}
	ex_free(&loop, sizeof(loop));
	EX_ASSERT(weir_sem_stat(&s, &info) == WEIR_OK);
	EX_ASSERT(info.waiters == 0);
}

static void then_destroyed(void)
{
	if (result) {
		(void)weir_loop_dispatch(&loop);
		EX_ASSERT(weir_loop_destroy(&loop) == WEIR_OK);
	}
	quiet();
}

static void submit_unlimited(void)
{
	call_submit(&a, NULL);
	ex_set(&submitted);
}

static void cancel_unlimited(void)
{
	ex_await(&submitted);
	if (!a.ran)
		(void)call_cancel(&a);
}
SCENARIO(loop_destroy_meets_grant, 3, none_of_one, then_destroyed,
	 destroy_loop, submit_unlimited, put)
SCENARIO(loop_destroy_meets_cancel, 3, none_of_two, then_destroyed,
	 destroy_loop, submit_unlimited, cancel_unlimited)

static void submit_limited(void)
{
	call_submit_until(&a, weir_deadline_after(1000));
	ex_set(&submitted);
}
SCENARIO(loop_destroy_meets_late_cancel, 2, none_of_two, then_destroyed,
	 destroy_loop, submit_limited, cancel_unlimited)

/*
 * C35: the cancel prevents the callback, or the callback has run or is about to
 * run.  Then the operation is freed.
 */
static void submit_and_cancel(void)
{
	call_submit(&a, NULL);
	result = a.ran ? WEIR_EBUSY : call_cancel(&a);
	EX_ASSERT(a.ran == 1);
	EX_ASSERT((result == WEIR_OK) == (a.err == WEIR_EBUSY));
}
SCENARIO(loop_cancel_meets_grant, 3, none_of_one, a_once, submit_and_cancel,
	 put)

static void submit_a(void)
{
	call_submit(&a, NULL);
	ex_set(&submitted);
}

static void dispatch_once(void)
{
	ex_await(&submitted);
	(void)weir_loop_dispatch(&loop);
}

static void cancel_a(void)
{
	ex_await(&submitted);
	if (!a.ran)
		result = call_cancel(&a);
}

/* Run the remaining callbacks. */
static void dispatched(void)
{
	(void)weir_loop_dispatch(&loop);
	a_once();
}

/* C35: a cancel on a thread that does not dispatch the loop. */
SCENARIO(loop_cancel_meets_dispatch, 2, none_of_one, dispatched, submit_a,
	 dispatch_once, cancel_a, put)

/* C13: the context is cancelled between the grant and the callback. */
static void submit_in_ctx_and_run(void)
{
	call_submit(&a, &ctx);
	run_until(&a);
}
SCENARIO(loop_ctx_meets_grant, 2, none_of_one, a_once, submit_in_ctx_and_run,
	 put, cancel_ctx)

/* C14: a deadline meets a grant. */
static void submit_late_and_run(void)
{
	call_submit_until(&a, weir_deadline_after(1000));
	ex_clock_advance(2000);
	(void)weir_loop_dispatch(&loop);
	if (!a.ran)
		run_until(&a);
	EX_ASSERT(a.err == WEIR_OK || a.err == WEIR_ETIMEDOUT);
}
SCENARIO(loop_deadline_meets_grant, 3, none_of_one, a_once, submit_late_and_run,
	 put)

/* Another thread submits; the deadline may pass at any moment. */
static void submit_soon(void)
{
	call_submit_until(&a, weir_deadline_after(1000));
	ex_set(&submitted);
}

static void run_late(void)
{
	for (int i = 0; i < 2; i++) {
		ex_clock_advance(2000);
		(void)weir_loop_dispatch(&loop);
	}
	ex_await(&submitted);
	ex_clock_advance(2000);
	(void)weir_loop_dispatch(&loop);
}
SCENARIO(loop_deadline_of_other_thread, 2, none_of_one, dispatched, run_late,
	 submit_soon, put)

/* The same without a release: the operation times out. */
static void timed_out(void)
{
	dispatched();
	EX_ASSERT(a.err == WEIR_ETIMEDOUT);
}
SCENARIO(loop_deadline_without_release, 3, none_of_one, timed_out, run_late,
	 submit_soon)

static void submit_soon_and_cancel(void)
{
	call_submit_until(&a, weir_deadline_after(1000));
	if (!a.ran)
		(void)call_cancel(&a);
	ex_set(&submitted);
}

static void run_past(void)
{
	ex_clock_advance(2000);
	(void)weir_loop_dispatch(&loop);
}
SCENARIO(loop_deadline_meets_cancel, 2, none_of_one, dispatched, run_past,
	 submit_soon_and_cancel, put)

/* C25: a signal interrupts the submit or the dispatch at any moment. */
static void interrupted(void)
{
	ex_signal(put);
	call_submit(&a, NULL);
	if (!a.ran)
		run_until(&a);
}
SCENARIO(loop_release_in_handler, 2, none_of_two, a_once, interrupted,
	 put_another)
