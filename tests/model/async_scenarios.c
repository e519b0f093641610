/* SPDX-License-Identifier: MIT */
/* Operations without a loop under every schedule of a few threads. */
#include "async_scenario.h"

static weir_sem s;
static weir_ctx ctx;
static struct call a, b;
static uint32_t submitted;
static weir_err result;

static void reset(const weir_sem_opts *opts, int64_t n)
{
	turns = 0;
	submitted = 0;
	result = WEIR_OK;
	EX_ASSERT(weir_sem_init_opts(&s, opts) == WEIR_OK);
	EX_ASSERT(weir_ctx_init(&ctx, NULL, WEIR_FOREVER) == WEIR_OK);
	call_init(&a, NULL, &s, n);
	call_init(&b, NULL, &s, 1);
}

static void none_of_one(void)
{
	reset(&(weir_sem_opts){ .capacity = 1 }, 1);
}

static void none_of_two(void)
{
	reset(&(weir_sem_opts){ .capacity = 2 }, 2);
}

static void barging(void)
{
	reset(&(weir_sem_opts){ .capacity = 1, .policy = WEIR_BARGING }, 1);
}

static void put(void)
{
	weir_sem_release(&s, 1);
}

static void put_one_more(void)
{
	weir_sem_release(&s, 1);
}

static void cancel_ctx(void)
{
	weir_ctx_cancel(&ctx);
}

static void close_now(void)
{
	weir_sem_close(&s, WEIR_CLOSE_NOW);
}

static void all_back(void)
{
	check_quiet(&s);
	EX_ASSERT(weir_sem_available(&s) == s.capacity_);
	EX_ASSERT(weir_ctx_destroy(&ctx) == WEIR_OK);
}

static void a_once(void)
{
	check_once(&a);
	all_back();
}

static void both_once(void)
{
	check_once(&b);
	a_once();
}

static void submit_a(void)
{
	call_submit(&a, NULL);
	ex_set(&submitted);
}

static void submit_b(void)
{
	call_submit(&b, NULL);
}

static void a_granted(void)
{
	a_once();
	EX_ASSERT(a.err == WEIR_OK);
}

static void both_granted(void)
{
	both_once();
	EX_ASSERT(a.err == WEIR_OK && b.err == WEIR_OK);
}

/* C35, C6: the outcome is reported once, by submit or by the callback. */
SCENARIO(op_granted, 3, none_of_one, a_granted, submit_a, put)
SCENARIO(op_two_granted, 3, none_of_one, both_granted, submit_a, submit_b, put)

/* C10: one operation waits for two permits, which are released one by one. */
SCENARIO(op_weighted, 2, none_of_two, both_granted, submit_a, submit_b, put,
	 put_one_more)

static void take_and_put(void)
{
	EX_ASSERT(weir_sem_acquire(&s, 1, NULL) == WEIR_OK);
	weir_sem_release(&s, 1);
}

/*
 * C3, C4: an operation and a thread in one queue; the ledger checks the order.
 */
SCENARIO(op_and_thread, 3, none_of_one, a_granted, submit_a, take_and_put, put)
SCENARIO(op_barging, 2, barging, a_granted, submit_a, take_and_put, put)

static void submit_and_cancel(void)
{
	call_submit(&a, NULL);
	result = call_cancel(&a);
}

static void cancelled_or_ended(void)
{
	a_once();
	EX_ASSERT((result == WEIR_OK) == (a.err == WEIR_EBUSY));
}

/* C35, rows 11, 17, 21: a cancel meets a grant; then the memory is freed. */
SCENARIO(op_cancel_meets_grant, 3, none_of_one, cancelled_or_ended,
	 submit_and_cancel, put)

/* The next waiter is granted: by the cancel, or by the callback's release. */
static void a_once_b_granted(void)
{
	both_once();
	EX_ASSERT(b.err == WEIR_OK);
}
SCENARIO(op_cancel_grants_next, 2, none_of_one, a_once_b_granted,
	 submit_and_cancel, submit_b, put)

/* Row 24: a close meets a cancel. */
static void closed_and_put(void)
{
	close_now();
	put();
}
SCENARIO(op_cancel_meets_close, 3, none_of_one, cancelled_or_ended,
	 submit_and_cancel, closed_and_put)

static void submit_in_ctx(void)
{
	call_submit(&a, &ctx);
	ex_set(&submitted);
}

