/* SPDX-License-Identifier: MIT */
/*
 * Opening and closing handles while others die, stop and wait.
 */
#include "named/keeper.h"
#include "named/table.h"
#include "roles.h"

/* The exploration begins before the first open. */
static void open_take_give(void)
{
	proc_settle();
	join(1);
	EX_ASSERT(take(1) == WEIR_OK);
	give(1);
}

static void open_only(void)
{
	proc_settle();
	join(1);
}

/* Each process finds a death in a slot below `slots_high` only. */
static void slots_are_found(void)
{
	for (int p = 0; p < 2; p++)
		EX_ASSERT(handle_of(p)->me <= world_file.head.slots_high);
}

PROCESSES(two_opens, 2, NONE, NONE, slots_are_found, open_only, open_only)
PROCESSES(open_and_die, 2, P(0), P(0), NULL, open_take_give, open_take_give)
PROCESSES(open_as_holder_dies, 2, P(0), NONE, NULL, hold, open_take_give)
PROCESSES(open_of_a_dead_slot, 2, P(0), NONE, NULL, hold, wait_and_give,
	  open_take_give)
PROCESSES(open_meets_stopped_lock_owner, 2, NONE, P(0), NULL, hold_and_give,
	  open_only)
PROCESSES(opener_stops, 2, NONE, P(2), NULL, hold_and_give, wait_and_give,
	  open_only)
PROCESSES(opener_dies_as_release_comes, 2, P(2), NONE, NULL, hold_and_give,
	  wait_and_give, open_only)

/* close_handle gives back what the handle holds. */
static void hold_and_leave(void)
{
	join(1);
	EX_ASSERT(take(1) == WEIR_OK);
	proc_settle();
	leave_handle();
}

/* Exits with its permit. */
static void hold_and_exit_soon(void)
{
	join(1);
	EX_ASSERT(take(1) == WEIR_OK);
	proc_settle();
	proc_exit();
}

static void leave(void)
{
	join(1);
	proc_settle();
	leave_handle();
}

/* A slot is freed, also if a CAS fails spuriously. */
static void free_a_slot(void)
{
	struct nm_slot *slot = &world_file.slots[NM_SLOTS - 1];

	join(1);
	slot->state = NM_SLOT_LIVE;
	proc_settle();
	EX_ASSERT(weir_nm_free_slot_(slot, NM_SLOT_LIVE));
	EX_ASSERT(slot->state == NM_SLOT_FREE);
}

PROCESSES(slot_is_freed, 2, NONE, NONE, NULL, free_a_slot)
PROCESSES(leaving_holder_hands_over, 2, P(0), P(0), NULL, hold_and_leave,
	  wait_and_give)
/* The keeper that ends may have used up the wake-up of the holder's death. */
PROCESSES(leave_as_holder_dies, 3, P(0), NONE, NULL, hold, wait_and_give, leave)
PROCESSES(leave_as_holder_dies_with_stops, 2, P(0), ALL, NULL, hold,
	  wait_and_give, leave)
PROCESSES(leaver_dies_with_holder, 2, P(0) | P(2), NONE, NULL, hold,
	  wait_and_give, leave)

/*
 * The same if the leaving process dies after its keeper has ended.
 */
PROCESSES(leaver_dies_after_its_keeper, 3, P(2), NONE, NULL, hold_and_exit_soon,
	  wait_and_give, leave)

/*
 * The death wakes the keeper of the leaving process, which has slept on the
 * obituary word for longer than the keeper of the waiter.
 */
static void leave_after_a_death(void)
{
	join(1);
	proc_settle();
	proc_destroy(0);
	leave_handle();
}

PROCESSES(leaver_with_a_wake_up_dies, 2, P(1), NONE, NULL, hold,
	  leave_after_a_death, wait_and_give)

/*
 * The lock is not available, so the holder leaves without it, and dies: its slot
 * must be buried.
 */
static void give_1_of_2(void)
{
	join(2);
	EX_ASSERT(take(1) == WEIR_OK);
	proc_settle();
	give(1);
}

static void hold_1_of_2_and_leave(void)
{
	join(2);
	EX_ASSERT(take(1) == WEIR_OK);
	proc_settle();
	leave_handle();
}

static void wait_for_both(void)
{
	join(2);
	EX_ASSERT(take(2) == WEIR_OK);
	give(2);
}

PROCESSES(leaver_without_the_lock_dies, 2, P(1), P(0), NULL, give_1_of_2,
	  hold_1_of_2_and_leave, wait_for_both)

/* Waits, gives up, and leaves: its keeper has listened. */
static void wait_give_up_and_leave(void)
{
	weir_err err;

	join(1);
	err = take_until(1, ex->now_ns + 500000);
	EX_ASSERT(err == WEIR_OK || err == WEIR_ETIMEDOUT);
	leave_handle();
}

