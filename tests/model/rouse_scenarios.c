/* SPDX-License-Identifier: MIT */
/*
 * Rousing under every schedule: a hand-off wakes the waiter behind the granted
 * one, which is granted, gives up or is cancelled meanwhile.  Waiters are roused
 * only with --spin.
 */
#include "core/sem_queue.h"
#include "scenario.h"

static weir_sem s;
static weir_ctx ctx;
static uint32_t gone;		/* waiters that were not granted */

/* Return the permit when n waiters have been queued. */
static void pass_on_to(uint32_t n)
{
	/* relaxed: the sum grows until the release. */
	while (ex_recheck(),
	       at_load_relaxed(&s.waiters_) + at_load_relaxed(&gone) < n)
		ex_yield();
	weir_sem_release(&s, 1);
}

static void pass_on_to_two(void)
{
	pass_on_to(2);
}

static void pass_on_to_three(void)
{
	pass_on_to(3);
}

static void none_of_one(void)
{
	EX_ASSERT(weir_sem_init_opts(&s, &(weir_sem_opts){
		.capacity = 1 }) == WEIR_OK);
	EX_ASSERT(weir_ctx_init(&ctx, NULL, WEIR_FOREVER) == WEIR_OK);
	gone = 0;
}

static void pass_on(void)
{
	EX_ASSERT(weir_sem_acquire(&s, 1, NULL) == WEIR_OK);
	weir_sem_release(&s, 1);
}

static void one_is_free(void)
{
	check_quiet(&s);
	EX_ASSERT(weir_sem_available(&s) == 1);
}

/* C6: every waiter is granted, roused or not. */
SCENARIO(rouse_two, 3, none_of_one, one_is_free, pass_on, pass_on,
	 pass_on_to_two)
SCENARIO(rouse_three, 2, none_of_one, one_is_free, pass_on, pass_on, pass_on,
	 pass_on_to_three)

/* The call of a waiter has returned err, or would return `refused`. */
static void end(weir_err err, weir_err refused)
{
	EX_ASSERT(err == WEIR_OK || err == refused);
	if (err)
		/* relaxed: see pass_on_to. */
		(void)at_add_relaxed(&gone, 1);
	else
		weir_sem_release(&s, 1);
}

static void pass_on_in_time(void)
{
	weir_err err = weir_sem_acquire_for(&s, 1, 100);

	end(err, WEIR_ETIMEDOUT);
}

/* C14: a roused waiter gives up at its deadline, or is granted. */
SCENARIO(rouse_meets_deadline, 2, none_of_one, one_is_free, pass_on,
	 pass_on_in_time, pass_on_to_two)

static void pass_on_within(void)
{
	weir_err err = weir_sem_acquire(&s, 1, &ctx);

	end(err, WEIR_ECANCELED);
}

static void cancel(void)
{
	weir_ctx_cancel(&ctx);
}

/* C7, C13: a roused waiter is cancelled, and the next one is granted. */
SCENARIO(rouse_meets_cancel, 2, none_of_one, one_is_free, pass_on,
	 pass_on_within, cancel, pass_on_to_two)

static void pass_on_unless_closed(void)
{
	weir_err err = weir_sem_acquire(&s, 1, NULL);

	end(err, WEIR_ECLOSED);
}

static void close_now(void)
{
	weir_sem_close(&s, WEIR_CLOSE_NOW);
}

/* C19: a roused waiter is refused by a close. */
SCENARIO(rouse_meets_close, 2, none_of_one, one_is_free,
	 pass_on_unless_closed, pass_on_unless_closed, close_now,
	 pass_on_to_two)

static uint32_t passed;

static void none_have_passed(void)
{
	none_of_one();
	passed = 0;
}

static void pass_on_or_destroy(void)
{
	EX_ASSERT(weir_sem_acquire(&s, 1, NULL) == WEIR_OK);
	if (passed++)
		EX_ASSERT(weir_sem_destroy(&s) == WEIR_OK);
	else
		weir_sem_release(&s, 1);
}

/*
 * C22: the last holder destroys the semaphore while the threads that granted and
 * roused it are still in their calls.
 */
SCENARIO(rouse_meets_destroy, 3, none_have_passed, NULL, pass_on_or_destroy,
	 pass_on_or_destroy, pass_on_to_two)

static bool roused, may_end;

static void none_roused(void)
{
	none_of_one();
	roused = may_end = false;
}

static void hold_on(void)
{
	EX_ASSERT(weir_sem_acquire(&s, 1, NULL) == WEIR_OK);
	/* relaxed: the scenario orders nothing else by it. */
	while (!at_load_relaxed(&may_end))
		ex_yield();
	weir_sem_release(&s, 1);
}

/* The second waiter is roused and sleeps again before the first one releases. */
static void pass_on_and_delay(void)
{
	struct weir_waiter_ *second;

	/* relaxed: the waiters stay in the queue until the release. */
	while (ex_recheck(), at_load_relaxed(&s.waiters_) < 2)
		ex_yield();
	EX_ASSERT(weir_sem_lock_(&s, "scenario") == WEIR_OK);
	second = weir_waiter_of_(s.queue_->next_);
	weir_sem_unlock_(&s, 0);
	/* relaxed: the scenario orders nothing else by it. */
	while (at_load_relaxed(&second->state) != WEIR_SLEEPING_)
		ex_yield();
	weir_sem_release(&s, 1);
	/*
	 * The permit went to the first: the second waits until may_end.  It
	 * sleeps again if it was roused before the lock.
	 */
	while (at_load_relaxed(&second->state) != WEIR_SLEEPING_)
		ex_yield();
	EX_ASSERT(weir_sem_lock_(&s, "scenario") == WEIR_OK);
	roused = second->roused &&
		 at_load_relaxed(&second->state) == WEIR_SLEEPING_;
	weir_sem_unlock_(&s, 0);
	/* relaxed: see hold_on. */
	at_store_relaxed(&may_end, true);
}

/* A failure is recorded, and the next hand-off rouses no waiter. */
static void failure_is_recorded(void)
{
	uint32_t rousing = s.state_ & WEIR_STATE_ROUSING_;

	one_is_free();
	/* If another thread held the lock, then its unlock may rouse later. */
	EX_ASSERT(rousing == (1u << 8 | 1u << 11) || (!roused && !rousing));
}

SCENARIO(rouse_fails, 2, none_roused, failure_is_recorded, hold_on, hold_on,
	 pass_on_and_delay)
