/* SPDX-License-Identifier: MIT */
/* C38, C39: repair of every kind of contradiction, one by one (private.h). */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "private.h"

static int compare(const void *a, const void *b)
{
	const struct nm_place *x = a, *y = b;

	if (x->ticket != y->ticket)
		return x->ticket < y->ticket ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

/*
 * Equal tickets, which only a damaged file has, are sorted by index.  The array
 * ends where the memory ends.
 */
TEST(c38_records_are_sorted_by_ticket)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *memory = weir_map_zero_(2 * page);
	struct nm_place want[40], *places = (struct nm_place *)(void *)
		(memory + page - sizeof(want));
	uint64_t random = seed_of(1);

	CHECK(memory && !mprotect(memory + page, page, PROT_NONE));
	for (uint32_t count = 0; count <= 40; count++)
		for (int round = 0; round < 40; round++) {
			for (uint32_t i = 0; i < 40; i++)
				places[i] = (struct nm_place){
					(uint64_t)random_below(&random, 30), i
				};
			memcpy(want, places, sizeof(want));
			qsort(want, count, sizeof(want[0]), compare);
			weir_nm_sort_(places, count);
			for (uint32_t i = 0; i < 40; i++) {
				CHECK_EQ(places[i].ticket, want[i].ticket);
				CHECK_EQ(places[i].index, want[i].index);
			}
		}
	weir_unmap_(memory, 2 * page);
}

TEST(c39_repair_bounds_what_slots_hold)
{
	set_up(9);
	for (uint32_t i = 1; i < 7; i++)
		join(i);
	alone.mine->held = 2;
	alone.slots[1].held = 4;
	alone.slots[1].state = FREED(2);
	alone.slots[2].held = -1;
	alone.slots[3].held = INT64_MIN;
	alone.slots[4].held = WEIR_SEM_MAX + 1;
	alone.slots[5].held = 3;
	alone.slots[6].held = 5;
	alone.head->slots_high = 6;
	weir_nm_repair_(&alone);
	CHECK_EQ(alone.mine->held, 2);
	CHECK_EQ(alone.slots[1].held, 4);
	CHECK_EQ(alone.slots[2].held, 0);
	CHECK_EQ(alone.slots[3].held, 0);
	CHECK_EQ(alone.slots[4].held, WEIR_SEM_MAX - 2);
	CHECK_EQ(alone.slots[5].held, 0);
	CHECK_EQ(alone.slots[6].held, 5);
	CHECK_EQ(alone.head->value, 9 - WEIR_SEM_MAX);
	CHECK_EQ(alone.head->repairs, 1);
	CHECK(!alone.repairing);
	tear_down();
}

TEST(c37_repair_counts_the_permits_of_the_dead_once)
{
	set_up(9);
	hold(join(1), 2);
	hold(join_dead(2), 3);
	alone.head->value = 77;
	alone.buried = 5;
	weir_nm_repair_(&alone);
	CHECK_EQ(alone.head->value, 7);
	CHECK_EQ(alone.slots[2].state, FREED(3));
	/* The burials explain the change of the states. */
	CHECK_EQ(alone.buried, nm_hash_state(LIVE(3)));
	CHECK_EQ(alone.head->stale, 0);
	tear_down();
}

/*
 * Three participants leave during a repair and one joins: the sum of the states
 * is the same, and that of their hashes is not.
 */
TEST(c38_repair_notices_participants_that_come_and_go)
{
	uint64_t left[] = { LIVE(1), LIVE(2), LIVE(3) }, joined = LIVE(7);

	CHECK_EQ(left[0] + left[1] + left[2], joined);
	CHECK(nm_hash_state(LIVE(1)) + nm_hash_state(LIVE(2)) +
	      nm_hash_state(LIVE(3)) != nm_hash_state(LIVE(7)));
}

