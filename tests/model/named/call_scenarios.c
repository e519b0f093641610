/* SPDX-License-Identifier: MIT */
/*
 * Calls that meet deaths and stops: deadlines, cancels, weights, resize, close,
 * pause, idle waits and tries.
 */
#include "roles.h"

#define SOON (ex->now_ns + 500000)

/*
 * Deadlines.
 */
static void wait_a_while(void)
{
	weir_err err;

	join(1);
	err = take_until(1, SOON);
	EX_ASSERT(err == WEIR_OK || err == WEIR_ETIMEDOUT);
	if (!err)
		give(1);
}

PROCESSES(deadline_passes, 3, NONE, ALL, NULL, hold, wait_a_while)
PROCESSES(deadline_meets_death, 3, P(0), NONE, NULL, hold, wait_a_while)
PROCESSES(deadline_meets_release, 2, ALL, NONE, NULL, hold_and_give, wait_a_while)
PROCESSES(deadline_meets_stopped_lock_owner, 2, NONE, P(0), NULL, hold_and_give,
	  wait_a_while)
PROCESSES(deadline_of_the_first, 2, ALL, NONE, NULL, hold_and_give, wait_a_while,
	  wait_and_give)
PROCESSES(deadline_of_the_first_with_stops, 2, NONE, ALL, NULL, hold_and_give,
	  wait_a_while, wait_and_give)

/* The waiting thread finds that the holder is dead; the lock is not available. */
static void lock_once(void)
{
	join(1);
	proc_settle();
	EX_ASSERT(resize(1) == WEIR_OK);
}

WATCHING_PROCESSES(deadline_meets_death_and_stopped_lock_owner, 2, P(0), P(2), NULL,
		   hold, wait_a_while, lock_once)
WATCHING_PROCESSES(deadline_meets_watched_death, 2, P(0), P(1), NULL, hold,
		   wait_a_while)

static void come_for_a_while(void)
{
	weir_err err;

	join(1);
	proc_settle();
	err = take_until(1, SOON);
	EX_ASSERT(err == WEIR_OK || err == WEIR_ETIMEDOUT);
	if (!err)
		give(1);
}

PROCESSES(deadline_of_a_newcomer_with_stops, 2, NONE, P(0), NULL, hold_and_give,
	  come_for_a_while)

/*
 * Cancels.  One process has a waiting thread and a cancelling one.
 */
static weir_ctx ctx;

static void *cancel_it(void *unused)
{
	(void)unused;
	proc_settle();
	cancel(&ctx);
	return NULL;
}

static void wait_in_context(void)
{
	weir_err err;

	join(1);
	EX_ASSERT(weir_ctx_init(&ctx, NULL, WEIR_FOREVER) == WEIR_OK);
	proc_thread(cancel_it, NULL);
	err = take_in(1, &ctx);
	EX_ASSERT(err == WEIR_OK || err == WEIR_ECANCELED);
	if (!err)
		give(1);
}

static void come_in_context(void)
{
	weir_err err;

	join(1);
	EX_ASSERT(weir_ctx_init(&ctx, NULL, WEIR_FOREVER) == WEIR_OK);
	proc_thread(cancel_it, NULL);
	proc_settle();
	err = take_in(1, &ctx);
	EX_ASSERT(err == WEIR_OK || err == WEIR_ECANCELED);
	if (!err)
		give(1);
}

/* The holder lives, so the call must be cancelled. */
static void was_cancelled(void)
{
	if (is_well(0) && is_well(1))
		EX_ASSERT(!is_waiting(1));
}

PROCESSES(cancel_of_a_newcomer, 2, NONE, P(0), was_cancelled, hold,
	  come_in_context)
PROCESSES(cancel_alone, 3, NONE, ALL, NULL, hold, wait_in_context)
PROCESSES(cancel_meets_release, 2, P(0), NONE, NULL, hold_and_give,
	  wait_in_context)
PROCESSES(cancel_meets_stopped_lock_owner, 2, NONE, P(0), NULL, hold_and_give,
	  wait_in_context)
PROCESSES(cancel_hands_on, 2, P(1), NONE, NULL, hold_and_give, wait_in_context,
	  wait_and_give)
PROCESSES(cancel_hands_on_with_stops, 2, NONE, P(0) | P(1), NULL, hold_and_give,
	  wait_in_context, wait_and_give)
