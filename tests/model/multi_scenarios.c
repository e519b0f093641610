/* SPDX-License-Identifier: MIT */
/* All and any of two semaphores under every schedule of a few threads. */
#include "weir/multi.h"

#include "async_scenario.h"

static weir_sem s, t;
static weir_ctx ctx;
static weir_loop loop;
static weir_all all;
static weir_any any;
static weir_op places[2];
static const weir_req both[] = { { &s, 1 }, { &t, 1 } };
static const weir_req reversed[] = { { &t, 1 }, { &s, 1 } };
static int ran;
static weir_err result;
static uint32_t submitted;

static void reset(int64_t free_s, int64_t free_t)
{
	ran = 0;
	result = WEIR_OK;
	submitted = 0;
	EX_ASSERT(weir_sem_init_opts(&s, &(weir_sem_opts){
		.permits = free_s, .capacity = 1 }) == WEIR_OK);
	EX_ASSERT(weir_sem_init_opts(&t, &(weir_sem_opts){
		.permits = free_t, .capacity = 1 }) == WEIR_OK);
	EX_ASSERT(weir_ctx_init(&ctx, NULL, WEIR_FOREVER) == WEIR_OK);
	EX_ASSERT(weir_loop_init(&loop) == WEIR_OK);
	/* The ledger does not book calls of weir/multi.h. */
	ledger_stop(&s);
	ledger_stop(&t);
}

static void free_both(void)
{
	reset(1, 1);
}

static void none_free(void)
{
	reset(0, 0);
}

static void all_back(void)
{
	check_quiet(&s);
	check_quiet(&t);
	EX_ASSERT(weir_sem_available(&s) == 1 && weir_sem_available(&t) == 1);
	EX_ASSERT(weir_ctx_destroy(&ctx) == WEIR_OK);
	EX_ASSERT(weir_loop_destroy(&loop) == WEIR_OK);
}

static void ended_once(void)
{
	EX_ASSERT(ran == 1);
	all_back();
}

/* One of the two released permits is held, the other one is free. */
static void one_taken(void)
{
	EX_ASSERT(ran == 1);
	check_quiet(&s);
	check_quiet(&t);
	EX_ASSERT(weir_sem_available(&s) + weir_sem_available(&t) == 1);
	EX_ASSERT(weir_ctx_destroy(&ctx) == WEIR_OK);
}

static void put_s(void)
{
	weir_sem_release(&s, 1);
}

static void put_t(void)
{
	weir_sem_release(&t, 1);
}

static void put_both(void)
{
	put_t();
	put_s();
}

static void cancel_ctx(void)
{
	weir_ctx_cancel(&ctx);
}

/* C32: all or none, without a deadlock, in both orders of the requests. */
static int inside;

static void all_in_order(void)
{
	EX_ASSERT(weir_acquire_all(both, 2, NULL) == WEIR_OK);
	EX_ASSERT(inside++ == 0);
	inside--;
	weir_release_all(both, 2);
}

static void all_in_reverse(void)
{
	EX_ASSERT(weir_acquire_all(reversed, 2, NULL) == WEIR_OK);
	EX_ASSERT(inside++ == 0);
	inside--;
	weir_release_all(reversed, 2);
}

static void only_t(void)
{
	EX_ASSERT(weir_sem_acquire(&t, 1, NULL) == WEIR_OK);
	weir_sem_release(&t, 1);
}
SCENARIO(all_two_orders, 3, free_both, all_back, all_in_order, all_in_reverse)
SCENARIO(all_and_single, 2, free_both, all_back, all_in_order, all_in_reverse,
	 only_t)

static void all_in_ctx(void)
{
	weir_err err = weir_acquire_all(reversed, 2, &ctx);

	ran++;
	if (!err)
		weir_release_all(both, 2);
	else
		EX_ASSERT(err == WEIR_ECANCELED);
}
SCENARIO(all_cancelled, 2, none_free, ended_once, all_in_ctx, put_both,
	 cancel_ctx)

/* C32, C35: one operation that several threads continue. */
static void all_ran(weir_all *op, weir_err err, void *user)
{
	(void)user;
	EX_ASSERT(op == &all);
	ran++;
	result = err;
	ex_free(&all, sizeof(all));
	if (!err)
		weir_release_all(both, 2);
}

