/* SPDX-License-Identifier: MIT */
/*
 * Memory orders of the table of participants and of the keeper (--stale).  Each
 * scenario examines one order: what a thread sees after it has read a word.
 */
#include "named/keeper.h"
#include "named/record.h"
#include "named/table.h"
#include "roles.h"

/* The last slot, whose owner is dead. */
static struct nm_slot *lost_slot(void)
{
	return &world_file.slots[NM_SLOTS - 1];
}

static void fill_slots(void)
{
	for (uint32_t i = 1; i < NM_SLOTS; i++) {
		/* A word that seems alive and that no thread has on its list. */
		world_file.slots[i].alive.word = (uint32_t)ex->self + 101;
		world_file.slots[i].state = NM_SLOT_LIVE;
	}
	world_file.head.slots_high = NM_SLOTS;
}

/*
 * A process that finds a slot claimed finds that the file is stale, unless a repair
 * has begun since.
 */
static void find_claimed_slot(void)
{
	struct nm_header *head = &world_file.head;

	join(1);
	fill_slots();
	weir_nm_mark_dead_(lost_slot());
	proc_settle();
	if (weir_nm_is_taken_(lost_slot()))
		return;
	/* Not if the keeper of this process has buried the slot. */
	if (handle_of(proc_self())->buried)
		return;
	EX_ASSERT(at_load_relaxed(&head->stale) || !head->stale);
}

static void take_over_now(void)
{
	/* The open may read that the former owner still lives. */
	weir_err err = try_join(1);

	EX_ASSERT(err == WEIR_OK || err == WEIR_EBUSY);
	proc_pause();
}

static void take_over(void)
{
	proc_settle();
	take_over_now();
}

/* A repair is allowed only after a death. */
static void exit_at_once(void)
{
	proc_exit();
}

PROCESSES(claimed_slot_is_stale, 2, NONE, NONE, NULL, take_over,
	  find_claimed_slot, exit_at_once)

/* So does a process that cannot free the slot, because it was taken over. */
static void find_slot_that_is_not_free(void)
{
	struct nm_header *head = &world_file.head;

	join(1);
	fill_slots();
	weir_nm_mark_dead_(lost_slot());
	proc_settle();
	if (weir_nm_free_slot_(lost_slot(), NM_SLOT_LIVE) ||
	    handle_of(proc_self())->buried)
		return;
	EX_ASSERT(at_load_relaxed(&head->stale) || !head->stale);
}

PROCESSES(slot_that_is_taken_over_is_stale, 2, NONE, NONE, NULL, take_over,
	  find_slot_that_is_not_free, exit_at_once)

/*
 * The same with a process that takes over the slot and dies: the next one that
 * claims it has not made the file stale itself.
 */
static void take_over_and_die(void)
{
	uint32_t seen = NM_SLOT_LIVE;

	proc_settle();
	at_store_relaxed(&world_file.head.stale, 1);
	(void)at_cas_weak_release(&lost_slot()->state, &seen,
				  NM_SLOT_MASK + 1 + NM_SLOT_CLAIMED);
	proc_exit();
}

static void take_over_next(void)
{
	proc_settle();
	if ((at_load_acquire(&lost_slot()->state) & NM_SLOT_MASK) ==
	    NM_SLOT_CLAIMED)
		take_over_now();
}

PROCESSES(claimed_slot_is_stale_for_the_next, 2, NONE, NONE, NULL,
	  take_over_and_die, take_over_next, find_claimed_slot)

/*
 * A process that finds a slot free sees that its former owner holds nothing.
 */
static void bury_lost_slot(void)
{
	weir_named *h;

	join(1);
	h = handle_of(0);
	lost_slot()->held = 1;
	lost_slot()->state = NM_SLOT_LIVE;
	world_file.head.value = 0;
	world_file.head.slots_high = NM_SLOTS;
	proc_settle();
	EX_ASSERT(nm_lock(h, NULL) == WEIR_OK);
	(void)weir_nm_bury_(h, lost_slot());
	nm_unlock(h);
}

static void find_free_slot(void)
{
	proc_settle();
	if (!weir_nm_is_taken_(lost_slot()))
		EX_ASSERT(!at_load_relaxed(&lost_slot()->held));
}

PROCESSES(free_slot_has_no_permits, 2, NONE, NONE, NULL, bury_lost_slot,
	  find_free_slot)

/*
 * A keeper that sleeps on a kicked word has seen the reason for the kick.  The second
 * kick finds the keeper awake, so its wake-up orders nothing.
 */
static void kick_twice(void)
{
	weir_named *h;

	join(1);
	h = handle_of(0);
	proc_settle();
	weir_nm_kick_(h);
	at_store_relaxed(&h->stop, NM_STOP);
	weir_nm_kick_(h);
	proc_pause();
}

static void keeper_has_ended(void)
{
	EX_ASSERT(handle_of(0)->lost);
}

PROCESSES(keeper_sees_why_it_is_kicked, 1, NONE, NONE, keeper_has_ended,
	  kick_twice)

/*
 * A waiting thread that finds that the keeper has changed its record sees that the
 * round has ended.
 */
static void *read_the_round(void *unused)
{
	const struct nm_record *record = &world_file.records[0];
	weir_named *h = handle_of(proc_self());
	uint32_t word, round;

	(void)unused;
	proc_settle();
	word = record->state;
	round = h->round;
	weir_nm_kick_(h);
	if ((weir_nm_word_of_(record) & NM_REC_CHECKS) > (word & NM_REC_CHECKS))
		EX_ASSERT(at_load_relaxed(&h->round) >= round + 2);
	return NULL;
}

static void wait_for_a_round(void)
{
	join(1);
	proc_thread(read_the_round, NULL);
	EX_ASSERT(take(1) == WEIR_OK);
}

PROCESSES(woken_thread_sees_the_round, 2, NONE, NONE, NULL, hold,
	  wait_for_a_round)