TEST(c39_repair_bounds_the_capacity)
{
	static const int64_t capacities[][2] = {
		{ -1, 0 }, { 0, 0 }, { 1, 1 }, { WEIR_SEM_MAX, WEIR_SEM_MAX },
		{ WEIR_SEM_MAX + 1, WEIR_SEM_MAX }, { INT64_MIN, 0 },
	};

	for (int i = 0; i < 6; i++) {
		set_up(9);
		alone.head->capacity = capacities[i][0];
		weir_nm_repair_(&alone);
		CHECK_EQ(alone.head->capacity, capacities[i][1]);
		CHECK_EQ(alone.head->value, capacities[i][1]);
		tear_down();
	}
}

/* A repair inside a repair does nothing. */
TEST(c39_a_repair_is_not_nested)
{
	set_up(9);
	alone.head->value = 77;
	alone.repairing = true;
	weir_nm_repair_(&alone);
	CHECK_EQ(alone.head->value, 77);
	CHECK_EQ(alone.head->repairs, 0);
	CHECK_EQ(alone.wakes.due, 0);
	CHECK(alone.repairing);
	tear_down();
}

/* C38: the derived fields of every kind of record. */
TEST(c38_repair_computes_the_derived_fields)
{
	struct nm_record *records[9];
	struct nm_slot *slot;

	set_up(20);
	slot = join(1);
	hold(alone.mine, 18);
	for (int i = 0; i < 9; i++)
		records[i] = enqueue(i % 2 ? slot : alone.mine, 5);
	records[0]->ticket = 70;
	records[1]->ticket = 30;
	records[2]->ticket = 50;
	records[3]->state = WORD(2, NM_REC_CHECK | NM_REC_OVERSIZED);
	records[3]->min = records[3]->max = 21;
	records[3]->apart = 90;
	records[4]->state = WORD(1, NM_REC_IDLE);
	records[4]->min = records[4]->max = 0;
	records[5]->state = WORD(1, NM_REC_GRANTED);
	records[5]->got = 1;
	records[6]->state = WORD(1, NM_REC_REVOKED);
	records[6]->got = 1;
	records[7]->state = WORD(1, NM_REC_LEFT);
	records[7]->got = 1;
	records[8]->state = WORD(1, NM_REC_FREE);
	alone.head->queue_first = alone.head->queue_last = 99;
	alone.head->free_record = 99;
	alone.head->waiters = alone.head->idlers = alone.head->oversized = 99;
	alone.head->in_use = 99;
	alone.head->value = 99;
	alone.head->next_ticket = 7;
	alone.head->stale = 1;
	weir_nm_repair_(&alone);
	CHECK_QUEUE(records[1], records[2], records[0]);
	CHECK_EQ(records[3]->state, WORD(2, NM_REC_CHECK | NM_REC_OVERSIZED));
	CHECK_EQ(records[3]->linked, NM_REC_OVERSIZED);
	CHECK_EQ(alone.head->oversized, 1);
	CHECK_EQ(records[4]->linked, NM_REC_IDLE);
	CHECK_EQ(alone.head->idlers, 1);
	CHECK_EQ(alone.head->in_use, 5);
	CHECK_EQ(records[5]->state, WORD(1, NM_REC_GRANTED));
	CHECK_EQ(records[5]->linked, 0);
	/* Withdrawals are completed. */
	CHECK_EQ(records[6]->state, WORD(1, NM_REC_ENDED));
	CHECK_EQ(records[7]->state, WORD(1, NM_REC_ENDED));
	CHECK_EQ(alone.head->value, 1);
	CHECK_EQ(records[8]->state, WORD(2, NM_REC_FREE));
	CHECK_EQ(alone.head->free_record, 9);
	CHECK_EQ(records[8]->next, 0);
	/* Above every ticket in use. */
	CHECK_EQ(alone.head->next_ticket, 91);
	CHECK_EQ(alone.head->stale, 0);
	CHECK_EQ(alone.head->repairs, 1);
	tear_down();
}

