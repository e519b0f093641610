/* SPDX-License-Identifier: MIT */
/*
 * Deaths and stops of holders, waiters, lock owners and keepers (C37, C38).  The
 * audit checks each run; these scenarios have few checks of their own.
 */
#include "named/keeper.h"
#include "roles.h"

/* A waiter that lives gets the permit of a holder that died. */
static void waiter_1_got_it(void)
{
	if (is_well(1) && proc_status(0) == EX_CLOSED)
		EX_ASSERT(calls_done(1) >= 2);
}

PROCESSES(holder_dies, 3, ALL, NONE, waiter_1_got_it, hold, wait_and_give)
PROCESSES(holder_dies_or_stops, 3, ALL, ALL, waiter_1_got_it, hold, wait_and_give)

/* The waiter comes while the holder dies: the keeper may not sleep yet. */
PROCESSES(holder_dies_as_waiter_comes, 3, P(0), NONE, waiter_1_got_it, hold,
	  come_and_give)
PROCESSES(holder_dies_as_waiter_comes_and_stops, 2, P(0), P(1), waiter_1_got_it,
	  hold, come_and_give)

/* Holder and first waiter die together; the second is woken. */
PROCESSES(holder_and_first_waiter_die, 3, P(0) | P(1), NONE, NULL, hold,
	  wait_and_give, wait_and_give)
PROCESSES(any_two_of_three_die, 2, ALL, NONE, NULL, hold, wait_and_give,
	  wait_and_give)
PROCESSES(any_two_of_four_die, 2, ALL, NONE, NULL, hold, wait_and_keep,
	  wait_and_keep, wait_and_keep)

/* A participant that neither holds nor waits swallows no wake-up. */
PROCESSES(idle_process_dies_with_holder, 3, ALL, NONE, waiter_1_got_it, hold,
	  wait_and_give, idle_along)
PROCESSES(idle_process_stops_as_holder_dies, 3, P(0) | P(2), ALL,
	  waiter_1_got_it, hold, wait_and_give, idle_along)

/* A stopped waiter misses the death; it notices it when it continues. */
PROCESSES(waiter_stops_as_holder_dies, 3, P(0), P(1), waiter_1_got_it, hold,
	  wait_and_give)
PROCESSES(first_waiter_stops_as_holder_dies, 2, P(0), P(1) | P(2), NULL, hold,
	  wait_and_give, wait_and_give)

/* The releasing process dies or stops anywhere. */
PROCESSES(releaser_dies, 2, P(0), NONE, waiter_1_got_it, hold_and_give,
	  wait_and_give)
PROCESSES(releaser_dies_or_stops, 3, P(0), P(0), waiter_1_got_it, hold_and_give,
	  wait_and_give)
/* Its death wakes the keeper of an idle process, which owes its wake-ups. */
PROCESSES(releaser_dies_beside_an_idle_process, 2, P(1), NONE, NULL, idle_along,
	  hold_and_give, wait_and_give)
PROCESSES(release_while_waiter_dies_or_stops, 2, P(1), P(1), NULL,
	  hold_and_give, wait_and_give)
PROCESSES(release_with_two_waiters, 2, ALL, NONE, NULL, hold_and_give,
	  wait_and_give, wait_and_give)
PROCESSES(release_with_two_waiters_stops, 2, NONE, ALL, NULL, hold_and_give,
	  wait_and_give, wait_and_give)

/* The granted waiter dies before it takes its grant. */
PROCESSES(granted_waiter_dies, 2, P(1), P(1), NULL, hold_and_give,
	  wait_and_keep, wait_and_give)

/*
 * A process counts the permits of a granted call whose owner has died, and dies
 * itself: no other process counts them again.
 */
static void give_and_bury(void)
{
	join(1);
	EX_ASSERT(take(1) == WEIR_OK);
	proc_settle();
	give(1);
	proc_destroy(1);
	EX_ASSERT(resize(1) == WEIR_OK);
}

static void permits_are_counted_once(void)
{
	EX_ASSERT(world_file.head.reclaimed <= 1);
	EX_ASSERT(world_file.head.reclaimed || !is_well(0));
}

PROCESSES(permits_are_reclaimed_by_two, 2, P(0), NONE, permits_are_counted_once,
	  give_and_bury, wait_and_keep, idle_along)

/* Two processes acquire and release on the fast path; one dies or stops. */
static void take_and_give(void)
{
	join(1);
	proc_settle();
	EX_ASSERT(take(1) == WEIR_OK);
	give(1);
}

PROCESSES(fast_paths_and_a_death, 2, P(0), NONE, NULL, take_and_give,
	  take_and_give)
PROCESSES(fast_paths_and_a_stop, 2, NONE, P(0), NULL, take_and_give,
	  take_and_give)

/*
 * `awaited` is set, and no thread sleeps: a contender whose time was over leaves
 * that.  The unlocking process clears it late, when the next process has the lock
 * and a contender is about to sleep.
 */
