/* SPDX-License-Identifier: MIT */
/*
 * C24: writes before a release are visible after the acquire.  One thread
 * writes a plain variable before the publishing call, and another one reads it
 * after the receiving call.  model-races fails if the memory orders in between
 * do not order the two accesses (engine/races.c).
 */
#include "scenario.h"
#include "weir/async.h"

static weir_sem s;
static weir_ctx ctx;
static int data;

static void none_of(int64_t capacity, weir_policy policy)
{
	EX_ASSERT(weir_sem_init_opts(&s, &(weir_sem_opts){
		.capacity = capacity, .policy = policy }) == WEIR_OK);
	EX_ASSERT(weir_ctx_init(&ctx, NULL, WEIR_FOREVER) == WEIR_OK);
}

static void none_of_one(void)
{
	none_of(1, WEIR_FIFO);
}

static void barging_none_of_one(void)
{
	none_of(1, WEIR_BARGING);
}

static void none_of_two(void)
{
	none_of(2, WEIR_FIFO);
}

static void write_data(void)
{
	ex_touch(&data, sizeof(data), true);
	data++;
}

static void write_and_put(void)
{
	write_data();
	weir_sem_release(&s, 1);
}

static void take_and_read(void)
{
	EX_ASSERT(weir_sem_acquire(&s, 1, NULL) == WEIR_OK);
	ex_touch(&data, sizeof(data), false);
	EX_ASSERT(data == 1);
}

SCENARIO(seen_by_acquire, 3, none_of_one, NULL, take_and_read, write_and_put)
SCENARIO(seen_by_barging, 3, barging_none_of_one, NULL, take_and_read,
	 write_and_put)

static void take_ctx_and_read(void)
{
	EX_ASSERT(weir_sem_acquire(&s, 1, &ctx) == WEIR_OK);
	ex_touch(&data, sizeof(data), false);
	EX_ASSERT(data == 1);
}

SCENARIO(seen_in_ctx, 3, none_of_one, NULL, take_ctx_and_read, write_and_put)

static void try_and_read(void)
{
	if (weir_sem_try_acquire(&s, 1) == WEIR_OK) {
		ex_touch(&data, sizeof(data), false);
		EX_ASSERT(data == 1);
	}
}

SCENARIO(seen_by_try, 3, none_of_one, NULL, try_and_read, write_and_put)

static void upto_and_read(void)
{
	int64_t got;

	EX_ASSERT(weir_sem_acquire_upto(&s, 1, 2, NULL, &got) == WEIR_OK);
	ex_touch(&data, sizeof(data), false);
	EX_ASSERT(data == 1);
}

SCENARIO(seen_by_upto, 3, none_of_two, NULL, upto_and_read, write_and_put)

static int second_data;

static void write_second_and_put(void)
{
	ex_touch(&second_data, sizeof(second_data), true);
	weir_sem_release(&s, 1);
}

static void take_both_and_read(void)
{
	EX_ASSERT(weir_sem_acquire(&s, 2, NULL) == WEIR_OK);
	ex_touch(&data, sizeof(data), false);
	ex_touch(&second_data, sizeof(second_data), false);
}

/* Two releases publish one variable each; one may meet a LOCKED word. */
SCENARIO(seen_of_two_releases, 2, none_of_two, NULL, take_both_and_read,
	 write_and_put, write_second_and_put)

static void check_stat(void)
{
	weir_sem_info info;

	EX_ASSERT(weir_sem_stat(&s, &info) == WEIR_OK);
}

/* The permit is granted by the unlock of a stat. */
SCENARIO(seen_through_stat, 3, none_of_one, NULL, take_and_read, write_and_put,
	 check_stat)

static void use_exclusively(void)
{
	EX_ASSERT(weir_sem_acquire(&s, 1, NULL) == WEIR_OK);
	write_data();
	weir_sem_release(&s, 1);
}

static void one_free(void)
{
	EX_ASSERT(weir_sem_init_opts(&s, &(weir_sem_opts){ .permits = 1 }) ==
		  WEIR_OK);
}

