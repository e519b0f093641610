/* SPDX-License-Identifier: MIT */
/* The BARGING semaphore under every schedule of a few threads.  C30. */
#include "core/sem_queue.h"
#include "core/sem_word.h"
#include "scenario.h"

static weir_sem s;
static weir_ctx ctx;
static int inside;
static weir_err results[EX_THREADS];

static void reset(int64_t permits, int64_t capacity)
{
	inside = 0;
	memset(results, 0, sizeof(results));
	EX_ASSERT(weir_sem_init_opts(&s, &(weir_sem_opts){
		.permits = permits,
		.capacity = capacity,
		.policy = WEIR_BARGING }) == WEIR_OK);
	EX_ASSERT(weir_ctx_init(&ctx, NULL, WEIR_FOREVER) == WEIR_OK);
}

static void one_free(void)
{
	reset(1, 1);
}

static void two_free(void)
{
	reset(2, 2);
}

static void none_of_one(void)
{
	reset(0, 1);
}

static void none_of_two(void)
{
	reset(0, 2);
}

static void all_back(void)
{
	check_quiet(&s);
	EX_ASSERT(weir_sem_available(&s) == s.capacity_);
}

static void nothing_left(void)
{
	check_quiet(&s);
	EX_ASSERT(weir_sem_available(&s) == 0);
}

static void take(void)
{
	EX_ASSERT(weir_sem_acquire(&s, 1, NULL) == WEIR_OK);
}

static void put(void)
{
	weir_sem_release(&s, 1);
}

static void late_put(void)
{
	ex_clock_advance(2000000);
	put();
}

static void cancel(void)
{
	weir_ctx_cancel(&ctx);
}

static void close_now(void)
{
	weir_sem_close(&s, WEIR_CLOSE_NOW);
}

static void exclusive(void)
{
	take();
	EX_ASSERT(inside++ == 0);
	EX_ASSERT(--inside == 0);
	put();
}

static void light(void)
{
	take();
	put();
}

static void heavy(void)
{
	EX_ASSERT(weir_sem_acquire(&s, 2, NULL) == WEIR_OK);
	EX_ASSERT(inside++ == 0);
	EX_ASSERT(--inside == 0);
	weir_sem_release(&s, 2);
}

SCENARIO(barging_mutex_of_two, 3, one_free, all_back, exclusive, exclusive)
SCENARIO(barging_mutex_of_three, 2, one_free, all_back, exclusive, exclusive,
	 exclusive)
SCENARIO(barging_weights, 2, two_free, all_back, heavy, light, light)
SCENARIO(barging_two_releases_two_waiters, 2, none_of_two, nothing_left, take,
	 take, put, put)
SCENARIO(barging_overdue, 2, none_of_two, nothing_left, take, take, late_put,
	 put)

static void take_ctx(void)
{
	results[ex_self()] = weir_sem_acquire(&s, 1, &ctx);
}

static void take_timed(void)
{
	results[ex_self()] = weir_sem_acquire_for(&s, 1, 1000);
}

static void adds_up(void)
{
	check_quiet(&s);
	EX_ASSERT(weir_sem_available(&s) == (results[0] == WEIR_OK ? 0 : 1));
}

/*
 * The head was woken to retry.  Before it runs it is cancelled, times out, or
 * the semaphore is closed.
 */
SCENARIO(barging_cancel, 2, none_of_one, adds_up, take_ctx, put, cancel)
SCENARIO(barging_timeout, 3, none_of_one, adds_up, take_timed, put)
SCENARIO(barging_close, 2, none_of_one, adds_up, take_ctx, put, close_now)
SCENARIO(barging_cancel_close, 2, none_of_one, adds_up, take_ctx, put, cancel,
	 close_now)

static void timed_light(void)
{
	if (weir_sem_acquire_for(&s, 1, 1000) == WEIR_OK)
		put();
}

/* A woken head that times out must let the next waiter be woken. */
SCENARIO(barging_woken_head_times_out, 2, none_of_one, all_back, timed_light,
	 light, put)

static void take_and_free(void)
{
	take();
	EX_ASSERT(weir_sem_destroy(&s) == WEIR_OK);
	ex_free(&s, sizeof(s));
}

/* C22: the waiter frees while the releasing thread is inside release. */
SCENARIO(barging_freed_by_waiter, 3, none_of_one, NULL, take_and_free, put)
SCENARIO(barging_freed_overdue, 3, none_of_one, NULL, take_and_free, late_put)

static void shrink_and_grow(void)
{
	EX_ASSERT(weir_sem_resize(&s, 1, NULL) == WEIR_OK);
	EX_ASSERT(weir_sem_resize(&s, 2, NULL) == WEIR_OK);
}

static void heavy_ctx(void)
{
	weir_err err = weir_sem_acquire(&s, 2, &ctx);

	EX_ASSERT(err == WEIR_OK);
	weir_sem_release(&s, 2);
}

/* A woken head becomes oversized and joins the queue again. */
SCENARIO(barging_head_becomes_oversized, 2, two_free, all_back, heavy_ctx,
	 light, shrink_and_grow)