static void take_with_awaited_set(void)
{
	join(3);
	proc_settle();
	at_store_relaxed(&handle_of(0)->head->awaited, 1);
	EX_ASSERT(take(1) == WEIR_OK);
}

static void take_one(void)
{
	join(3);
	proc_settle();
	EX_ASSERT(take(1) == WEIR_OK);
}

PROCESSES(unlock_clears_an_announcement, 3, NONE, NONE, NULL,
	  take_with_awaited_set, take_one, take_one)

/* A process that waited before: its keeper has run a round. */
static void wait_again(void)
{
	join(1);
	EX_ASSERT(take(1) == WEIR_OK);
	give(1);
	EX_ASSERT(take(1) == WEIR_OK);
	give(1);
}

static void give_and_take(void)
{
	join(1);
	EX_ASSERT(take(1) == WEIR_OK);
	proc_settle();
	give(1);
	EX_ASSERT(take(1) == WEIR_OK);
	proc_pause();
}

PROCESSES(holder_dies_as_waiter_waits_again, 2, P(0), NONE, NULL, give_and_take,
	  wait_again)

/* A handle without waiting calls: its keeper does not listen any more. */
static void listen_no_more(void)
{
	join(1);
	proc_let_time_pass();
	EX_ASSERT(take_until(1, ex->now_ns + 500000) == WEIR_ETIMEDOUT);
	proc_settle();
	EX_ASSERT(take(1) == WEIR_OK);
	give(1);
}

static void exit_soon(void)
{
	join(1);
	proc_exit();
}

/*
 * An idle process dies and wakes the keeper of the waiter; the holder dies while
 * that keeper goes back to sleep.  The holder's keeper does not listen: another
 * process has exited before.
 */
PROCESSES(keeper_goes_back_to_sleep, 3, P(0) | P(2), NONE, NULL, hold,
	  wait_and_give, idle_along, exit_soon)

PROCESSES(keeper_listens_again, 2, P(0), NONE, NULL, hold, listen_no_more,
	  exit_soon)

/* The lock owner dies while two others want the lock. */
PROCESSES(lock_owner_dies, 2, P(0), NONE, NULL, take_and_give, take_and_give,
	  take_and_give)

/* A process exits with its permit, as the command does after a signal. */
static void hold_and_exit(void)
{
	join(1);
	EX_ASSERT(take(1) == WEIR_OK);
	proc_settle();
	proc_exit();
}

PROCESSES(holder_exits, 2, ALL, ALL, waiter_1_got_it, hold_and_exit,
	  wait_and_give)

/* A second waiting thread of the same process. */
static void *wait_too(void *unused)
{
	(void)unused;
	EX_ASSERT(take(1) == WEIR_OK);
	give(1);
	return NULL;
}

static void wait_twice(void)
{
	join(1);
	proc_thread(wait_too, NULL);
	EX_ASSERT(take(1) == WEIR_OK);
	give(1);
}

PROCESSES(two_threads_wait_and_holder_dies, 3, P(0), P(1), NULL, hold,
	  wait_twice)
PROCESSES(two_threads_wait_and_die, 2, ALL, NONE, NULL, hold, wait_twice,
	  wait_and_give)

/*
 * The keeper wakes the threads of its handle: a thread that has read the word of
 * its record, and does not sleep yet, must not sleep.
 */
static void *wake_the_waiter(void *unused)
{
	const struct nm_record *record = &world_file.records[0];
	uint32_t word;

	(void)unused;
	proc_settle();
	word = record->state;
	weir_nm_wake_ours_(handle_of(proc_self()));
	/* The keeper has seen the record under the lock; this thread has not. */
	EX_ASSERT(record->state != word || ex_is_stale());
	return NULL;
}

static void wait_and_be_woken(void)
{
	join(1);
	proc_thread(wake_the_waiter, NULL);
	EX_ASSERT(take(1) == WEIR_OK);
}

PROCESSES(keeper_wakes_the_waiter, 2, NONE, NONE, NULL, hold, wait_and_be_woken)

/* The holder's process waits as well. */
static void hold_and_wait(void)
{
	join(1);
	EX_ASSERT(take(1) == WEIR_OK);
	EX_ASSERT(take(1) == WEIR_OK);
}

PROCESSES(holder_waits_and_dies, 3, P(0), ALL, NULL, hold_and_wait,
	  wait_and_give)

/* STRICT: the permits are free when all threads have ended. */
static void strict_hold(void)
{
	join_as(1, WEIR_NAMED_STRICT, WEIR_NAMED_CREATE);
	EX_ASSERT(take(1) == WEIR_OK);
	proc_pause();
}

static void strict_wait(void)
{
	join(1);
	EX_ASSERT(take(1) == WEIR_OK);
	EX_ASSERT(proc_status(0) == EX_CLOSED);
	give(1);
}