static void one_free_barging(void)
{
	EX_ASSERT(weir_sem_init_opts(&s, &(weir_sem_opts){
		.permits = 1, .policy = WEIR_BARGING }) == WEIR_OK);
}

SCENARIO(seen_by_next_holder, 3, one_free, NULL, use_exclusively,
	 use_exclusively)
SCENARIO(seen_by_next_holder_barging, 3, one_free_barging, NULL,
	 use_exclusively, use_exclusively)

static void idle_and_read(void)
{
	EX_ASSERT(weir_sem_wait_idle(&s, NULL) == WEIR_OK);
	ex_touch(&data, sizeof(data), false);
	EX_ASSERT(data == 1);
}

/* C20: wait_idle sees the writes under the last permit. */
SCENARIO(seen_by_wait_idle, 3, none_of_one, NULL, idle_and_read, write_and_put)

static void write_and_close(void)
{
	write_data();
	weir_sem_close(&s, WEIR_CLOSE_NOW);
}

static void closed_and_read(void)
{
	EX_ASSERT(weir_sem_acquire(&s, 1, NULL) == WEIR_ECLOSED);
	ex_touch(&data, sizeof(data), false);
	EX_ASSERT(data == 1);
}

static void is_closed_and_read(void)
{
	if (weir_sem_is_closed(&s)) {
		ex_touch(&data, sizeof(data), false);
		EX_ASSERT(data == 1);
	}
}

/* C19: WEIR_ECLOSED and is_closed see the writes before the close. */
SCENARIO(seen_by_closed_waiter, 3, none_of_one, NULL, closed_and_read,
	 write_and_close)
SCENARIO(seen_by_is_closed, 3, none_of_one, NULL, is_closed_and_read,
	 write_and_close)

static void write_and_cancel(void)
{
	write_data();
	weir_ctx_cancel(&ctx);
}

static void cancelled_and_read(void)
{
	EX_ASSERT(weir_sem_acquire(&s, 1, &ctx) == WEIR_ECANCELED);
	ex_touch(&data, sizeof(data), false);
	EX_ASSERT(data == 1);
}

static void ended_and_read(void)
{
	if (weir_ctx_err(&ctx) == WEIR_ECANCELED) {
		ex_touch(&data, sizeof(data), false);
		EX_ASSERT(data == 1);
	}
}

static void wait_end_and_read(void)
{
	EX_ASSERT(weir_ctx_wait(&ctx, WEIR_FOREVER) == WEIR_ECANCELED);
	ex_touch(&data, sizeof(data), false);
	EX_ASSERT(data == 1);
}

/* C13: WEIR_ECANCELED sees the writes before the cancel. */
SCENARIO(seen_by_cancelled_waiter, 3, none_of_one, NULL, cancelled_and_read,
	 write_and_cancel)
SCENARIO(seen_by_ctx_err, 3, none_of_one, NULL, ended_and_read,
	 write_and_cancel)
SCENARIO(seen_by_ctx_wait, 3, none_of_one, NULL, wait_end_and_read,
	 write_and_cancel)

static void with_deadline(void)
{
	EX_ASSERT(weir_ctx_init(&ctx, NULL, weir_deadline_after(1000)) == WEIR_OK);
}

static void let_time_pass(void)
{
	ex_clock_advance(1000);
}

/* The same if the deadline passes and the cancel comes first. */
SCENARIO(seen_by_a_late_ctx_err, 3, with_deadline, NULL, ended_and_read,
	 write_and_cancel, let_time_pass)

static weir_err waiter_got;
static bool releaser_saw_closed;

static void one_held(void)
{
	none_of_one();
	waiter_got = WEIR_OK;
	releaser_saw_closed = false;
}

static void wait_for_permit(void)
{
	waiter_got = weir_sem_acquire(&s, 1, NULL);
}

static void close_and_drain(void)
{
	weir_sem_close(&s, WEIR_CLOSE_DRAIN);
}

static void put_and_check_closed(void)
{
	weir_sem_release(&s, 1);
	releaser_saw_closed = weir_sem_is_closed(&s);
}