/*
 * A lost wake-up is no deadlock: the head wakes at its starvation bound.  So
 * check the state.  While the word is not LOCKED, a head that fits has been
 * woken to retry, and a head that has been woken is about to be notified or to
 * retry.
 */
static void check_head(void)
{
	const struct weir_waiter_ *head;

	if (weir_door_(s.word_) == WEIR_LOCKED_ || !s.queue_)
		return;
	head = weir_waiter_of_(s.queue_);
	EX_ASSERT(head->woken_to_retry || weir_value_(s.word_) < head->min);
	EX_ASSERT(head->notify || !head->woken_to_retry);
}

static void timed_light_and_check(void)
{
	timed_light();
	check_head();
}

static void light_and_check(void)
{
	light();
	check_head();
}

static void put_and_check(void)
{
	put();
	check_head();
}

SCENARIO(barging_retry_is_not_lost, 2, none_of_one, all_back,
	 timed_light_and_check, light_and_check, put_and_check)

static void put_and_pass(void)
{
	put_and_check();
	light_and_check();
}

static void put_and_pass_often(void)
{
	put_and_check();
	for (int i = 0; i < 3; i++)
		light_and_check();
}

static void put_and_pass_late(void)
{
	put_and_check();
	ex_clock_advance(2000000);
	light_and_check();
}

static void try_light(void)
{
	if (weir_sem_acquire(&s, 1, &ctx) == WEIR_OK)
		put();
}

static void put_and_try_to_pass(void)
{
	put();
	try_light();
}

static void one_left(void)
{
	check_quiet(&s);
	EX_ASSERT(weir_sem_available(&s) == 1);
}

/*
 * The head was woken to retry, and a newcomer passes it.  With --spin the head
 * spins before it sleeps and before it retries.  Meanwhile it is passed,
 * cancelled, granted because it is overdue, or refused.
 */
SCENARIO(barging_head_is_passed, 3, none_of_one, all_back, light_and_check,
	 put_and_pass)
SCENARIO(barging_head_is_passed_often, 3, none_of_one, all_back,
	 light_and_check, put_and_pass_often)
SCENARIO(barging_two_are_passed, 2, none_of_one, all_back, light_and_check,
	 light_and_check, put_and_pass)
SCENARIO(barging_overdue_head_is_passed, 2, none_of_one, all_back,
	 light_and_check, light_and_check, put_and_pass_late)
SCENARIO(barging_passed_head_is_cancelled, 2, none_of_one, all_back, try_light,
	 put_and_pass, cancel)
SCENARIO(barging_passed_head_is_refused, 2, none_of_one, one_left, try_light,
	 put_and_try_to_pass, close_now)

static void heavy_cancelled(void)
{
	EX_ASSERT(weir_sem_acquire(&s, 2, &ctx) == WEIR_ECANCELED);
}

static void second(void)
{
	while (s.waiters_ < 1)
		ex_yield();
	take();
}

static void third_cancelled(void)
{
	while (s.waiters_ < 2)
		ex_yield();
	EX_ASSERT(weir_sem_acquire(&s, 1, &ctx) == WEIR_ECANCELED);
}

static void put_cancel_and_barge(void)
{
	while (s.waiters_ < 3)
		ex_yield();
	put();
	cancel();
	if (weir_sem_try_acquire(&s, 1) == WEIR_OK) {
		/* Wait until the head has retried. */
		while (weir_waiter_of_(s.queue_)->notify)
			ex_yield();
		put();
	}
}

/*
 * The second waiter is notified between the two others, its retry fails, and it
 * is notified again.
 */
SCENARIO(barging_woken_to_retry_twice, 2, none_of_two, nothing_left,
	 heavy_cancelled, second, third_cancelled, put_cancel_and_barge)

static void barge_past_the_bound(void)
{
	weir_sem_info info;

	while (s.waiters_ < 1)
		ex_yield();
	put();
	if (weir_sem_try_acquire(&s, 1) != WEIR_OK)
		return;
	ex_clock_advance(2000000);
	EX_ASSERT(weir_sem_stat(&s, &info) == WEIR_OK);
	put();
	EX_ASSERT(weir_sem_try_acquire(&s, 1) == WEIR_EAGAIN);
}

/* C30: past the starvation bound the head gets the next permits. */
SCENARIO(barging_overdue_head_is_next, 2, none_of_one, nothing_left, take,
	 barge_past_the_bound)

static uint32_t second_done;

static void none_of_two_done(void)
{
	none_of_two();
	second_done = 0;
}

/* A signal handler.  Delays the head only while the head waits. */
static void delay_head(void)
{
	if (s.waiters_ == 2 && weir_door_(s.word_) != WEIR_LOCKED_)
		ex_await(&second_done);
}

static void delayed_head(void)
{
	ex_signal(delay_head);
	take();
}

static void second_and_set(void)
{
	second();
	ex_set(&second_done);
}

static void put_both(void)
{
	while (s.waiters_ < 2)
		ex_yield();
	weir_sem_release(&s, 2);
}

/*
 * C30: a waiter behind a woken head that does not run is granted at its own
 * starvation bound.
 */
SCENARIO(barging_head_does_not_run, 2, none_of_two_done, nothing_left,
	 delayed_head, second_and_set, put_both)