/* C13: a cancel of the context meets a grant. */
SCENARIO(op_ctx_meets_grant, 3, none_of_one, a_once, submit_in_ctx, put,
	 cancel_ctx)

/* C13: an operation is not granted permits released after the cancel. */
static void cancel_and_put(void)
{
	weir_ctx_cancel(&ctx);
	weir_sem_release(&s, 1);
}

static void not_granted(void)
{
	a_once();
	EX_ASSERT(a.err == WEIR_ECANCELED);
}
SCENARIO(op_no_grant_after_cancel, 3, none_of_one, not_granted, submit_in_ctx,
	 cancel_and_put)

static void submit_in_ctx_and_cancel(void)
{
	call_submit(&a, &ctx);
	result = call_cancel(&a);
}

/* N3: a grant, a cancel of the context, and a cancel or a close meet. */
SCENARIO(op_ctx_cancel_grant, 2, none_of_one, cancelled_or_ended,
	 submit_in_ctx_and_cancel, put, cancel_ctx)
SCENARIO(op_ctx_close_grant, 2, none_of_one, a_once, submit_in_ctx, put,
	 cancel_ctx, close_now)

/* C7: permits that the cancelled head did not take go to the next waiter. */
static void heavy_in_ctx(void)
{
	call_submit(&a, &ctx);
	call_submit(&b, NULL);
}
SCENARIO(op_cancelled_head, 2, none_of_two, a_once_b_granted, heavy_in_ctx, put,
	 cancel_ctx, put_one_more)

/*
 * C22: the callback destroys the semaphore while the releasing thread is still
 * inside its call.
 */
static void destroyed(weir_op *op, weir_err err, void *user)
{
	(void)op;
	call_over(user, err);
	EX_ASSERT(err == WEIR_OK);
	EX_ASSERT(weir_sem_destroy(&s) == WEIR_OK);
	ex_free(&s, sizeof(s));
	ex_free(&a.op, sizeof(a.op));
}

static void submit_for_the_last_time(void)
{
	weir_op_init(&a.op, NULL, destroyed, &a);
	ledger_begin(&s, 0, 1);
	if (weir_op_submit(&a.op, &s, 1, NULL) == WEIR_OK)
		destroyed(&a.op, WEIR_OK, &a);
}
SCENARIO(op_callback_destroys, 3, none_of_one, NULL, submit_for_the_last_time,
	 put)

/*
 * C27: the callback submits its operation submits_again, behind another waiter.
 */
static int rounds;

static void submits_again(weir_op *op, weir_err err, void *user)
{
	weir_err outcome = err;

	(void)user;
	ledger_end(&s, 0, 1, 1);
	for (;;) {
		EX_ASSERT(outcome == WEIR_OK);
		weir_sem_release(&s, 1);
		if (++rounds == 3)
			return;
		ledger_begin(&s, 0, 1);
		outcome = weir_op_submit(op, &s, 1, NULL);
		if (outcome == WEIR_EQUEUED)
			return;
		ledger_end(&s, 0, 1, 1);
	}
}

static void submit_again(void)
{
	weir_op_init(&a.op, NULL, submits_again, NULL);
	rounds = 0;
	ledger_begin(&s, 0, 1);
	if (weir_op_submit(&a.op, &s, 1, NULL) == WEIR_OK)
		submits_again(&a.op, WEIR_OK, NULL);
}

static void three_rounds(void)
{
	EX_ASSERT(rounds == 3);
	all_back();
}
SCENARIO(op_submits_again, 2, none_of_one, three_rounds, submit_again,
	 take_and_put, put)

/* C11, C21: a shrink refuses the operation, or a cancel or grant came first. */
static void shrink(void)
{
	EX_ASSERT(weir_sem_resize(&s, 1, NULL) == WEIR_OK);
}

static void put_both(void)
{
	weir_sem_release(&s, 2);
}
SCENARIO(op_shrink_meets_grant, 3, none_of_two, cancelled_or_ended,
	 submit_and_cancel, put_both, shrink)

/* A polled operation: its outcome is reported once, by poll or by cancel. */
static void poll_a(void)
{
	weir_err err;

	weir_op_init(&a.op, NULL, NULL, NULL);
	call_submit(&a, &ctx);
	if (a.ran)
		return;
	while ((err = weir_op_poll(&a.op)) == WEIR_EQUEUED)
		ex_yield();
	call_over(&a, err);
	if (!err)
		weir_sem_release(&s, 1);
	ex_free(&a.op, sizeof(a.op));
}
SCENARIO(op_polled, 3, none_of_one, a_once, poll_a, put)
SCENARIO(op_polled_meets_ctx_cancel, 2, none_of_one, a_once, poll_a, put,
	 cancel_ctx)