static void refused_only_after_close(void)
{
	EX_ASSERT(waiter_got == WEIR_OK || releaser_saw_closed);
}

/*
 * C19: if the waiter was refused, the release came after the close, so the
 * releasing thread sees that the semaphore is closed.
 */
SCENARIO(seen_by_release_after_close, 2, one_held, refused_only_after_close,
	 wait_for_permit, close_and_drain, put_and_check_closed)

/*
 * The same in fewer steps, for --stale: the waiter is an operation that is queued
 * from the start.
 */
static weir_op queued;

static void one_queued(void)
{
	one_held();
	weir_op_init(&queued, NULL, NULL, NULL);
	EX_ASSERT(weir_op_submit(&queued, &s, 1, NULL) == WEIR_EQUEUED);
}

static void queued_refused_only_after_close(void)
{
	waiter_got = weir_op_poll(&queued);
	refused_only_after_close();
}

SCENARIO(release_sees_drain_close, 4, one_queued,
	 queued_refused_only_after_close, close_and_drain, put_and_check_closed)

static void close_at_once(void)
{
	weir_sem_close(&s, WEIR_CLOSE_NOW);
}

SCENARIO(release_sees_close_now, 4, one_queued,
	 queued_refused_only_after_close, close_at_once, put_and_check_closed)

/*
 * stat reads the word and granted_ without the lock, and both at one moment: one
 * permit is held while the other one is free.  For --stale.
 */
static void one_free_of_two(void)
{
	EX_ASSERT(weir_sem_init_opts(&s, &(weir_sem_opts){
		.permits = 1, .capacity = 2 }) == WEIR_OK);
	weir_op_init(&queued, NULL, NULL, NULL);
}

static void check_held(void)
{
	weir_sem_info info;

	EX_ASSERT(weir_sem_stat(&s, &info) == WEIR_OK);
	EX_ASSERT(info.free != 1 || info.held == 1);
}

static void submit_two_and_put(void)
{
	EX_ASSERT(weir_op_submit(&queued, &s, 2, NULL) == WEIR_EQUEUED);
	weir_sem_release(&s, 1);
}

SCENARIO(stat_meets_grant, 2, one_free_of_two, NULL, submit_two_and_put,
	 check_held)

static void two_granted(void)
{
	EX_ASSERT(weir_sem_init_opts(&s, &(weir_sem_opts){
		.permits = 1, .capacity = 2 }) == WEIR_OK);
	weir_op_init(&queued, NULL, NULL, NULL);
	submit_two_and_put();
}

static void cancel_queued(void)
{
	EX_ASSERT(weir_op_cancel(&queued) == WEIR_OK);
}

static void check_held_none(void)
{
	weir_sem_info info;

	EX_ASSERT(weir_sem_stat(&s, &info) == WEIR_OK);
	EX_ASSERT(info.held == 0);
}

SCENARIO(stat_meets_cancel, 2, two_granted, NULL, cancel_queued,
	 check_held_none)

/*
 * An acquire whose deadline has passed reads the word and the capacity without the
 * lock, both as before the resize or both as after it.  For --stale.
 */
static void seven_free_of_eight(void)
{
	EX_ASSERT(weir_sem_init_opts(&s, &(weir_sem_opts){
		.permits = 7, .capacity = 8 }) == WEIR_OK);
}

static void grow_to_eight(void)
{
	EX_ASSERT(weir_sem_resize(&s, 8, NULL) == WEIR_OK);
}

static void shrink_to_one(void)
{
	EX_ASSERT(weir_sem_resize(&s, 1, NULL) == WEIR_OK);
}

static void take_four_at_once(void)
{
	weir_err err = weir_sem_acquire_for(&s, 4, 0);

	EX_ASSERT(err == WEIR_OK || err == WEIR_ETOOBIG);
}

SCENARIO(late_acquire_meets_growth, 3, none_of_one, NULL, grow_to_eight,
	 take_four_at_once)
SCENARIO(late_acquire_meets_shrink, 3, seven_free_of_eight, NULL, shrink_to_one,
	 take_four_at_once)