static void submit_all_with(weir_loop *on, weir_ctx *within)
{
	weir_err err;

	weir_all_init(&all, on, all_ran, NULL);
	err = weir_all_submit(&all, reversed, 2, within);
	if (err != WEIR_EQUEUED)
		all_ran(&all, err, NULL);
}

static void submit_all(void)
{
	submit_all_with(NULL, NULL);
}
SCENARIO(all_submitted, 3, none_free, ended_once, submit_all, put_s, put_t)
SCENARIO(all_submitted_meets_all, 2, none_free, ended_once, submit_all,
	 put_both, all_in_order)

static void submit_all_in_ctx(void)
{
	submit_all_with(NULL, &ctx);
}
SCENARIO(all_submitted_cancelled, 2, none_free, ended_once, submit_all_in_ctx,
	 put_s, put_t, cancel_ctx)

static void all_kept(weir_all *op, weir_err err, void *user)
{
	(void)op;
	(void)user;
	ran++;
	result = err;
	if (!err)
		weir_release_all(both, 2);
}

static void submit_all_and_cancel(void)
{
	weir_err err;

	weir_all_init(&all, NULL, all_kept, NULL);
	err = weir_all_submit(&all, both, 2, NULL);
	if (err == WEIR_OK)
		all_kept(&all, WEIR_OK, NULL);
	if (err == WEIR_EQUEUED) {
		err = weir_all_cancel(&all);
		if (!err)
			ran++;
		/* C35: the memory belongs to the caller in either case. */
		ex_free(&all, sizeof(all));
	}
}
SCENARIO(all_cancel_meets_grants, 2, none_free, ended_once,
	 submit_all_and_cancel, put_s, put_t)

/* C33: exactly one member is granted; the other one takes nothing. */
static void take_any(void)
{
	size_t which = 9;
	weir_err err = weir_acquire_any(both, 2, NULL, &which);

	EX_ASSERT(err == WEIR_OK && which < 2);
	ran++;
}

static void take_any_and_put(void)
{
	size_t which = 9;

	EX_ASSERT(weir_acquire_any(both, 2, NULL, &which) == WEIR_OK);
	ran++;
	weir_sem_release(both[which].sem, 1);
}
SCENARIO(any_one_comes, 3, none_free, NULL, take_any, put_s)
SCENARIO(any_both_come, 2, none_free, one_taken, take_any, put_s, put_t)
SCENARIO(any_and_single, 2, none_free, ended_once, take_any_and_put, only_t,
	 put_s, put_t)

static void any_in_ctx(void)
{
	size_t which = 9;
	weir_err err = weir_acquire_any(both, 2, &ctx, &which);

	ran++;
	if (!err)
		weir_sem_release(both[which].sem, 1);
	else
		EX_ASSERT(err == WEIR_ECANCELED);
}
SCENARIO(any_cancelled, 2, none_free, ended_once, any_in_ctx, put_both,
	 cancel_ctx)

static void close_both(void)
{
	weir_sem_close(&s, WEIR_CLOSE_NOW);
	weir_sem_close(&t, WEIR_CLOSE_NOW);
}

static void any_or_closed(void)
{
	size_t which = 9;
	weir_err err = weir_acquire_any(both, 2, NULL, &which);

	ran++;
	EX_ASSERT(err == WEIR_ECLOSED || (!err && which == 0));
	if (!err)
		weir_sem_release(both[which].sem, 1);
}

static void closed_once(void)
{
	EX_ASSERT(ran == 1);
	check_quiet(&s);
	check_quiet(&t);
}
SCENARIO(any_closed, 2, none_free, closed_once, any_or_closed, close_both,
	 put_s)

/*
 * C33: both members are refused, in any order and for different reasons.  The
 * result is the error of the first request.
 */
static void any_refused(void)
{
	size_t which = 9;

	EX_ASSERT(weir_acquire_any(both, 2, NULL, &which) == WEIR_ETOOBIG);
	ran++;
}

static void shrink_s(void)
{
	EX_ASSERT(weir_sem_resize(&s, 0, NULL) == WEIR_OK);
}

static void close_t(void)
{
	weir_sem_close(&t, WEIR_CLOSE_NOW);
}
SCENARIO(any_two_errors, 2, none_free, closed_once, any_refused, shrink_s,
	 close_t)

