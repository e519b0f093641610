/* SPDX-License-Identifier: MIT */
/*
 * C37, C38, C40: participants and the burial of dead ones, step by step
 * (private.h).
 */
#include <unistd.h>

#include "file.h"
#include "named/keeper.h"
#include "named/lock.h"
#include "private.h"

TEST(c37_a_slot_is_freed_in_one_state_only)
{
	struct nm_slot slot = { .state = LIVE(7) };

	CHECK(!weir_nm_free_slot_(&slot, LIVE(8)));
	CHECK_EQ(slot.state, LIVE(7));
	CHECK(weir_nm_free_slot_(&slot, LIVE(7)));
	CHECK_EQ(slot.state, FREED(7));
}

TEST(c37_a_dead_participant_is_seen_up_to_the_last_slot)
{
	set_up(1);
	join(2);
	CHECK(!weir_nm_any_dead_(&alone));
	/* Not our own slot, no free slot, and none past the used ones. */
	weir_nm_mark_dead_(alone.mine);
	weir_nm_mark_dead_(&alone.slots[1]);
	join_dead(3);
	alone.head->slots_high = 3;
	CHECK(!weir_nm_any_dead_(&alone));
	alone.head->slots_high = 4;
	CHECK(weir_nm_any_dead_(&alone));
	alone.slots[3].alive.word = ALIVE;
	CHECK(!weir_nm_any_dead_(&alone));
	alone.head->stale = 1;
	CHECK(weir_nm_any_dead_(&alone));
	tear_down();
}

/* C40: the byte of a slot shows whether its owner is alive. */
TEST(c40_a_slot_without_a_locked_byte_is_dead)
{
	set_up(1);
	for (uint32_t i = 1; i < 4; i++)
		join(i);
	CHECK(weir_nm_byte_lock_(other_fd, NM_BYTE_ALIVE(1)));
	alone.slots[3].state = FREED(4);
	for (uint32_t i = 0; i < 4; i++)
		weir_nm_mark_gone_(&alone, &alone.slots[i]);
	CHECK_EQ(alone.slots[0].alive.word, ALIVE);
	CHECK_EQ(alone.slots[1].alive.word, ALIVE);
	CHECK_EQ(alone.slots[2].alive.word, WEIR_DIED_);
	CHECK_EQ(alone.slots[3].alive.word, ALIVE);
	/* The bytes are unlocked again. */
	for (uint32_t i = 0; i < 4; i++)
		CHECK(weir_nm_byte_lock_(other_fd, NM_BYTE_ALIVE(i)));
	tear_down();
}

TEST(c37_c38_the_permits_and_records_of_a_dead_participant)
{
	struct nm_record *records[5], *freed;
	struct nm_slot *dead, *live;

	set_up(9);
	live = join(1);
	dead = join_dead(2);
	records[0] = decided(live, 1, NM_REC_TAKEN);
	records[1] = enqueue(dead, 9);
	records[2] = decided(dead, 2, NM_REC_GRANTED);
	records[3] = enqueue(live, 9);
	records[4] = enqueue(dead, 9);
	freed = decided(dead, 0, NM_REC_ENDED);
	weir_nm_record_free_(&alone, freed);
	/* A process was killed before it cleared the owner of a free record. */
	freed->owner = 3;
	hold(dead, 3);
	hold(live, 1);
	CHECK_EQ(alone.head->value, 2);
	CHECK(weir_nm_bury_(&alone, dead));
	CHECK_EQ(alone.head->value, 7);
	CHECK_EQ(dead->held, 0);
	CHECK_EQ(dead->state, FREED(3));
	CHECK_EQ(dead->lingers, 0);
	CHECK(!alone.lingers);
	CHECK_EQ(alone.buried, nm_hash_state(LIVE(3)));
	CHECK(is_free(records[1]) && is_free(records[2]) && is_free(records[4]));
	CHECK_EQ(freed->state, WORD(1, NM_REC_FREE));
	CHECK_EQ(records[0]->state, WORD(0, NM_REC_TAKEN));
	CHECK_EQ(records[0]->got, 1);
	CHECK_QUEUE(records[3]);
	CHECK_EQ(alone.head->in_use, 1);
	CHECK_EQ(alone.head->repairs, 0);
	/* The dead process may owe wake-ups. */
	CHECK(alone.wakes.due & NM_WAKE_ALL);
	tear_down();
}