PROCESSES(cancel_meets_death, 2, P(0), NONE, NULL, hold, wait_in_context)
/* The waiting thread may bury the holder while its call is cancelled. */
WATCHING_PROCESSES(cancel_meets_watched_death, 2, P(0), P(1), NULL, hold,
		   wait_in_context)
WATCHING_PROCESSES(cancel_and_watched_death_hand_on, 2, P(0) | P(1), NONE, NULL,
		   hold, wait_in_context, wait_and_give)

/*
 * A cancel of a call that takes a free permit: the call gives the permit back
 * (C13).
 */
static void *cancel_at_once(void *unused)
{
	(void)unused;
	cancel(&ctx);
	return NULL;
}

static void take_in_context(void)
{
	weir_err err;

	join(2);
	EX_ASSERT(weir_ctx_init(&ctx, NULL, WEIR_FOREVER) == WEIR_OK);
	proc_settle();
	proc_thread(cancel_at_once, NULL);
	err = take_in(1, &ctx);
	EX_ASSERT(err == WEIR_OK || err == WEIR_ECANCELED);
	if (!err)
		give(1);
}

static void take_1_of_2_and_give(void)
{
	join(2);
	proc_settle();
	EX_ASSERT(take(1) == WEIR_OK);
	give(1);
}

PROCESSES(cancel_meets_a_free_permit, 2, NONE, NONE, NULL, take_in_context,
	  take_1_of_2_and_give)

/*
 * The deadline of the context passes when the call has its permit, and before it
 * returns: it gives the permit back.  The permit was granted, or taken at once.
 */
static void hold_and_give_in_time(void)
{
	join(1);
	EX_ASSERT(take(1) == WEIR_OK);
	proc_settle();
	give(1);
	ex_clock_advance(1000000);
}

static void wait_until_late(void)
{
	weir_err err;

	join(1);
	EX_ASSERT(weir_ctx_init(&ctx, NULL, SOON) == WEIR_OK);
	err = take_in(1, &ctx);
	EX_ASSERT(err == WEIR_OK || err == WEIR_ETIMEDOUT);
	if (!err)
		give(1);
}

static void take_when_late(void)
{
	int64_t got = 1;

	join(1);
	EX_ASSERT(weir_ctx_init(&ctx, NULL, SOON) == WEIR_OK);
	ex_clock_advance(1000000);
	proc_settle();
	EX_ASSERT(weir_nm_wait_(handle_of(0), 1, 1, &ctx, WEIR_FOREVER, &got) ==
		  WEIR_ETIMEDOUT);
	EX_ASSERT(!got);
	EX_ASSERT(!handle_of(0)->mine->held);
}

PROCESSES(granted_call_is_late, 2, NONE, NONE, NULL, hold_and_give_in_time,
	  wait_until_late)
PROCESSES(call_with_a_permit_is_late, 2, NONE, NONE, NULL, take_when_late)

/* The same while a stopped process has the lock: the keeper does it later. */
static void hold_1_and_give_back(void)
{
	join(2);
	EX_ASSERT(take(1) == WEIR_OK);
	proc_settle();
	give_back(1);
}

PROCESSES(permits_go_back_without_the_lock, 2, NONE, P(1), NULL,
	  hold_1_and_give_back, take_1_of_2_and_give)

/*
 * Weights: the first of the queue blocks the others until it leaves (C6, C7).
 */
static void hold_1_of_2(void)
{
	hold_of(2, 1);
}

static void wait_for_2(void)
{
	join(2);
	EX_ASSERT(take(2) == WEIR_OK);
	give(2);
}

static void wait_for_1(void)
{
	join(2);
	EX_ASSERT(take(1) == WEIR_OK);
	give(1);
}

static void wait_for_2_a_while(void)
{
	weir_err err;

	join(2);
	err = take_until(2, SOON);
	EX_ASSERT(err == WEIR_OK || err == WEIR_ETIMEDOUT);
	if (!err)
		give(2);
}

static void wait_for_2_in_context(void)
{
	weir_err err;

	join(2);
	EX_ASSERT(weir_ctx_init(&ctx, NULL, WEIR_FOREVER) == WEIR_OK);
	proc_thread(cancel_it, NULL);
	err = take_in(2, &ctx);
	EX_ASSERT(err == WEIR_OK || err == WEIR_ECANCELED);
	if (!err)
		give(2);
}