/* C13: a cancelled call has left its permits in the first record. */
TEST(c13_c38_repair_completes_a_withdrawal)
{
	struct nm_record *revoked;

	set_up(9);
	revoked = decided(alone.mine, 2, NM_REC_REVOKED);
	weir_nm_repair_(&alone);
	CHECK_EQ(revoked->state, WORD(0, NM_REC_ENDED));
	CHECK_EQ(alone.head->value, 9);
	tear_down();
}

TEST(c38_the_next_ticket_is_above_the_queue)
{
	struct nm_record *first, *last;

	set_up(1);
	hold(alone.mine, 1);
	first = enqueue(alone.mine, 1);
	last = enqueue(alone.mine, 1);
	first->ticket = 5;
	last->ticket = 9;
	alone.head->next_ticket = 9;
	weir_nm_repair_(&alone);
	CHECK_EQ(alone.head->next_ticket, 10);
	first->ticket = 10;
	weir_nm_repair_(&alone);
	CHECK_EQ(alone.head->next_ticket, 11);
	CHECK_QUEUE(last, first);
	alone.head->next_ticket = 40;
	weir_nm_repair_(&alone);
	CHECK_EQ(alone.head->next_ticket, 40);
	first->state = WORD(0, NM_REC_OVERSIZED);
	first->min = first->max = 2;
	first->apart = 40;
	weir_nm_repair_(&alone);
	CHECK_EQ(alone.head->next_ticket, 41);
	weir_nm_repair_(&alone);
	CHECK_EQ(alone.head->next_ticket, 41);
	tear_down();
}

/* A fault of a record, and whether it stands for a call nevertheless. */
static const struct fault {
	uint32_t state, owner, owner_state;
	int64_t min, max;
	bool sound;
} faults[] = {
	{ NM_REC_WAITS, 1, LIVE(1), 1, 1, true },
	{ NM_REC_WAITS, 1, LIVE(1), 1, WEIR_SEM_MAX, true },
	{ NM_REC_WAITS, 1, LIVE(1), 5, 5, true },
	{ NM_REC_WAITS, 1, LIVE(1), 0, 5, false },
	{ NM_REC_WAITS, 1, LIVE(1), 2, 1, false },
	{ NM_REC_WAITS, 1, LIVE(1), 1, WEIR_SEM_MAX + 1, false },
	{ NM_REC_WAITS, 0, LIVE(1), 1, 1, false },
	{ NM_REC_WAITS, 2, LIVE(1), 1, 1, false },
	{ NM_REC_WAITS, NM_SLOTS + 1, LIVE(1), 1, 1, false },
	{ NM_REC_WAITS, 1, LIVE(2), 1, 1, false },
	/* The second slot is claimed, in this state. */
	{ NM_REC_WAITS, 2, LIVE(2) - 1, 1, 1, false },
	{ NM_REC_TAKEN, 1, LIVE(1), 1, 1, true },
	{ NM_REC_TAKEN, 1, LIVE(1), 0, 1, false },
	{ NM_REC_IDLE, 1, LIVE(1), 0, 0, true },
	{ NM_REC_ENDED, 1, LIVE(1), 0, 0, true },
	{ NM_REC_LEFT, 1, LIVE(1), 0, 0, true },
	{ NM_REC_LEFT, 1, LIVE(2), 0, 0, false },
	{ NM_REC_LEFT + 1, 1, LIVE(1), 1, 1, false },
	{ NM_REC_MASK, 1, LIVE(1), 1, 1, false },
	{ NM_REC_FREE, 1, LIVE(1), 1, 1, false },
};

TEST(c39_repair_frees_records_that_stand_for_no_call)
{
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		const struct fault *fault = &faults[i];
		struct nm_record *record;

		set_up(9);
		join(1)->state = LIVE(2) - 1;
		alone.head->closed = NM_PAUSED;
		hold(alone.mine, 1);
		record = enqueue(alone.mine, 1);
		record->state = WORD(3, fault->state);
		record->owner = fault->owner;
		record->owner_state = fault->owner_state;
		record->min = fault->min;
		record->max = fault->max;
		record->linked = 0;
		weir_nm_repair_(&alone);
		if (is_free(record) == fault->sound)
			check_fail(__FILE__, __LINE__, "fault %zu", i);
		CHECK_EQ(alone.head->free_record, !fault->sound);
		CHECK_EQ(alone.head->in_use, fault->sound &&
			 fault->state <= NM_REC_IDLE);
		tear_down();
	}
}

