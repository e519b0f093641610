/* SPDX-License-Identifier: MIT */
/*
 * Corner cases: what holds when a call returns, and mistaken calls that meet
 * correct ones.
 */
#include "scenario.h"

static weir_sem s;
static weir_ctx ctx;
static uint32_t flag;

static void reset(const weir_sem_opts *opts, int64_t deadline_ns)
{
	flag = 0;
	EX_ASSERT(weir_sem_init_opts(&s, opts) == WEIR_OK);
	EX_ASSERT(weir_ctx_init(&ctx, NULL, deadline_ns) == WEIR_OK);
}

static void unbounded_at_0(void)
{
	reset(&(weir_sem_opts){ .flags = WEIR_SEM_UNBOUNDED }, WEIR_FOREVER);
}

static void one_of_two(void)
{
	reset(&(weir_sem_opts){ .permits = 1, .capacity = 2 }, WEIR_FOREVER);
}

static void one_free_misused(void)
{
	reset(&(weir_sem_opts){ .permits = 1 }, WEIR_FOREVER);
	ledger_stop(&s);
	ex_expect_panics();
}

static void two_free_misused(void)
{
	reset(&(weir_sem_opts){ .permits = 2 }, WEIR_FOREVER);
	ledger_stop(&s);
	ex_expect_panics();
}

static void none_with_deadline(void)
{
	reset(&(weir_sem_opts){ .capacity = 2 }, weir_deadline_after(1000));
}

static uint32_t waiters(void)
{
	weir_sem_info info;

	EX_ASSERT(weir_sem_stat(&s, &info) == WEIR_OK);
	return info.waiters;
}

static void until_queued(void)
{
	while (!waiters())
		ex_yield();
}

static void take(void)
{
	EX_ASSERT(weir_sem_acquire(&s, 1, NULL) == WEIR_OK);
}

static void put_two_then_try(void)
{
	weir_sem_release(&s, 2);
	EX_ASSERT(weir_sem_try_acquire(&s, 1) == WEIR_OK);
}

/* C5, C6: the waiter takes one of the two permits; the try gets the other. */
SCENARIO(try_after_release, 2, unbounded_at_0, NULL, take, put_two_then_try)

static void take_two_ctx(void)
{
	EX_ASSERT(weir_sem_acquire(&s, 2, &ctx) == WEIR_ECANCELED);
}

static void cancel_and_check(void)
{
	until_queued();
	weir_ctx_cancel(&ctx);
	EX_ASSERT(waiters() == 0);
	/* C7: the permit that the head blocked is free for a try. */
	EX_ASSERT(weir_sem_try_acquire(&s, 1) == WEIR_OK);
}

/* C13: the waiters have left their queues when cancel returns. */
SCENARIO(cancel_empties_queues, 2, one_of_two, NULL, take_two_ctx,
	 cancel_and_check)

static void take_ctx(void)
{
	(void)!weir_sem_acquire(&s, 1, &ctx);
}

static void put_cancel_try(void)
{
	weir_sem_release(&s, 1);
	weir_ctx_cancel(&ctx);
	/* The acquire is still running: the cancel took back any grant. */
	if (ctx.waiters_)
		EX_ASSERT(weir_sem_try_acquire(&s, 1) == WEIR_OK);
}

/* C13: a cancel takes back permits of a call that has not returned. */
SCENARIO(cancel_takes_back, 3, unbounded_at_0, NULL, take_ctx, put_cancel_try)

static void destroy_too_early(void)
{
	until_queued();
	EX_ASSERT(weir_ctx_destroy(&ctx) == WEIR_EBUSY);
	weir_ctx_cancel(&ctx);
}

/* A context cannot be destroyed while a call waits with it. */
SCENARIO(ctx_destroyed_too_early, 2, one_of_two, NULL, take_two_ctx,
	 destroy_too_early)

static void cancel(void)
{
	weir_ctx_cancel(&ctx);
}

static void wait_idle_ctx(void)
{
	EX_ASSERT(weir_sem_wait_idle(&s, &ctx) == WEIR_ECANCELED);
}

/* C13, C20: a cancel reaches wait_idle at every moment. */
SCENARIO(idle_is_cancelled, 2, one_of_two, NULL, wait_idle_ctx, cancel)

static void grow(void)
{
	(void)!weir_sem_resize(&s, 2, NULL);
}