PROCESSES(strict_holder_dies, 3, P(0), NONE, NULL, strict_hold, strict_wait)
PROCESSES(strict_holder_dies_with_another, 2, P(0) | P(2), P(1), NULL,
	  strict_hold, strict_wait, idle_along)

/*
 * A waiter dies; its record is reused before its thread has left the queue of the
 * word.  The new waiter must be woken too.
 */
PROCESSES(record_is_reused_under_a_dying_sleeper, 2, P(1), NONE, NULL,
	  hold_and_give, wait_and_keep, come_and_give)

/*
 * Waiting threads watch deaths, and bury the dead themselves.  The thread that is
 * woken may die or stop.
 */
WATCHING_PROCESSES(watched_holder_dies, 3, ALL, NONE, waiter_1_got_it, hold,
		   wait_and_give)
WATCHING_PROCESSES(watched_holder_dies_or_stops, 2, ALL, ALL, waiter_1_got_it,
		   hold, wait_and_give)
WATCHING_PROCESSES(watched_holder_dies_as_waiter_comes, 2, P(0), P(1),
		   waiter_1_got_it, hold, come_and_give)
WATCHING_PROCESSES(watched_holder_and_first_waiter_die, 2, P(0) | P(1), NONE,
		   NULL, hold, wait_and_give, wait_and_give)
WATCHING_PROCESSES(watching_waiter_stops_as_holder_dies, 2, P(0), P(1) | P(2),
		   NULL, hold, wait_and_give, wait_and_give)
WATCHING_PROCESSES(watched_releaser_dies_or_stops, 2, P(0), P(0),
		   waiter_1_got_it, hold_and_give, wait_and_give)
WATCHING_PROCESSES(two_threads_watch_and_holder_dies, 2, P(0), P(1), NULL, hold,
		   wait_twice)
WATCHING_PROCESSES(watched_strict_holder_dies, 2, P(0), NONE, NULL, strict_hold,
		   strict_wait)
WATCHING_PROCESSES(watched_strict_holder_dies_with_another, 2, P(0) | P(2), P(1),
		   NULL, strict_hold, strict_wait, idle_along)
WATCHING_PROCESSES(any_two_of_three_watched_die, 2, ALL, NONE, NULL, hold,
		   wait_and_give, wait_and_give)
WATCHING_PROCESSES(watching_process_exits_as_holder_dies, 2, P(0), NONE, NULL, hold,
		   wait_twice, exit_soon)

/*
 * The waiting thread watches the slot of a process that leaves.  The next owner of
 * the slot takes the permit, and dies.
 */
static void leave_return_and_hold(void)
{
	join(1);
	EX_ASSERT(take(1) == WEIR_OK);
	proc_settle();
	leave_handle();
	join(1);
	EX_ASSERT(take(1) == WEIR_OK);
	proc_pause();
}

WATCHING_PROCESSES(next_owner_of_a_watched_slot_dies, 2, P(0), P(1), NULL,
		   leave_return_and_hold, wait_again)

/*
 * The death word of a slot seems alive exactly as long as its liveness word: the
 * process dies, or leaves, or dies as it leaves.
 */
static void death_words_are_right(void)
{
	for (uint32_t i = 0; i < NM_SLOTS; i++) {
		const struct nm_slot *slot = &world_file.slots[i];

		EX_ASSERT(weir_is_alive_(slot->death.word) ==
			  weir_is_alive_(slot->alive.word));
	}
	EX_ASSERT(!weir_is_alive_(world_file.slots[0].death.word));
	EX_ASSERT(is_well(1) == weir_is_alive_(world_file.slots[1].death.word));
}

static void leave_later(void)
{
	join(1);
	proc_settle();
	leave_handle();
}

PROCESSES(death_word_follows_liveness_word, 2, ALL, NONE, death_words_are_right,
	  leave_later, idle_along)

/* Without futex_waitv a waiting thread moves its keeper to the obituary word. */
OLD_PROCESSES(old_holder_dies, 3, ALL, NONE, waiter_1_got_it, hold,
	      wait_and_give)
OLD_PROCESSES(old_holder_dies_as_waiter_comes, 2, P(0), P(1), waiter_1_got_it,
	      hold, come_and_give)
OLD_PROCESSES(old_waiter_stops_as_holder_dies, 3, P(0), P(1), waiter_1_got_it,
	      hold, wait_and_give)
OLD_PROCESSES(old_any_two_of_three_die, 2, ALL, NONE, NULL, hold, wait_and_give,
	      wait_and_give)
OLD_PROCESSES(old_releaser_dies, 2, P(0), P(1), waiter_1_got_it, hold_and_give,
	      wait_and_give)
OLD_PROCESSES(old_keeper_goes_back_to_sleep, 2, P(0) | P(2), NONE, NULL, hold,
	      wait_and_give, idle_along, exit_soon)