TEST(c37_only_a_dead_participant_is_buried)
{
	struct nm_slot *slot;

	set_up(3);
	slot = join(1);
	hold(slot, 1);
	CHECK(!weir_nm_bury_(&alone, slot));
	weir_nm_mark_dead_(slot);
	slot->state += NM_SLOT_CLAIMED - NM_SLOT_LIVE;
	CHECK(!weir_nm_bury_(&alone, slot));
	slot->state += NM_SLOT_FREE - NM_SLOT_CLAIMED;
	CHECK(!weir_nm_bury_(&alone, slot));
	CHECK_EQ(slot->held, 1);
	CHECK_EQ(alone.head->value, 2);
	CHECK_EQ(alone.wakes.due, 0);
	CHECK_EQ(alone.buried, 0);
	tear_down();
}

/* A strict semaphore: a thread of the dead process still runs. */
static struct nm_slot *set_up_strict(void)
{
	struct nm_slot *dead;

	set_up(9);
	alone.strict = true;
	(void)decided(join(1), 1, NM_REC_TAKEN);
	dead = join_dead(2);
	CHECK(weir_nm_byte_lock_(other_fd, NM_BYTE_ALIVE(2)));
	return dead;
}

static void check_lingers(struct nm_slot *dead, int64_t value)
{
	CHECK(!weir_nm_bury_(&alone, dead));
	CHECK_EQ(dead->state, LIVE(3));
	CHECK_EQ(dead->lingers, 1);
	CHECK(alone.lingers);
	CHECK_EQ(alone.head->value, value);
	CHECK_EQ(alone.buried, 0);
	weir_nm_byte_unlock_(other_fd, NM_BYTE_ALIVE(2));
	CHECK(weir_nm_bury_(&alone, dead));
	CHECK_EQ(alone.head->value, 8);
	CHECK_EQ(alone.buried, nm_hash_state(LIVE(3)));
	tear_down();
}

TEST(c37_a_dead_strict_holder_lingers)
{
	struct nm_slot *dead = set_up_strict();
	struct nm_record *waits = enqueue(dead, 1);
	struct nm_record *taken = decided(dead, 2, NM_REC_TAKEN);

	hold(dead, 3);
	CHECK(!weir_nm_bury_(&alone, dead));
	CHECK(is_free(waits));
	CHECK_EQ(taken->state, WORD(0, NM_REC_TAKEN));
	CHECK_EQ(dead->held, 3);
	check_lingers(dead, 3);
}

/* The permits of its last call are still in the record. */
TEST(c37_a_dead_strict_holder_lingers_with_a_record)
{
	struct nm_slot *dead = set_up_strict();

	(void)decided(dead, 2, NM_REC_TAKEN);
	check_lingers(dead, 6);
}

TEST(c37_a_dead_participant_without_permits_does_not_linger)
{
	struct nm_slot *dead = set_up_strict();
	struct nm_record *waits = enqueue(dead, 9);

	/* Not in use. */
	alone.records[alone.head->records_high] = (struct nm_record){
		.state = NM_REC_TAKEN, .owner = 3, .owner_state = LIVE(3),
		.got = 1,
	};
	CHECK(weir_nm_bury_(&alone, dead));
	CHECK_EQ(dead->state, FREED(3));
	CHECK(is_free(waits));
	CHECK(!alone.lingers);
	CHECK_EQ(alone.head->value, 8);
	tear_down();
}

TEST(c37_a_dead_holder_does_not_linger_without_strict)
{
	struct nm_slot *dead = set_up_strict();

	alone.strict = false;
	hold(dead, 3);
	CHECK(weir_nm_bury_(&alone, dead));
	CHECK_EQ(alone.head->value, 8);
	tear_down();
}

TEST(c37_a_dead_holder_lingers_while_it_lends)
{
	struct nm_slot *dead = set_up_strict();
	int fd;

	weir_nm_byte_unlock_(other_fd, NM_BYTE_ALIVE(2));
	hold(dead, 3);
	dead->lent = 0xabc;
	fd = weir_nm_lent_open_(&alone, 0xabc, true);
	CHECK(fd >= 0);
	CHECK(!weir_nm_bury_(&alone, dead));
	CHECK_EQ(count_lent(), 1);
	close(fd);
	CHECK(weir_nm_bury_(&alone, dead));
	CHECK_EQ(count_lent(), 0);
	tear_down();
}