static void shrink(void)
{
	(void)!weir_sem_resize(&s, 1, NULL);
}

static void put_too_many(void)
{
	(void)!weir_sem_try_release(&s, 1);
}

static void no_permit_created(void)
{
	weir_sem_info info;

	EX_ASSERT(weir_sem_stat(&s, &info) == WEIR_OK);
	EX_ASSERT(info.free <= info.capacity && info.held >= 0);
}

/*
 * C8: a mistaken release that meets a resize creates no permit.  The release is
 * refused, or the resize removes the excess permit when it unlocks.
 */
SCENARIO(over_release_meets_growth, 3, one_free_misused, no_permit_created,
	 grow, put_too_many)
SCENARIO(over_release_meets_shrink, 3, two_free_misused, no_permit_created,
	 shrink, put_too_many)

static void one_of_three_misused(void)
{
	reset(&(weir_sem_opts){ .permits = 1, .capacity = 3 }, WEIR_FOREVER);
	ledger_stop(&s);
	ex_expect_panics();
}

static void put_and_shrink(void)
{
	/* By two: otherwise the word is as before, and the CAS succeeds. */
	(void)!weir_sem_try_release(&s, 1);
	(void)!weir_sem_resize(&s, 1, NULL);
}

static void put_both(void)
{
	(void)!weir_sem_try_release(&s, 2);
}

/* The same if the CAS of the release fails once: it must check again. */
SCENARIO(over_release_meets_release_and_shrink, 2, one_of_three_misused,
	 no_permit_created, put_and_shrink, put_both)

static void ctx_err_twice(void)
{
	weir_err first, then;

	ex_clock_advance(2000);
	first = weir_ctx_err(&ctx);
	ex_set(&flag);
	then = weir_ctx_err(&ctx);
	EX_ASSERT(first != WEIR_OK && first == then);
}

/* ctx.h: weir_ctx_err returns the same reason every time. */
SCENARIO(ctx_err_does_not_change, 2, none_with_deadline, NULL, cancel,
	 ctx_err_twice)

static void take_fails_as_ctx(void)
{
	weir_err err = weir_sem_acquire(&s, 1, &ctx);

	EX_ASSERT(err != WEIR_OK && err == weir_ctx_err(&ctx));
}

/* A failed acquire returns the reason that weir_ctx_err returns. */
SCENARIO(acquire_returns_ctx_err, 2, none_with_deadline, NULL,
	 take_fails_as_ctx, cancel)

static void barging_none_of_two(void)
{
	reset(&(weir_sem_opts){ .capacity = 2, .policy = WEIR_BARGING },
	      WEIR_FOREVER);
}

static void put_two_late(void)
{
	until_queued();
	weir_sem_release(&s, 2);
	/* The woken head may be delayed for any time. */
	ex_clock_advance(5000000);
}

/* C30: a waiter behind a woken head that does not run is granted. */
SCENARIO(barging_second_is_granted, 2, barging_none_of_two, NULL, take, take,
	 put_two_late)

static void none_of_one_misused(void)
{
	reset(&(weir_sem_opts){ .capacity = 1 }, WEIR_FOREVER);
	ledger_stop(&s);
}

static void unbounded_misused(void)
{
	unbounded_at_0();
	ledger_stop(&s);
}

static void put_twice_and_cancel(void)
{
	until_queued();
	weir_sem_release(&s, 1);
	/* A mistake: the granted permit counts as held, so it is accepted. */
	(void)!weir_sem_try_release(&s, 1);
	weir_ctx_cancel(&ctx);
}

/* C8, C13: permits that a cancel takes back do not exceed the capacity. */
SCENARIO(take_back_stays_within_capacity, 2, none_of_one_misused,
	 no_permit_created, take_ctx, put_twice_and_cancel)

static void take_all_ctx(void)
{
	(void)!weir_sem_acquire(&s, WEIR_SEM_MAX, &ctx);
}

static void put_all_twice_and_cancel(void)
{
	until_queued();
	weir_sem_release(&s, WEIR_SEM_MAX);
	(void)!weir_sem_try_release(&s, WEIR_SEM_MAX);
	weir_ctx_cancel(&ctx);
}

static void not_past_the_maximum(void)
{
	weir_sem_info info;

	EX_ASSERT(weir_sem_stat(&s, &info) == WEIR_OK);
	EX_ASSERT(info.debt == 0 && info.free <= WEIR_SEM_MAX);
}

