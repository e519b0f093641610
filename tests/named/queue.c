/* SPDX-License-Identifier: MIT */
/*
 * C7, C39: decisions about the head of the queue and about records outside it,
 * step by step (private.h); and what a granted call stores.
 */
#include "base/ticks.h"
#include "private.h"

static struct nm_record *first;

/* The queue has one call, which wants more than there is. */
static void set_up_queue(void)
{
	set_up(5);
	hold(alone.mine, 2);
	first = enqueue(join(1), 4);
	weir_nm_grant_all_(&alone);
	CHECK_QUEUE(first);
	CHECK_EQ(alone.head->repairs, 0);
}

static void check_damage(void)
{
	weir_nm_grant_all_(&alone);
	CHECK_EQ(alone.head->repairs, 1);
	CHECK_EQ(alone.head->value, 3);
	tear_down();
}

/* One contradiction at a time: each starts a repair. */
TEST(c39_a_head_that_contradicts_the_file)
{
	set_up_queue();
	first->state = WORD(0, NM_REC_ENDED);
	check_damage();
	set_up_queue();
	first->linked = NM_REC_OVERSIZED;
	check_damage();
	set_up_queue();
	first->min = 0;
	check_damage();
	set_up_queue();
	first->max = 3;
	check_damage();
	set_up_queue();
	alone.head->value = 6;
	check_damage();
	set_up_queue();
	first->owner = 0;
	check_damage();
	set_up_queue();
	first->owner_state = LIVE(3);
	check_damage();
}

/* At the bounds there is no contradiction. */
TEST(c6_a_head_that_takes_all)
{
	set_up(5);
	first = enqueue(join(1), 1);
	first->max = 5;
	weir_nm_grant_all_(&alone);
	CHECK_EQ(alone.head->repairs, 0);
	CHECK_EQ(first->state, WORD(0, NM_REC_GRANTED));
	CHECK_EQ(first->got, 5);
	CHECK_EQ(alone.head->value, 0);
	tear_down();
}

/* Its thread is woken too: in a damaged file it may sleep. */
TEST(c7_a_head_that_has_left)
{
	struct nm_record *second;

	set_up_queue();
	second = enqueue(&alone.slots[1], 3);
	first->state = WORD(0, NM_REC_LEFT);
	weir_nm_grant_all_(&alone);
	CHECK_EQ(alone.head->repairs, 0);
	CHECK_EQ(first->state, WORD(0, NM_REC_ENDED));
	CHECK_EQ(second->state, WORD(0, NM_REC_GRANTED));
	CHECK_EQ(alone.head->in_use, 0);
	CHECK_EQ(alone.wakes.due, 2);
	CHECK_EQ(alone.wakes.index[0], nm_record_ref(&alone, first) - 1);
	CHECK_EQ(alone.wakes.index[1], nm_record_ref(&alone, second) - 1);
	tear_down();
}

static struct nm_record *wait_for_idle(void)
{
	weir_err err;
	struct nm_record *record = weir_nm_record_new_(&alone, &err);

	weir_nm_record_wait_(&alone, record, NM_REC_IDLE);
	return record;
}

/* A call that has left without the lock is no contradiction. */
TEST(c20_c39_calls_that_wait_for_idle)
{
	struct nm_record *waits, *left, *past;

	set_up(5);
	waits = wait_for_idle();
	left = wait_for_idle();
	left->state = WORD(0, NM_REC_LEFT);
	past = &alone.records[alone.head->records_high];
	past->state = past->linked = NM_REC_IDLE;
	weir_nm_grant_all_(&alone);
	CHECK_EQ(alone.head->repairs, 0);
	CHECK_EQ(waits->state, WORD(0, NM_REC_ENDED));
	CHECK_EQ(waits->outcome, WEIR_OK);
	CHECK_EQ(waits->linked, 0);
	CHECK_EQ(left->state, WORD(0, NM_REC_LEFT));
	CHECK_EQ(alone.wakes.due, 2);
	/* Not in use. */
	CHECK_EQ(past->state, NM_REC_IDLE);
	/* Neither undecided nor left, and linked. */
	weir_nm_record_free_(&alone, left);
	waits = wait_for_idle();
	waits->state = WORD(1, NM_REC_GRANTED);
	waits->min = waits->max = 1;
	weir_nm_grant_all_(&alone);
	CHECK_EQ(alone.head->repairs, 1);
	CHECK_EQ(waits->linked, 0);
	tear_down();
}

/* Records past the used ones are not examined. */
TEST(c11_a_change_of_the_capacity)
{
	struct nm_record *past;

	set_up_queue();
	past = &alone.records[alone.head->records_high];
	past->linked = past->state = NM_REC_WAITS;
	past->min = past->max = 9;
	past->owner = 2;
	past->owner_state = LIVE(2);
	alone.head->capacity = 4;
	alone.head->value = 2;
	weir_nm_regrant_all_(&alone);
	CHECK_EQ(past->state, NM_REC_WAITS);
	CHECK_EQ(past->outcome, 0);
	CHECK_QUEUE(first);
	alone.head->capacity = 3;
	alone.head->value = 1;
	weir_nm_regrant_all_(&alone);
	CHECK_EQ(first->state, WORD(0, NM_REC_ENDED));
	CHECK_EQ(first->outcome, WEIR_ETOOBIG);
	CHECK_EQ(past->state, NM_REC_WAITS);
	tear_down();
}

static void *take_one(void *sem)
{
	CHECK_OK(weir_named_acquire(sem, 1, NULL));
	return NULL;
}

/* The time that stat shows: not that of the wait. */
TEST(c38_the_hold_of_a_granted_call_begins_when_it_returns)
{
	const char *name = fresh_name();
	weir_named *holder = open_named(name, 1), *waiter = open_named(name, 1);
	const struct nm_record *record = &waiter->records[0];
	check_thread thread;
	int64_t before, after;

	CHECK_OK(weir_named_acquire(holder, 1, NULL));
	thread = start(take_one, waiter);
	AWAIT(look_at(holder).waiters == 1);
	before = weir_ticks_();
	weir_named_release(holder, 1);
	finish(thread);
	after = weir_ticks_();
	CHECK_EQ(record->state & NM_REC_MASK, NM_REC_TAKEN);
	CHECK(record->since >= before);
	CHECK(record->since <= after);
	weir_named_release(waiter, 1);
	close_named(waiter);
	close_named(holder);
}