static void any_timed(void)
{
	weir_ctx own;
	size_t which = 9;
	weir_err err;

	EX_ASSERT(weir_ctx_init(&own, NULL, weir_deadline_after(1000)) == WEIR_OK);
	err = weir_acquire_any(both, 2, &own, &which);
	ran++;
	EX_ASSERT(weir_ctx_destroy(&own) == WEIR_OK);
	if (!err)
		weir_sem_release(both[which].sem, 1);
	else
		EX_ASSERT(err == WEIR_ETIMEDOUT);
}
SCENARIO(any_times_out, 2, none_free, ended_once, any_timed, put_s, put_t)

/* C33, C35: an any-of request as an operation. */
static void any_ran(weir_any *op, weir_err err, size_t which, void *user)
{
	(void)user;
	EX_ASSERT(op == &any);
	ran++;
	result = err;
	ex_free(&any, sizeof(any));
	ex_free(places, sizeof(places));
	if (!err)
		weir_sem_release(both[which].sem, 1);
}

static void submit_any_with(weir_ctx *within)
{
	size_t which = 9;
	weir_err err;

	weir_any_init(&any, NULL, any_ran, NULL);
	err = weir_any_submit(&any, both, places, 2, within, &which);
	if (err != WEIR_EQUEUED)
		any_ran(&any, err, which, NULL);
}

static void submit_any(void)
{
	submit_any_with(NULL);
}

static void submit_any_in_ctx(void)
{
	submit_any_with(&ctx);
}
SCENARIO(any_submitted, 2, none_free, ended_once, submit_any, put_s, put_t)
SCENARIO(any_submitted_cancelled, 2, none_free, ended_once, submit_any_in_ctx,
	 put_both, cancel_ctx)

static void any_kept(weir_any *op, weir_err err, size_t which, void *user)
{
	(void)op;
	(void)user;
	ran++;
	if (!err)
		weir_sem_release(both[which].sem, 1);
}

static void submit_any_and_cancel(void)
{
	size_t which = 9;
	weir_err err;

	weir_any_init(&any, NULL, any_kept, NULL);
	err = weir_any_submit(&any, both, places, 2, NULL, &which);
	if (err == WEIR_OK)
		any_kept(&any, err, which, NULL);
	if (err == WEIR_EQUEUED) {
		if (!weir_any_cancel(&any))
			ran++;
		ex_free(&any, sizeof(any));
		ex_free(places, sizeof(places));
	}
}
SCENARIO(any_cancel_meets_grants, 2, none_free, ended_once,
	 submit_any_and_cancel, put_s, put_t)

/*
 * C33: two members with different weights on one semaphore.  The light one fits
 * when the heavy one leaves.
 */
static const weir_req sizes[] = { { &s, 2 }, { &s, 1 } };

static void one_of_two_free(void)
{
	reset(0, 0);
	EX_ASSERT(weir_sem_init_opts(&s, &(weir_sem_opts){
		.permits = 1, .capacity = 2 }) == WEIR_OK);
	ledger_stop(&s);
}

static void any_size_in_ctx(void)
{
	size_t which = 9;
	weir_err err = weir_acquire_any(sizes, 2, &ctx, &which);

	ran++;
	EX_ASSERT(err == WEIR_OK || err == WEIR_ECANCELED);
	if (!err)
		weir_sem_release(&s, sizes[which].n);
}

static void both_sizes_back(void)
{
	EX_ASSERT(ran == 1);
	check_quiet(&s);
	EX_ASSERT(weir_sem_available(&s) == 2);
	EX_ASSERT(weir_ctx_destroy(&ctx) == WEIR_OK);
}
SCENARIO(any_two_sizes, 2, one_of_two_free, both_sizes_back, any_size_in_ctx,
	 put_s, cancel_ctx)

/*
 * C7: the head is a member that does not fit, of an any-of request on a loop. Its
 * deadline passes, and the loop is not dispatched: a thread behind it is granted
 * the free permit.
 */
static const weir_req two_or_t[] = { { &s, 2 }, { &t, 1 } };
static uint32_t passed;

static void one_free_behind(void)
{
	one_of_two_free();
	passed = 0;
}

static void any_on_loop(weir_any *op, weir_err err, size_t which, void *user)
{
	(void)which;
	(void)user;
	EX_ASSERT(op == &any);
	ran++;
	result = err;
}

/* The deadline of the request passes. */
static weir_err any_dispatched(void)
{
	ex_clock_advance(1000);
	while (!weir_loop_dispatch(&loop))
		ex_yield();
	EX_ASSERT(ran == 1);
	return result;
}