/* C9: the same for the maximum of an unbounded semaphore. */
SCENARIO(take_back_stays_within_maximum, 2, unbounded_misused,
	 not_past_the_maximum, take_all_ctx, put_all_twice_and_cancel)

static void none_of_one_with_deadline(void)
{
	reset(&(weir_sem_opts){ .capacity = 1 }, weir_deadline_after(1000));
}

static void take_late(void)
{
	(void)!weir_sem_acquire(&s, 1, &ctx);
	ex_set(&flag);
}

static void put_late_and_destroy(void)
{
	while (!waiters()) {
		if (flag)
			return;
		ex_yield();
	}
	weir_sem_release(&s, 1);
	ex_clock_advance(2000);
	/* The give-back may happen while the failing destroy returns. */
	while (ex_recheck(), weir_sem_destroy(&s) == WEIR_EBUSY)
		ex_yield();
	ex_free(&s, sizeof(s));
}

/*
 * The waiter is granted and its deadline passes.  Destroy is refused until the
 * waiter has given the permits back.
 */
SCENARIO(destroy_waits_for_give_back, 2, none_of_one_with_deadline, NULL,
	 take_late, put_late_and_destroy)

/*
 * C5: the queue is empty before the growth and after it, and enough permits are
 * free, so a try during the growth succeeds.
 */
static void five_free(void)
{
	reset(&(weir_sem_opts){ .permits = 5 }, WEIR_FOREVER);
}

static void take_eight_ctx(void)
{
	EX_ASSERT(weir_sem_acquire(&s, 8, &ctx) == WEIR_OK);
}

static uint32_t oversized(void)
{
	weir_sem_info info;

	/* More than one load: the caller waits with ex_yield. */
	ex_recheck();
	EX_ASSERT(weir_sem_stat(&s, &info) == WEIR_OK);
	return info.oversized;
}

static void grow_to_twenty(void)
{
	while (!oversized())
		ex_yield();
	ex_set(&flag);
	EX_ASSERT(weir_sem_resize(&s, 20, NULL) == WEIR_OK);
}

static void try_one(void)
{
	ex_await(&flag);
	EX_ASSERT(weir_sem_try_acquire(&s, 1) == WEIR_OK);
}
SCENARIO(try_meets_growth, 3, five_free, NULL, take_eight_ctx, grow_to_twenty,
	 try_one)

static void none_of_two(void)
{
	reset(&(weir_sem_opts){ .capacity = 2 }, WEIR_FOREVER);
}

static void destroy_too_early_and_put(void)
{
	until_queued();
	EX_ASSERT(weir_sem_destroy(&s) == WEIR_EBUSY);
	weir_sem_release(&s, 1);
}

/* C22: a destroy is refused while a waiter is queued, and has no effect. */
SCENARIO(destroy_meets_head, 3, none_of_two, NULL, take,
	 destroy_too_early_and_put)

static void shrink_and_wait_idle(void)
{
	int64_t debt;

	EX_ASSERT(weir_sem_resize(&s, 1, &debt) == WEIR_OK);
	EX_ASSERT(weir_sem_wait_idle(&s, NULL) == WEIR_OK);
	EX_ASSERT(weir_sem_available(&s) == 1);
}

static void put(void)
{
	weir_sem_release(&s, 1);
}

static void is_idle(void)
{
	check_quiet(&s);
	EX_ASSERT(weir_sem_available(&s) == s.capacity_);
}

/* C20, C21, N4: the semaphore is idle once the debt is paid. */
SCENARIO(shrink_then_idle, 3, none_of_two, is_idle, shrink_and_wait_idle,
	 put, put)

/*
 * A thread that finds the lock held sleeps until an unlock wakes it.  Each
 * unlock wakes one thread.
 */
static void hold_lock(void)
{
	lock_and_unlock(&s);
}
SCENARIO(lock_is_contended, 3, one_of_two, NULL, hold_lock,
	 hold_lock)
SCENARIO(lock_is_contended_by_three, 2, one_of_two, NULL, hold_lock,
	 hold_lock, hold_lock)

/* A thread that is overtaken repeatedly becomes starved, and gets the lock. */
static void lock_in_a_loop(void)
{
	for (int i = 0; i < 6; i++)
		hold_lock();
}
SCENARIO(lock_is_taken_in_a_loop, 3, one_of_two, NULL, lock_in_a_loop,
	 hold_lock)