/* Repair with one record; returns true if it wakes threads in every state. */
static bool wakes_every(uint32_t state, uint32_t owner, uint32_t linked)
{
	struct nm_record *record;
	bool every;

	set_up(9);
	alone.head->closed = NM_PAUSED;
	hold(alone.mine, 1);
	record = enqueue(alone.mine, 1);
	record->state = WORD(3, state);
	record->owner = owner;
	record->linked = linked;
	weir_nm_repair_(&alone);
	CHECK(alone.wakes.due & NM_WAKE_ALL);
	every = alone.wakes.due & NM_WAKE_EVERY;
	tear_down();
	return every;
}

/* C39: a thread may sleep on a record in any state. */
TEST(c39_repair_wakes_the_threads_of_damaged_records)
{
	CHECK(!wakes_every(NM_REC_WAITS, 1, NM_REC_WAITS));
	CHECK(!wakes_every(NM_REC_WAITS, 1, 0));
	CHECK(wakes_every(NM_REC_WAITS, 0, NM_REC_WAITS));
	CHECK(wakes_every(NM_REC_WAITS, 2, 0));
	CHECK(!wakes_every(NM_REC_GRANTED, 1, 0));
	CHECK(wakes_every(NM_REC_GRANTED, 1, NM_REC_WAITS));
	CHECK(wakes_every(NM_REC_GRANTED, 0, 0));
	CHECK(!wakes_every(NM_REC_FREE, 0, 0));
	CHECK(wakes_every(NM_REC_FREE, 0, NM_REC_IDLE));
	CHECK(wakes_every(NM_REC_FREE, 1, 0));
}

TEST(c39_repair_bounds_what_records_got)
{
	struct nm_record *records[5];

	set_up(9);
	for (int i = 0; i < 5; i++)
		records[i] = decided(alone.mine, 1, NM_REC_TAKEN);
	records[0]->got = -1;
	records[1]->got = WEIR_SEM_MAX - 2;
	records[2]->got = 3;
	records[3]->got = 2;
	records[4]->state = WORD(0, NM_REC_ENDED);
	records[4]->got = 7;
	weir_nm_repair_(&alone);
	CHECK_EQ(records[0]->got, 0);
	CHECK_EQ(records[1]->got, WEIR_SEM_MAX - 2);
	CHECK_EQ(records[2]->got, 0);
	CHECK_EQ(records[3]->got, 2);
	CHECK_EQ(records[4]->got, 7);
	CHECK_EQ(alone.head->value, 9 - WEIR_SEM_MAX);
	records[1]->got = WEIR_SEM_MAX + 1;
	weir_nm_repair_(&alone);
	CHECK_EQ(records[1]->got, WEIR_SEM_MAX);
	CHECK_EQ(records[3]->got, 0);
	tear_down();
}

/* C11: the dead process has changed the capacity and no record. */
TEST(c11_c38_repair_moves_records_to_their_lists)
{
	struct nm_record *small, *big;

	set_up(3);
	big = enqueue(alone.mine, 4);
	big->flags = NM_REC_HAS_CTX;
	small = enqueue(alone.mine, 3);
	weir_nm_repair_(&alone);
	CHECK_EQ(big->state, WORD(0, NM_REC_OVERSIZED));
	CHECK_EQ(small->state, WORD(0, NM_REC_GRANTED));
	CHECK_EQ(alone.head->value, 0);
	small->state = WORD(1, NM_REC_FREE);
	alone.head->capacity = 4;
	weir_nm_repair_(&alone);
	CHECK_EQ(big->state, WORD(0, NM_REC_GRANTED));
	CHECK_EQ(big->got, 4);
	CHECK_EQ(alone.head->value, 0);
	tear_down();
}