/* Wait until *event is set before the deadline passes; null: do not wait. */
static weir_err submit_any_late(uint32_t *event)
{
	size_t which;
	weir_err err;
	weir_ctx own;

	EX_ASSERT(weir_ctx_init(&own, &ctx, weir_deadline_after(1000)) ==
		  WEIR_OK);
	weir_any_init(&any, &loop, any_on_loop, NULL);
	err = weir_any_submit(&any, two_or_t, places, 2, &own, &which);
	if (err == WEIR_EQUEUED) {
		if (event)
			ex_await(event);
		err = any_dispatched();
	}
	EX_ASSERT(weir_ctx_destroy(&own) == WEIR_OK);
	return err;
}

static void any_is_over(void)
{
	check_quiet(&s);
	check_quiet(&t);
	EX_ASSERT(weir_ctx_destroy(&ctx) == WEIR_OK);
	EX_ASSERT(weir_loop_destroy(&loop) == WEIR_OK);
}

static void submit_any_and_stall(void)
{
	EX_ASSERT(submit_any_late(&passed) == WEIR_ETIMEDOUT);
}

static void take_one_s(void)
{
	EX_ASSERT(weir_sem_acquire(&s, 1, NULL) == WEIR_OK);
	ex_set(&passed);
}

static void one_passed(void)
{
	any_is_over();
	EX_ASSERT(weir_sem_available(&s) == 0 && weir_sem_available(&t) == 0);
}
SCENARIO(any_late_member_blocks_no_thread, 3, one_free_behind, one_passed,
	 submit_any_and_stall, take_one_s)

/* C7: the same while permits are released: each goes to one of them only. */
static void put_s_and_t(void)
{
	weir_sem_release(&s, 1);
	weir_sem_release(&t, 1);
}

static void submit_any_and_dispatch(void)
{
	result = submit_any_late(NULL);
	EX_ASSERT(result == WEIR_OK || result == WEIR_ETIMEDOUT);
}

static void one_free_and_one_out(void)
{
	one_free_behind();
	EX_ASSERT(weir_sem_acquire(&s, 1, NULL) == WEIR_OK);
}

static void at_most_once(void)
{
	int64_t of_s, of_t;

	any_is_over();
	of_s = weir_sem_available(&s);
	of_t = weir_sem_available(&t);
	/* The thread has one permit of s; the request has none, or two of s, or t. */
	EX_ASSERT(result ? of_s == 0 && of_t == 1 : of_s + of_t == 0);
}
SCENARIO(any_late_member_meets_grants, 2, one_free_and_one_out, at_most_once,
	 submit_any_and_dispatch, take_one_s, put_s_and_t)

/*
 * C33: two calls with two members each.  One member is the head of its queue
 * and does not fit; the other member is second in its queue and would fit.
 * Both calls end: neither waits for a notification that the other one has not
 * sent yet.
 */
static const weir_req heavy_s[] = { { &s, 2 }, { &t, 1 } };
static const weir_req heavy_t[] = { { &t, 2 }, { &s, 1 } };

static void one_of_two_free_twice(void)
{
	one_of_two_free();
	EX_ASSERT(weir_sem_init_opts(&t, &(weir_sem_opts){
		.permits = 1, .capacity = 2 }) == WEIR_OK);
	ledger_stop(&t);
}

static void any_crossed(const weir_req *reqs)
{
	size_t which = 9;
	weir_err err = weir_acquire_any(reqs, 2, &ctx, &which);

	ran++;
	EX_ASSERT((!err && which == 1) || err == WEIR_ECANCELED);
	if (!err)
		weir_sem_release(reqs[1].sem, 1);
}

static void any_heavy_s(void)
{
	any_crossed(heavy_s);
}

static void any_heavy_t(void)
{
	any_crossed(heavy_t);
}

static void two_ended(void)
{
	EX_ASSERT(ran == 2);
	check_quiet(&s);
	check_quiet(&t);
	EX_ASSERT(weir_sem_available(&s) == 1 && weir_sem_available(&t) == 1);
	EX_ASSERT(weir_ctx_destroy(&ctx) == WEIR_OK);
}
SCENARIO(any_two_crossed, 2, one_of_two_free_twice, two_ended, any_heavy_s,
	 any_heavy_t, cancel_ctx)
