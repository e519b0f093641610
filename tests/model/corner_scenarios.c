/* SPDX-License-Identifier: MIT */
/* Corners: what a call has promised when it returns, and wrong calls that meet
 * right ones. */
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

static void signal_at_0(void)
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

static void none_soon_late(void)
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

/* C5, C6: the waiter wants one of the two; the other is there to be had. */
SCENARIO(try_after_release, 2, signal_at_0, NULL, take, put_two_then_try)

static void take_two_ctx(void)
{
	EX_ASSERT(weir_sem_acquire(&s, 2, &ctx) == WEIR_ECANCELED);
}

static void cancel_and_look(void)
{
	until_queued();
	weir_ctx_cancel(&ctx);
	EX_ASSERT(waiters() == 0);
	/* C7: and what it stood in the way of can be had. */
	EX_ASSERT(weir_sem_try_acquire(&s, 1) == WEIR_OK);
}

/* C13: the waiters have left their queues when cancel returns. */
SCENARIO(cancel_empties_queues, 2, one_of_two, NULL, take_two_ctx,
	 cancel_and_look)

static void take_ctx(void)
{
	(void)!weir_sem_acquire(&s, 1, &ctx);
}

static void put_cancel_try(void)
{
	weir_sem_release(&s, 1);
	weir_ctx_cancel(&ctx);
	/* Still inside its call: it holds nothing, also if it was granted. */
	if (ctx.waiters_)
		EX_ASSERT(weir_sem_try_acquire(&s, 1) == WEIR_OK);
}

/* C13: what was granted and not returned with is taken back by the cancel. */
SCENARIO(cancel_takes_back, 3, signal_at_0, NULL, take_ctx, put_cancel_try)

static void destroy_too_early(void)
{
	until_queued();
	EX_ASSERT(weir_ctx_destroy(&ctx) == WEIR_EBUSY);
	weir_ctx_cancel(&ctx);
}

/* A context cannot be destroyed under a call that is in the queue with it. */
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

/* C13, C20: a cancel finds who waits for idleness, however early. */
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

static void nothing_created(void)
{
	weir_sem_info info;

	EX_ASSERT(weir_sem_stat(&s, &info) == WEIR_OK);
	EX_ASSERT(info.free <= info.capacity && info.held >= 0);
}

/* C8: one release too many that meets a resize creates no permit: refused
 * there, or noticed here, also if it comes as late as the unlock. */
SCENARIO(over_release_meets_growth, 3, one_free_misused, nothing_created, grow,
	 put_too_many)
SCENARIO(over_release_meets_shrink, 3, two_free_misused, nothing_created,
	 shrink, put_too_many)

static void ask_twice(void)
{
	weir_err first, then;

	ex_clock_advance(2000);
	first = weir_ctx_err(&ctx);
	ex_set(&flag);
	then = weir_ctx_err(&ctx);
	EX_ASSERT(first != WEIR_OK && first == then);
}

/* ctx.h: why it ended stays as it was first told. */
SCENARIO(ctx_err_does_not_change, 2, none_soon_late, NULL, cancel, ask_twice)

static void take_why(void)
{
	weir_err err = weir_sem_acquire(&s, 1, &ctx);

	EX_ASSERT(err != WEIR_OK && err == weir_ctx_err(&ctx));
}

/* The acquire gives the reason that its context gives. */
SCENARIO(acquire_returns_ctx_err, 2, none_soon_late, NULL, take_why, cancel)

static void barging_none_of_two(void)
{
	reset(&(weir_sem_opts){ .capacity = 2, .policy = WEIR_BARGING },
	      WEIR_FOREVER);
}

static void put_two_late(void)
{
	until_queued();
	weir_sem_release(&s, 2);
	/* The called head may be away for as long as it likes. */
	ex_clock_advance(5000000);
}

/* C30: who sleeps behind a called head that is away is served all the same. */
SCENARIO(barging_second_is_granted, 2, barging_none_of_two, NULL, take, take,
	 put_two_late)

static void none_of_one_misused(void)
{
	reset(&(weir_sem_opts){ .capacity = 1 }, WEIR_FOREVER);
	ledger_stop(&s);
}

static void signal_misused(void)
{
	signal_at_0();
	ledger_stop(&s);
}

static void put_twice_and_cancel(void)
{
	until_queued();
	weir_sem_release(&s, 1);
	/* By mistake: what was granted counts as out, so it is accepted. */
	(void)!weir_sem_try_release(&s, 1);
	weir_ctx_cancel(&ctx);
}

/* C8, C13: a cancel takes back no more than the capacity has room for. */
SCENARIO(take_back_stays_within_capacity, 2, none_of_one_misused, nothing_created,
	 take_ctx, put_twice_and_cancel)

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

/* C9: nor than an unbounded one can hold. */
SCENARIO(take_back_stays_within_maximum, 2, signal_misused, not_past_the_maximum,
	 take_all_ctx, put_all_twice_and_cancel)

static void none_of_one_soon_late(void)
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
	/* What makes it succeed may come while it returns. */
	while (ex_look(), weir_sem_destroy(&s) == WEIR_EBUSY)
		ex_yield();
	ex_free(&s, sizeof(s));
}

/* Granted, then late: destroy is refused until the permits are given back. */
SCENARIO(destroy_waits_for_give_back, 2, none_of_one_soon_late, NULL, take_late,
	 put_late_and_destroy)

/* C5: nobody is queued before the growth nor after it, and enough are free. */
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

/* C22: a destroy is refused while the head waits, and changes nothing. */
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

static void idle_at_last(void)
{
	check_quiet(&s);
	EX_ASSERT(weir_sem_available(&s) == s.capacity_);
}

/* C20, C21, N4: the debt is paid, and it is idle. */
SCENARIO(shrink_then_idle, 3, none_of_two, idle_at_last, shrink_and_wait_idle,
	 put, put)