PROCESSES(heavy_first_dies, 3, P(1), P(1), NULL, hold_1_of_2, wait_for_2,
	  wait_for_1)
PROCESSES(heavy_first_times_out, 2, NONE, ALL, NULL, hold_1_of_2,
	  wait_for_2_a_while, wait_for_1)
PROCESSES(heavy_first_is_cancelled, 2, P(1), NONE, NULL, hold_1_of_2,
	  wait_for_2_in_context, wait_for_1)

static void hold_2_give_both(void)
{
	join(2);
	EX_ASSERT(take(2) == WEIR_OK);
	proc_settle();
	give(1);
	give(1);
}

PROCESSES(heavy_first_is_served_first, 2, P(0), NONE, NULL, hold_2_give_both,
	  wait_for_2, wait_for_1)
PROCESSES(two_holders_die, 3, P(0) | P(1), NONE, NULL, hold_1_of_2, hold_1_of_2,
	  wait_for_2)
/* The first of the queue, or the second, buries the holders. */
WATCHING_PROCESSES(two_watched_holders_die, 2, P(0) | P(1), P(2), NULL, hold_1_of_2,
		   hold_1_of_2, wait_for_2)
WATCHING_PROCESSES(heavy_first_dies_watched, 2, P(0) | P(1), P(1), NULL,
		   hold_1_of_2, wait_for_2, wait_for_1)

static void wait_for_1_or_2(void)
{
	int64_t got = 0;

	join(2);
	EX_ASSERT(take_upto(1, 2, NULL, &got) == WEIR_OK);
	EX_ASSERT(got == 1 || got == 2);
	give(got);
}

PROCESSES(upto_takes_what_is_there, 2, P(0), NONE, NULL, hold_2_give_both,
	  wait_for_1_or_2, wait_for_1)

/*
 * Resize.
 */
static void resize_to_2(void)
{
	join(1);
	proc_settle();
	EX_ASSERT(resize(2) == WEIR_OK);
}

PROCESSES(resize_serves_the_first, 2, P(2), P(2), NULL, hold, wait_and_give,
	  resize_to_2)
WATCHING_PROCESSES(resize_meets_watched_death, 2, P(0) | P(2), P(1), NULL, hold,
		   wait_and_give, resize_to_2)
PROCESSES(resize_meets_release, 2, P(0) | P(2), NONE, NULL, hold_and_give,
	  wait_and_give, resize_to_2)

static void wait_for_2_oversized(void)
{
	join(1);
	EX_ASSERT(weir_ctx_init(&ctx, NULL, WEIR_FOREVER) == WEIR_OK);
	EX_ASSERT(take_in(2, &ctx) == WEIR_OK);
	give(2);
}

static void oversized_or_cancelled(void)
{
	weir_err err;

	join(1);
	EX_ASSERT(weir_ctx_init(&ctx, NULL, WEIR_FOREVER) == WEIR_OK);
	proc_thread(cancel_it, NULL);
	err = take_in(2, &ctx);
	EX_ASSERT(err == WEIR_OK || err == WEIR_ECANCELED);
	if (!err)
		give(2);
}

PROCESSES(resize_recalls_oversized, 2, P(1), P(1), NULL, wait_for_2_oversized,
	  resize_to_2)
PROCESSES(resize_meets_cancel_of_oversized, 2, P(1), P(1), NULL,
	  oversized_or_cancelled, resize_to_2)

static void hold_of_2_and_shrink(void)
{
	join(2);
	EX_ASSERT(take(1) == WEIR_OK);
	proc_settle();
	EX_ASSERT(resize(1) == WEIR_OK);
}

static void wait_for_2_or_too_big(void)
{
	weir_err err;

	join(2);
	err = take(2);
	EX_ASSERT(err == WEIR_OK || err == WEIR_ETOOBIG);
	if (!err)
		give(2);
}

PROCESSES(shrink_ends_a_wait, 2, P(0), P(0), NULL, hold_of_2_and_shrink,
	  wait_for_2_or_too_big, wait_for_1)

static void shrink_and_give(void)
{
	hold_of_2_and_shrink();
	give(1);
}

PROCESSES(shrink_moves_a_call_out_of_the_queue, 2, P(0), NONE, NULL,
	  shrink_and_give, wait_for_2_in_context)

/*
 * Close.
 */