static void polled_and_cancelled(void)
{
	weir_op_init(&a.op, NULL, NULL, NULL);
	call_submit(&a, NULL);
	if (!a.ran)
		EX_ASSERT(call_cancel(&a) == WEIR_OK);
}
SCENARIO(op_polled_cancelled, 3, none_of_one, a_once, polled_and_cancelled, put)

/*
 * C7: the head is a polled operation that does not fit, and its deadline passes.
 * No thread polls it and no permit is released: a thread behind it is granted
 * the free permit.
 */
static uint32_t granted;

static void one_of_two(void)
{
	reset(&(weir_sem_opts){ .permits = 1, .capacity = 2 }, 2);
	weir_op_init(&a.op, NULL, NULL, NULL);
}

static void polled_with_deadline(void)
{
	weir_err err;

	ledger_begin(&s, 0, 2);
	err = weir_op_submit_until(&a.op, &s, 2, weir_deadline_after(1000));
	if (err == WEIR_EQUEUED) {
		ex_await(&granted);
		ex_clock_advance(1000);
		while ((err = weir_op_poll(&a.op)) == WEIR_EQUEUED)
			ex_yield();
	}
	call_over(&a, err);
	EX_ASSERT(err == WEIR_ETIMEDOUT);
}

static void take_the_free_one(void)
{
	EX_ASSERT(weir_sem_acquire(&s, 1, NULL) == WEIR_OK);
	ex_set(&granted);
}

static void a_was_late(void)
{
	check_once(&a);
	check_quiet(&s);
	EX_ASSERT(weir_sem_available(&s) == 0);
}
SCENARIO(op_late_head_blocks_no_thread, 3, one_of_two, a_was_late,
	 polled_with_deadline, take_the_free_one)

/* C7: the same if the head leaves and the operation becomes the new head. */
static void op_behind_op(void)
{
	one_of_two();
	call_init(&b, NULL, &s, 2);
	call_submit(&b, NULL);
}

static void cancel_first(void)
{
	EX_ASSERT(call_cancel(&b) == WEIR_OK);
}
SCENARIO(op_late_new_head_blocks_no_thread, 2, op_behind_op, a_was_late,
	 polled_with_deadline, take_the_free_one, cancel_first)

/*
 * C25: a signal handler releases to a polled operation while the interrupted
 * thread has callbacks to run.  None of these callbacks runs in the handler.
 */
static bool handling;

static void not_in_handler(weir_op *op, weir_err err, void *user)
{
	EX_ASSERT(!handling);
	call_ran(op, err, user);
}

static weir_sem polled;

static void put_polled(void)
{
	handling = true;
	weir_sem_release(&polled, 1);
	handling = false;
}

static void callbacks_and_handler(void)
{
	EX_ASSERT(weir_sem_init_opts(&polled, &(weir_sem_opts){
		.capacity = 1 }) == WEIR_OK);
	weir_op_init(&b.op, NULL, NULL, NULL);
	EX_ASSERT(weir_op_submit(&b.op, &polled, 1, NULL) == WEIR_EQUEUED);
	weir_op_init(&a.op, NULL, not_in_handler, &a);
	call_submit(&a, NULL);
	ex_signal(put_polled);
	put();
	EX_ASSERT(a.ran);
}
SCENARIO(op_callbacks_meet_handler, 2, none_of_one, NULL,
	 callbacks_and_handler)

/*
 * C6: a grant, or a close, of more waiters than a batch reaches all of them,
 * also if other threads take the lock between two batches.
 */
static struct call many[3];

static void three_wait(void)
{
	reset(&(weir_sem_opts){ .capacity = 3 }, 1);
	for (int i = 0; i < 3; i++) {
		call_init(&many[i], NULL, &s, 1);
		many[i].puts = false;
		call_submit(&many[i], NULL);
	}
}

static void put_three(void)
{
	weir_sem_release(&s, 3);
}

static void three_granted(void)
{
	for (int i = 0; i < 3; i++) {
		check_once(&many[i]);
		EX_ASSERT(many[i].err == WEIR_OK);
	}
	check_quiet(&s);
}

static void three_ended(void)
{
	for (int i = 0; i < 3; i++)
		check_once(&many[i]);
	check_quiet(&s);
}