TEST(c7_c37_a_sweep_buries_the_dead_and_grants)
{
	struct nm_record *waits;
	struct nm_slot *first, *last, *past;

	set_up(6);
	first = join_dead(1);
	last = join_dead(3);
	past = join_dead(4);
	alone.head->slots_high = 4;
	hold(first, 1);
	hold(last, 2);
	hold(past, 1);
	hold(alone.mine, 1);
	weir_nm_mark_dead_(alone.mine);
	waits = enqueue(join(2), 4);
	alone.lingers = true;
	weir_nm_sweep_(&alone);
	CHECK_EQ(waits->state, WORD(0, NM_REC_GRANTED));
	CHECK_EQ(waits->got, 4);
	CHECK_EQ(alone.head->value, 0);
	CHECK_EQ(first->held + last->held, 0);
	CHECK_EQ(past->state, LIVE(5));
	CHECK_EQ(alone.mine->state, LIVE(1));
	CHECK_EQ(alone.mine->held, 1);
	CHECK(!alone.lingers);
	CHECK_EQ(alone.head->repairs, 0);
	tear_down();
}

TEST(c38_a_sweep_repairs_a_stale_file)
{
	set_up(6);
	alone.head->value = 2;
	alone.head->stale = 1;
	weir_nm_sweep_(&alone);
	CHECK_EQ(alone.head->value, 6);
	CHECK_EQ(alone.head->stale, 0);
	CHECK_EQ(alone.head->repairs, 1);
	tear_down();
}

/* A try that finds free permits takes them once, and buries no participant. */
TEST(c5_c37_a_try_buries_the_dead_only_if_it_needs_their_permits)
{
	struct nm_slot *dead;
	weir_err err;

	set_up(5);
	alone.alive = ALIVE;
	alone.lock_id = alone.ticket = nm_lock_id(1, alone.state);
	/* A call waits until the semaphore is idle: no fast path. */
	weir_nm_record_wait_(&alone, weir_nm_record_new_(&alone, &err),
			     NM_REC_IDLE);
	dead = join_dead(1);
	hold(dead, 2);
	CHECK_OK(weir_named_try_acquire(&alone, 1));
	CHECK_EQ(alone.mine->held, 1);
	CHECK_EQ(alone.head->value, 2);
	CHECK_EQ(dead->state, LIVE(2));
	CHECK_EQ((uint32_t)alone.head->lock, 0);
	CHECK_OK(weir_named_try_acquire(&alone, 3));
	CHECK_EQ(alone.mine->held, 4);
	CHECK_EQ(alone.head->value, 1);
	CHECK_EQ(dead->state, FREED(2));
	CHECK_ERR(weir_named_try_acquire(&alone, 2), WEIR_EAGAIN);
	tear_down();
}

/* The permits of a dead participant are free. */
TEST(c12_c37_a_drain_buries_the_dead)
{
	int64_t got = -1;

	set_up(5);
	alone.alive = ALIVE;
	alone.lock_id = alone.ticket = nm_lock_id(1, alone.state);
	hold(join_dead(1), 2);
	CHECK_OK(weir_named_drain(&alone, &got));
	CHECK_EQ(got, 5);
	CHECK_EQ(alone.mine->held, 5);
	CHECK_EQ(alone.head->value, 0);
	tear_down();
}

/* The state words of our undecided records change, and no others. */
TEST(c37_the_keeper_wakes_the_threads_of_its_handle)
{
	struct nm_record *records[5];
	struct nm_slot *slot;

	set_up(9);
	slot = join(1);
	records[0] = enqueue(slot, 9);
	records[1] = enqueue(alone.mine, 9);
	records[2] = decided(alone.mine, 1, NM_REC_GRANTED);
	records[3] = enqueue(alone.mine, 9);
	records[4] = enqueue(alone.mine, 9);
	records[3]->state += NM_REC_CHECKS;
	alone.head->records_high = 4;
	weir_nm_wake_ours_(&alone);
	CHECK_EQ(records[0]->state, WORD(0, NM_REC_WAITS));
	CHECK_EQ(records[1]->state, WORD(0, NM_REC_CHECK | NM_REC_WAITS));
	CHECK_EQ(records[2]->state, WORD(0, NM_REC_GRANTED));
	/* The count wraps around and leaves the number of uses unchanged. */
	CHECK_EQ(records[3]->state, WORD(0, NM_REC_WAITS));
	CHECK_EQ(records[4]->state, WORD(0, NM_REC_WAITS));
	tear_down();
}