static void wait_or_closed(void)
{
	weir_err err;

	join(1);
	err = take(1);
	EX_ASSERT(err == WEIR_OK || err == WEIR_ECLOSED);
	if (!err)
		give(1);
}

static void close_now(void)
{
	join(1);
	proc_settle();
	close_sem(WEIR_CLOSE_NOW);
}

static void close_drain(void)
{
	join(1);
	proc_settle();
	close_sem(WEIR_CLOSE_DRAIN);
}

PROCESSES(close_ends_waits, 2, P(2), P(2), NULL, hold, wait_or_closed, close_now)
PROCESSES(close_meets_release, 2, P(0) | P(2), NONE, NULL, hold_and_give,
	  wait_or_closed, close_now)
WATCHING_PROCESSES(close_meets_watched_death, 2, P(0), P(1), NULL, hold,
		   wait_or_closed, close_now)
PROCESSES(drain_serves_the_queue, 2, P(2), NONE, NULL, hold_and_give,
	  wait_or_closed, close_drain)
static void wait_a_while_or_closed(void)
{
	weir_err err;

	join(1);
	err = take_until(1, SOON);
	EX_ASSERT(err == WEIR_ECLOSED || err == WEIR_ETIMEDOUT);
}

PROCESSES(close_meets_deadline, 2, P(2), NONE, NULL, hold,
	  wait_a_while_or_closed, close_now)

static void oversized_or_closed(void)
{
	join(1);
	EX_ASSERT(weir_ctx_init(&ctx, NULL, WEIR_FOREVER) == WEIR_OK);
	EX_ASSERT(take_in(2, &ctx) == WEIR_ECLOSED);
}

PROCESSES(close_ends_oversized, 2, P(1), P(1), NULL, oversized_or_closed,
	  close_now)
PROCESSES(drain_ends_oversized, 2, P(1), P(1), NULL, oversized_or_closed,
	  close_drain)

/*
 * Pause.
 */
static void pause_and_resume(void)
{
	join(1);
	EX_ASSERT(pause_sem() == WEIR_OK);
	proc_settle();
	EX_ASSERT(resume_sem() == WEIR_OK);
}

PROCESSES(resume_serves_the_queue, 2, P(0), P(0), NULL, pause_and_resume,
	  wait_and_give)

static void pause_late(void)
{
	join(1);
	proc_settle();
	EX_ASSERT(pause_sem() == WEIR_OK);
	EX_ASSERT(resume_sem() == WEIR_OK);
}

PROCESSES(pause_meets_release, 2, P(2), NONE, NULL, hold_and_give,
	  wait_and_give, pause_late)
WATCHING_PROCESSES(pause_meets_watched_death, 2, P(0), P(1), NULL, hold,
		   wait_and_give, pause_late)

/*
 * Idle waits.
 */
static void wait_for_idle(void)
{
	join(1);
	EX_ASSERT(idle(NULL) == WEIR_OK);
	for (int p = 0; p < proc_self(); p++)
		EX_ASSERT(!holds(p) || proc_status(p) > EX_STOPPED);
}

PROCESSES(idle_after_release, 2, P(0), P(0), NULL, hold_and_give, wait_for_idle)
PROCESSES(idle_after_death, 3, P(0), P(1), NULL, hold, wait_for_idle)
WATCHING_PROCESSES(idle_after_watched_death, 2, P(0), P(1), NULL, hold,
		   wait_for_idle)
PROCESSES(idle_and_a_waiter, 2, P(0) | P(1), NONE, NULL, hold_and_give,
	  wait_and_give, wait_for_idle)

/*
 * Tries.
 */
static void try_it(void)
{
	weir_err err;

	join(1);
	proc_settle();
	err = try_take(1);
	EX_ASSERT(err == WEIR_OK || err == WEIR_EAGAIN);
	if (!err)
		give(1);
}

PROCESSES(try_meets_death, 3, P(0), NONE, NULL, hold, try_it)
PROCESSES(try_meets_stopped_lock_owner, 2, NONE, P(0), NULL, hold_and_give,
	  try_it)
PROCESSES(try_does_not_overtake, 2, P(0), NONE, NULL, hold_and_give,
	  wait_and_give, try_it)

/*
 * The unlocking process has read that no thread sleeps for the lock, and its unlock is
 * not visible yet (--delays).
 */
static uint32_t comes;