static void check_stat(void)
{
	weir_sem_info info;

	EX_ASSERT(weir_sem_stat(&s, &info) == WEIR_OK);
	EX_ASSERT(info.capacity == info.free + info.held + info.granted);
}

static void two_puts(void)
{
	weir_sem_release(&s, 2);
	weir_sem_release(&s, 1);
}

static void late_comer(void)
{
	EX_ASSERT(weir_sem_acquire_for(&s, 1, 1000) == WEIR_ETIMEDOUT);
}
SCENARIO(batch_granted, 3, three_wait, three_granted, put_three, check_stat)
SCENARIO(batch_latecomer, 2, three_wait, three_granted, put_three, late_comer,
	 check_stat)
SCENARIO(batch_closed, 3, three_wait, three_ended, close_now, two_puts)
SCENARIO(batch_closed_meets_stat, 2, three_wait, three_ended, close_now,
	 put_three, check_stat)

/* C13: a cancel drops the tree's lock between two batches, and ends all. */
static weir_ctx below;
static weir_sem t;

static void submit_three(int above)
{
	const weir_sem_opts none_of_three = { .capacity = 3 };

	reset(&none_of_three, 1);
	EX_ASSERT(weir_sem_init_opts(&t, &none_of_three) == WEIR_OK);
	EX_ASSERT(weir_ctx_init(&below, &ctx, WEIR_FOREVER) == WEIR_OK);
	for (int i = 0; i < 3; i++) {
		call_init(&many[i], NULL, i < 2 ? &s : &t, 1);
		call_submit(&many[i], i < above ? &ctx : &below);
	}
}

static void three_with_ctx(void)
{
	submit_three(3);
}

static void three_in_a_tree(void)
{
	submit_three(2);
}

static void three_ended_ctx(void)
{
	three_ended();
	check_quiet(&t);
	EX_ASSERT(weir_ctx_destroy(&below) == WEIR_OK);
	EX_ASSERT(weir_ctx_destroy(&ctx) == WEIR_OK);
}

static void three_cancelled(void)
{
	for (int i = 0; i < 3; i++)
		EX_ASSERT(many[i].err == WEIR_ECANCELED);
	three_ended_ctx();
}

/* When either cancel returns, all waiters have left their queues. */
static void cancel_and_check(void)
{
	weir_sem_info info;

	weir_ctx_cancel(&ctx);
	EX_ASSERT(weir_sem_stat(&t, &info) == WEIR_OK);
	EX_ASSERT(info.waiters == 0);
}
SCENARIO(batch_cancelled, 3, three_with_ctx, three_ended_ctx, cancel_ctx,
	 put_three)
SCENARIO(batch_cancelled_twice, 3, three_with_ctx, three_cancelled,
	 cancel_and_check, cancel_and_check)

/* C19: a thread sees the cancel, ends its operations and frees the tree. */
static void withdraw_and_free(void)
{
	EX_ASSERT(weir_ctx_wait(&ctx, WEIR_FOREVER) == WEIR_ECANCELED);
	for (int i = 2; i >= 0; i--)
		(void)call_cancel(&many[i]);
	EX_ASSERT(weir_ctx_destroy(&below) == WEIR_OK);
	ex_free(&below, sizeof(below));
	EX_ASSERT(weir_ctx_destroy(&ctx) == WEIR_OK);
	ex_free(&ctx, sizeof(ctx));
}
SCENARIO(batch_cancelled_and_freed, 2, three_in_a_tree, three_ended, cancel_ctx,
	 withdraw_and_free)

/* C22, C24: the last callback, at the end of a batch, destroys the context. */
static int to_come;

static void last_one_frees(weir_op *op, weir_err err, void *user)
{
	(void)op;
	call_over(user, err);
	if (--to_come)
		return;
	EX_ASSERT(weir_ctx_destroy(&ctx) == WEIR_OK);
	ex_free(&ctx, sizeof(ctx));
}

static void two_that_free(void)
{
	reset(&(weir_sem_opts){ .capacity = 2 }, 1);
	to_come = 2;
	for (int i = 0; i < 2; i++) {
		call_init(&many[i], NULL, &s, 1);
		weir_op_init(&many[i].op, NULL, last_one_frees, &many[i]);
		call_submit(&many[i], &ctx);
	}
}

static void two_freed(void)
{
	EX_ASSERT(to_come == 0);
	check_quiet(&s);
}
SCENARIO(batch_frees_its_context, 2, two_that_free, two_freed, cancel_ctx,
	 check_stat)
