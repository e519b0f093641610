/* SPDX-License-Identifier: MIT */
/*
 * The wait for the lock inside the file: its limits, and the wake-ups of its
 * sleepers.
 */
#include "roles.h"

#define MS INT64_C(1000000)

/* As in lock.c: the time for which a brief call waits for the lock. */
#define BRIEF_NS (10 * MS)

/* Settled: has joined.  Then enters one critical section. */
static void lock_once(void)
{
	join(1);
	proc_settle();
	EX_ASSERT(resize(1) == WEIR_OK);
}

/*
 * The permit is free, so only the lock can delay these calls.  They give up
 * after their time and not before, also if the owner stops and dies.
 */
static void try_in_time(void)
{
	int64_t begun = ex->now_ns;
	weir_err err = try_take(1);

	if (err == WEIR_EAGAIN)
		EX_ASSERT(ex->now_ns >= begun + BRIEF_NS);
	else
		EX_ASSERT(err == WEIR_OK);
}

static void try_for_its_time(void)
{
	join(1);
	proc_settle();
	try_in_time();
}

static void take_within(int64_t ns, int64_t at_least_ns)
{
	int64_t begun;
	weir_err err;

	join(1);
	proc_settle();
	begun = ex->now_ns;
	err = take_until(1, begun + ns);
	if (err == WEIR_ETIMEDOUT)
		EX_ASSERT(ex->now_ns >= begun + at_least_ns);
	else
		EX_ASSERT(err == WEIR_OK);
}

/* C14: a deadline that has passed limits the wait for permits only. */
static void take_too_late(void)
{
	take_within(-1, BRIEF_NS);
}

static void take_for_30_ms(void)
{
	take_within(30 * MS, 30 * MS);
}

PROCESSES(try_waits_for_the_lock, 2, P(0), P(0), NULL, lock_once,
	  try_for_its_time)
PROCESSES(late_call_waits_for_the_lock, 2, P(0), P(0), NULL, lock_once,
	  take_too_late)
PROCESSES(deadline_limits_the_wait_for_the_lock, 2, P(0), P(0), NULL, lock_once,
	  take_for_30_ms)

/* Each contender that was woken wakes the next one. */
PROCESSES(three_contenders, 3, NONE, NONE, NULL, lock_once, lock_once, lock_once)
PROCESSES(two_contenders_and_a_death, 2, P(0), NONE, NULL, lock_once, lock_once)
PROCESSES(three_contenders_and_a_stop, 3, NONE, P(0), NULL, lock_once, lock_once,
	  lock_once)

/*
 * A keeper runs a round and sleeps behind the lock owner, which dies.  The waiting
 * thread of the same process watches the owner, too, and slept first.
 */
static void hold_and_resize(void)
{
	join(1);
	EX_ASSERT(take(1) == WEIR_OK);
	proc_settle();
	EX_ASSERT(resize(1) == WEIR_OK);
	proc_pause();
}

WATCHING_PROCESSES(lock_owner_dies_beside_a_waiting_thread, 3, P(0), NONE, NULL,
		   hold_and_resize, come_and_give)

/*
 * A try is woken for the lock and finds that its time is up: it passes the
 * wake-up on.  It has slept for 4 ms while the owner was stopped, and its
 * deadline is 6 ms later.
 */
static void hold_and_lock_once(void)
{
	join(1);
	EX_ASSERT(take(1) == WEIR_OK);
	proc_settle();
	EX_ASSERT(resize(1) == WEIR_OK);
	ex_clock_advance(7 * MS);
}

static void come_and_try(void)
{
	join(1);
	proc_settle();
	EX_ASSERT(try_take(1) == WEIR_EAGAIN);
}

PROCESSES(late_contender_passes_its_wake_up_on, 2, NONE, P(0), NULL,
	  hold_and_lock_once, come_and_try, lock_once)

/* The owner dies after the contender has examined it, and before the sleep. */
static void try_a_lock_in_use(void)
{
	join(1);
	proc_settle();
	(void)let_lock(0);
	try_in_time();
}

PROCESSES(owner_dies_before_the_sleep, 1, P(0), NONE, NULL, idle_along,
	  try_a_lock_in_use)

/*
 * The contender has read an outdated state of the owner's slot.  It examines the
 * owner again after the grace, and leaves the lock to it.  Memory is sequentially
 * consistent here, so the state changes instead.
 */
static void become_visible(void)
{
	/* In the same step as the query, so a plain store. */
	handle_of(0)->mine->state = handle_of(0)->state;
}

static void try_a_lock_that_seems_free(void)
{
	const weir_named *owner;

	join(1);
	proc_settle();
	owner = handle_of(0);
	/* Its keeper would find that the slot is lost. */
	proc_stop(0);
	if (!let_lock(0))
		return;
	at_store_relaxed(&owner->mine->state,
			 owner->state - NM_SLOT_LIVE + NM_SLOT_CLAIMED);
	world_at_query(become_visible);
	EX_ASSERT(try_take(1) == WEIR_EAGAIN);
}

PROCESSES(owner_seems_gone, 1, NONE, NONE, NULL, idle_along,
	  try_a_lock_that_seems_free)