static void hold_give_and_read(void)
{
	join(1);
	EX_ASSERT(take(1) == WEIR_OK);
	proc_settle();
	give(1);
	(void)at_load_relaxed(&comes);
}

static void come_and_try(void)
{
	weir_err err;

	join(1);
	proc_settle();
	at_store_relaxed(&comes, 1);
	err = try_take(1);
	EX_ASSERT(err == WEIR_OK || err == WEIR_EAGAIN);
}

PROCESSES(unlock_meets_contender, 2, NONE, P(0), NULL, hold_give_and_read,
	  come_and_try)

/*
 * The same if the heavy fence of the contender does not reach the unlocking process:
 * the unlock has a fence of its own.
 */
static void hold_give_and_read_unfenced(void)
{
	world_refuse_fences(0);
	hold_give_and_read();
}

PROCESSES(unlock_without_membarrier, 2, NONE, NONE, NULL,
	  hold_give_and_read_unfenced, come_and_try)

/*
 * Stat: consistent, and without waiting for a stopped lock owner.
 */
static void look(void)
{
	weir_named_info info;
	weir_err err;

	join(1);
	proc_settle();
	err = stat_sem(&info);
	if (!err)
		EX_ASSERT(info.capacity ==
			  info.free + info.held + info.granted - info.debt);
}

PROCESSES(stat_meets_release, 2, NONE, P(0), NULL, hold_and_give, wait_and_give,
	  look)
PROCESSES(stat_meets_death, 3, P(0), NONE, NULL, hold, look)

/* A newcomer that fits does not overtake a heavier call (C5). */
static void come_for_1(void)
{
	join(2);
	proc_settle();
	EX_ASSERT(take(1) == WEIR_OK);
	give(1);
}

static void hold_1_of_2_and_give(void)
{
	join(2);
	EX_ASSERT(take(1) == WEIR_OK);
	proc_settle();
	give(1);
}

PROCESSES(heavy_first_is_overtaken, 2, P(0), NONE, NULL, hold_1_of_2_and_give,
	  wait_for_2, come_for_1)

/*
 * The resizing process dies while it moves an oversized call to the queue: the
 * call stays behind the one that has waited there.
 */
static void wait_for_3_behind(void)
{
	join(2);
	EX_ASSERT(weir_ctx_init(&ctx, NULL, WEIR_FOREVER) == WEIR_OK);
	EX_ASSERT(take_in(3, &ctx) == WEIR_OK);
	/* Process 1 has opened, and has got its permits. */
	EX_ASSERT(calls_done(1) >= 2);
	give(3);
}

static void resize_to_3(void)
{
	join(2);
	proc_settle();
	EX_ASSERT(resize(3) == WEIR_OK);
}

PROCESSES(resize_dies_as_it_recalls_oversized, 2, P(3), NONE, NULL,
	  hold_1_of_2_and_give, wait_for_2, wait_for_3_behind, resize_to_3)

/*
 * The resizing process dies while it moves a call from the queue to the oversized
 * list: the call stays behind the one that has waited there.
 */
static weir_ctx behind;

static void hold_and_grow_after_shrink(void)
{
	join(2);
	EX_ASSERT(take(1) == WEIR_OK);
	proc_settle();
	if (handle_of(proc_self())->head->capacity == 1) {
		EX_ASSERT(resize(3) == WEIR_OK);
		give(1);
	}
}

static void wait_for_2_behind(void)
{
	join(2);
	EX_ASSERT(weir_ctx_init(&behind, NULL, WEIR_FOREVER) == WEIR_OK);
	EX_ASSERT(take_in(2, &behind) == WEIR_OK);
	/* Process 2 has opened, and has got its permits. */
	EX_ASSERT(calls_done(2) >= 2);
	give(2);
}

static void wait_for_3(void)
{
	join(2);
	EX_ASSERT(weir_ctx_init(&ctx, NULL, WEIR_FOREVER) == WEIR_OK);
	EX_ASSERT(take_in(3, &ctx) == WEIR_OK);
	give(3);
}

static void shrink_to_1(void)
{
	join(2);
	proc_settle();
	EX_ASSERT(resize(1) == WEIR_OK);
}

PROCESSES(shrink_dies_as_it_moves_a_call, 2, P(3), NONE, NULL,
	  hold_and_grow_after_shrink, wait_for_2_behind, wait_for_3, shrink_to_1)