PROCESSES(waiter_leaves_as_holder_dies, 2, P(0), NONE, NULL, hold,
	  wait_give_up_and_leave, wait_and_give)

/* Leave, and open again: the slot is reused. */
static void leave_and_return(void)
{
	join(1);
	proc_settle();
	leave_handle();
	join(1);
	EX_ASSERT(take(1) == WEIR_OK);
	give(1);
}

PROCESSES(slot_is_reused, 2, P(0), NONE, NULL, hold, leave_and_return)
PROCESSES(slot_is_reused_as_owner_dies, 2, P(0), NONE, NULL, leave, open_only)

/*
 * All slots are in use, so an open takes over the slot of a dead participant.
 */
static void fill_slots(uint32_t first)
{
	for (uint32_t i = first; i < NM_SLOTS; i++) {
		/* A word that seems alive and that no thread has on its list. */
		world_file.slots[i].alive.word = (uint32_t)ex->self + 101;
		world_file.slots[i].state = NM_SLOT_LIVE;
	}
	world_file.head.slots_high = NM_SLOTS;
}

static void take_over_of(uint32_t participants)
{
	weir_err err;
	bool dead;

	fill_slots(participants);
	proc_settle();
	dead = proc_status(0) == EX_CLOSED;
	err = try_join(1);
	EX_ASSERT(err == WEIR_OK || (err == WEIR_EBUSY && !dead));
	proc_pause();
}

static void take_over(void)
{
	take_over_of(3);
}

static void take_over_one_of_2(void)
{
	take_over_of(2);
}

/*
 * The keeper of an idle process buries the dead while another process looks for a
 * slot: the slot is free then.
 */
PROCESSES(open_meets_burial, 2, NONE, NONE, NULL, hold_and_exit_soon,
	  idle_along, take_over_one_of_2)

/*
 * The death of the holder wakes the keeper of an idle process.  While it buries
 * the dead, another process takes over the slot, and dies before it is a
 * participant.
 */
PROCESSES(open_that_takes_over_a_slot_dies, 2, P(3), NONE, NULL,
	  hold_and_exit_soon, idle_along, wait_and_give, take_over)

/*
 * The holder dies with the lock.  Another process repairs the file, and is stopped
 * anywhere in the repair.  Then an open takes over the slot of the dead process: its
 * owner holds nothing.
 */
static void repair_after_a_death(void)
{
	join(1);
	proc_settle();
	if (let_lock(0))
		proc_destroy(0);
	EX_ASSERT(resize(1) == WEIR_OK);
}

PROCESSES(open_meets_repair, 1, NONE, P(1), NULL, hold, repair_after_a_death,
	  take_over_one_of_2)

/*
 * No keeper listens.  A holder dies, and then an open finds all slots in use.  While
 * another process repairs the file, the open takes over the slot, whose permit the
 * repair has counted, and dies before it is a participant.  Meanwhile a call that
 * waits arms its keeper: it finds no dead participant, and the repair has cleared
 * `stale`.
 */
static struct nm_slot *lost_slot(void)
{
	return &world_file.slots[NM_SLOTS - 1];
}

static void join_unheard(void)
{
	join_as(1, WEIR_NAMED_STRICT, WEIR_NAMED_CREATE);
	weir_nm_kick_(handle_of(proc_self()));
}

static void exit_unheard(void)
{
	join_unheard();
	proc_exit();
}

static void wait_unheard(void)
{
	join_unheard();
	proc_settle();
	EX_ASSERT(take(1) == WEIR_OK);
}

static void take_over_and_die(void)
{
	at_store_release(&lost_slot()->state,
			 NM_SLOT_MASK + 1 + NM_SLOT_CLAIMED);
	at_store_relaxed(&lost_slot()->held, 0);
}

static void repair_as_an_open_dies(void)
{
	join_unheard();
	fill_slots(3);
	lost_slot()->held = 1;
	world_file.head.value = 0;
	proc_settle();
	weir_nm_mark_dead_(lost_slot());
	weir_shared_wake_(&world_file.head.obituary);
	at_store_release(&world_file.head.stale, 1);
	world_at_query(take_over_and_die);
	EX_ASSERT(resize(1) == WEIR_OK);
}

PROCESSES(call_arms_as_an_open_takes_over_a_slot, 2, NONE, NONE, NULL,
	  wait_unheard, repair_as_an_open_dies, exit_unheard)

/*
 * A process that finds a slot live sees the liveness word that its keeper has
 * stored (--stale): it does not bury a participant that has just joined.
 */
static void bury_a_newcomer(void)
{
	weir_named *h;

	join(1);
	h = handle_of(proc_self());
	proc_settle();
	EX_ASSERT(nm_lock(h, NULL) == WEIR_OK);
	EX_ASSERT(!weir_nm_bury_(h, &world_file.slots[1]));
	nm_unlock(h);
}

PROCESSES(newcomer_is_not_buried, 2, NONE, NONE, NULL, bury_a_newcomer,
	  open_only)
