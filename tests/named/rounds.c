/* SPDX-License-Identifier: MIT */
/*
 * C37: the rounds of a keeper, and arming it, step by step (private.h).  A test
 * thread does the work of the keeper.
 */
#include <errno.h>

#include "named/keeper.h"
#include "named/lock.h"
#include "private.h"

static check_thread keeper, listener;

static void *keep_watch(void *kick)
{
	weir_nm_keep_watch_(&alone, *(const uint32_t *)kick);
	return NULL;
}

/* As weir_nm_keeper_start_ sets up the handle. */
static void set_up_handle(int64_t capacity, bool can_wait_any)
{
	set_up(capacity);
	alone.alive = ALIVE;
	alone.lock_id = nm_lock_id(1, alone.state);
	alone.can_wait_any = can_wait_any;
	alone.round = alone.listens = 1;
}

static bool is_asleep(void)
{
	return weir_shared_sleepers_(&alone.mine->kick);
}

static bool is_on_obituary(void)
{
	return weir_shared_sleepers_(&alone.head->obituary);
}

/* A keeper that has loaded this value of its kick word. */
static void start_keeper_at(uint32_t value)
{
	static uint32_t kick;

	kick = value;
	keeper = start(keep_watch, &kick);
	AWAIT(is_asleep());
}

static void start_keeper(void)
{
	start_keeper_at(alone.mine->kick);
}

static void stop_keeper(void)
{
	at_store_relaxed(&alone.stop, NM_STOP);
	weir_nm_kick_(&alone);
	finish(keeper);
	tear_down();
}

/* The keeper sleeps in this round. */
static void check_sleeps(uint32_t round)
{
	AWAIT(at_load_acquire(&alone.round) == round && is_asleep());
}

/* Let the keeper run a round. */
static void run_round(uint32_t calls)
{
	uint32_t round = at_load_relaxed(&alone.round);

	at_store_relaxed(&alone.calls, calls);
	weir_nm_kick_(&alone);
	check_sleeps(round + 2);
}

/* Under the lock, because the keeper changes `polls`. */
static bool polls(void)
{
	bool so;

	CHECK_OK(nm_lock(&alone, NULL));
	so = alone.polls;
	nm_unlock(&alone);
	return so;
}

static uint64_t count_sections(void)
{
	return at_load_relaxed(&alone.head->lock) >> 32;
}

/* STRICT: a thread of the dead participant 1 still runs. */
static void set_up_lingering(void)
{
	alone.strict = true;
	hold(join_dead(1), 2);
	CHECK(weir_nm_byte_lock_(other_fd, NM_BYTE_ALIVE(1)));
}

/* A keeper without waiting calls leaves the deaths to others. */
TEST(c37_a_keeper_listens_while_calls_wait)
{
	set_up_handle(9, weir_shared_can_wait_any_());
	start_keeper();
	CHECK_EQ(alone.round, 1);
	CHECK_EQ(is_on_obituary(), alone.can_wait_any);
	run_round(0);
	CHECK_EQ(alone.round, 3);
	CHECK(!alone.listens);
	CHECK(!is_on_obituary());
	run_round(1);
	CHECK_EQ(alone.round, 5);
	CHECK(alone.listens);
	CHECK_EQ(is_on_obituary(), alone.can_wait_any);
	CHECK(!polls());
	stop_keeper();
}

/* It polls while a dead participant keeps its permits and a call waits. */
TEST(c37_a_keeper_polls_while_a_dead_participant_lingers)
{
	uint64_t sections;

	set_up_handle(9, weir_shared_can_wait_any_());
	set_up_lingering();
	start_keeper();
	run_round(0);
	CHECK(!polls());
	CHECK_EQ(alone.slots[1].lingers, 1);
	CHECK_EQ(alone.head->value, 7);
	at_store_relaxed(&alone.calls, 1);
	weir_nm_kick_(&alone);
	AWAIT(polls());
	/* It counts as awake between the polls. */
	sections = count_sections();
	AWAIT(count_sections() > sections + 3);
	CHECK_EQ(alone.round, 4);
	weir_nm_byte_unlock_(other_fd, NM_BYTE_ALIVE(1));
	check_sleeps(5);
	CHECK(!polls());
	CHECK_EQ(alone.head->value, 9);
	CHECK_EQ(alone.slots[1].state, FREED(2));
	stop_keeper();
}

static void *listen(void *unused)
{
	(void)unused;
	weir_shared_wait_(&alone.head->obituary, 0, WEIR_FOREVER);
	return NULL;
}

/* The keepers of waiting processes must poll, so it wakes one of them. */
TEST(c37_a_keeper_passes_on_that_a_dead_participant_lingers)
{
	set_up_handle(9, weir_shared_can_wait_any_());
	start_keeper();
	run_round(0);
	listener = start(listen, NULL);
	AWAIT(is_on_obituary());
	run_round(0);
	CHECK(is_on_obituary());
	set_up_lingering();
	run_round(0);
	CHECK(!is_on_obituary());
	finish(listener);
	stop_keeper();
}

/* A keeper that has noticed the death polls, and wakes no other one again. */
TEST(c37_a_polling_keeper_wakes_no_other)
{
	uint64_t sections;

	set_up_handle(9, false);
	set_up_lingering();
	start_keeper();
	at_store_relaxed(&alone.calls, 1);
	weir_nm_kick_(&alone);
	AWAIT(polls());
	sections = count_sections();
	AWAIT(count_sections() > sections + 1);
	listener = start(listen, NULL);
	AWAIT(is_on_obituary());
	sections = count_sections();
	AWAIT(count_sections() > sections + 3);
	CHECK(is_on_obituary());
	weir_shared_wake_(&alone.head->obituary);
	finish(listener);
	stop_keeper();
}

/* No keeper runs: a call that had to wait for it would not return. */
TEST(c37_a_thread_does_not_arm_a_keeper_that_is_awake_or_armed)
{
	set_up_handle(9, weir_shared_can_wait_any_());
	alone.round = 2;
	weir_nm_arm_(&alone);
	CHECK_EQ(alone.mine->kick, 0);
	alone.round = alone.checked = 3;
	CHECK(weir_nm_is_armed_(&alone));
	weir_nm_arm_(&alone);
	CHECK_EQ(alone.mine->kick, 0);
	/* Not listening: it is kicked. */
	alone.round = 5;
	alone.listens = 0;
	CHECK(!weir_nm_is_armed_(&alone));
	weir_nm_arm_(&alone);
	CHECK_EQ(alone.mine->kick, 1);
	CHECK_EQ(alone.checked, 3);
	tear_down();
}

static void check_arming(bool can_wait_any)
{
	set_up_handle(9, can_wait_any);
	start_keeper();
	weir_nm_arm_(&alone);
	CHECK(weir_nm_is_armed_(&alone));
	CHECK_EQ(alone.checked, 1);
	/* It sleeps on, and wakes if its process was stopped and continues. */
	CHECK_EQ(alone.round, 1);
	CHECK_EQ(alone.mine->kick, 1);
	CHECK(is_on_obituary());
	/* Without futex_waitv it has been moved. */
	CHECK_EQ(is_asleep(), can_wait_any);
	run_round(1);
	/* A death that no keeper has noticed. */
	hold(join_dead(1), 2);
	weir_nm_arm_(&alone);
	check_sleeps(5);
	CHECK_EQ(alone.head->value, 9);
	CHECK_EQ(alone.slots[1].state, FREED(2));
	CHECK_EQ(alone.checked, 1);
	CHECK(!weir_nm_is_armed_(&alone));
	stop_keeper();
}

TEST(c37_a_thread_arms_the_keeper)
{
	if (weir_shared_can_wait_any_())
		check_arming(true);
	check_arming(false);
}

/*
 * An open has taken over a slot after the sweep has looked for that: `repairing`
 * keeps the sweep from the repair.  No thread kicks the keeper again.
 */
TEST(c37_c38_a_keeper_runs_another_round_for_a_stale_file)
{
	set_up_handle(9, weir_shared_can_wait_any_());
	start_keeper();
	alone.repairing = true;
	at_store_relaxed(&alone.head->stale, 1);
	alone.head->value = 2;
	weir_nm_kick_(&alone);
	AWAIT(at_load_acquire(&alone.round) >= 3);
	CHECK_OK(nm_lock(&alone, NULL));
	alone.repairing = false;
	nm_unlock(&alone);
	AWAIT(!at_load_relaxed(&alone.head->stale));
	AWAIT(at_load_acquire(&alone.round) % 2 && is_asleep());
	CHECK_EQ(alone.head->value, 9);
	CHECK_EQ(alone.head->repairs, 1);
	stop_keeper();
}

static void *arm(void *started)
{
	at_store_release((uint32_t *)started, 1);
	weir_nm_arm_(&alone);
	return NULL;
}

/*
 * A death between the round of the keeper and its sleep wakes no thread, so a
 * thread waits for the sleep.  If that comes too late for the thread, the keeper
 * runs a round instead.
 */
TEST(c37_a_thread_waits_until_the_keeper_sleeps)
{
	static uint32_t started;
	check_thread thread;

	set_up_handle(9, weir_shared_can_wait_any_());
	alone.calls = 1;
	at_store_relaxed(&started, 0);
	thread = start(arm, &started);
	AWAIT(at_load_acquire(&started));
	start_keeper_at(0);
	finish(thread);
	AWAIT(at_load_acquire(&alone.round) == 3 || weir_nm_is_armed_(&alone));
	stop_keeper();
}

/*
 * C42: a debugger may have stopped the keeper thread alone, before its sleep.
 * The thread kicks it, so that it runs a round before it sleeps.
 */
TEST(c37_c42_a_thread_waits_for_the_sleep_of_the_keeper_in_bounds)
{
	set_up_handle(9, weir_shared_can_wait_any_());
	alone.calls = 1;
	weir_nm_arm_(&alone);
	CHECK_EQ(alone.mine->kick, 1);
	CHECK_EQ(alone.checked, 0);
	hold(join_dead(1), 2);
	start_keeper_at(0);
	check_sleeps(3);
	CHECK_EQ(alone.head->value, 9);
	CHECK_EQ(alone.slots[1].state, FREED(2));
	stop_keeper();
}

static void *acquire(void *unused)
{
	(void)unused;
	CHECK_OK(weir_named_acquire(&alone, 4, NULL));
	return NULL;
}

/* C42: a deadline and a grant end a wait while the keeper does not run. */
TEST(c42_a_wait_ends_without_the_keeper)
{
	check_thread thread;

	set_up_handle(5, weir_shared_can_wait_any_());
	alone.ticket = alone.lock_id;
	CHECK_OK(weir_named_acquire(&alone, 2, NULL));
	CHECK_ERR(weir_named_acquire_until(&alone, 4, weir_now_ns() + 1000000),
		  WEIR_ETIMEDOUT);
	thread = start(acquire, NULL);
	AWAIT(at_load_relaxed(&alone.head->waiters) == 1);
	weir_named_release(&alone, 2);
	finish(thread);
	CHECK_EQ(alone.calls, 0);
	tear_down();
}

/* A participant that holds 2 of 5 permits.  No keeper runs. */
static struct nm_slot *set_up_holder(uint32_t index)
{
	struct nm_slot *slot;

	set_up_handle(5, true);
	alone.ticket = alone.lock_id;
	slot = join(index);
	slot->death.word = ALIVE;
	hold(slot, 2);
	return slot;
}

static check_thread start_waiter(void)
{
	check_thread thread = start(acquire, NULL);

	AWAIT(weir_shared_sleepers_(&alone.records[0].state));
	return thread;
}

static void mark_dead(struct nm_slot *slot)
{
	weir_nm_mark_dead_(slot);
	at_store_relaxed(&slot->death.word, WEIR_DIED_);
	weir_shared_wake_(&slot->death.word);
}

static void bury_and_finish(check_thread waiter)
{
	CHECK_OK(nm_lock(&alone, NULL));
	weir_nm_sweep_(&alone);
	nm_unlock(&alone);
	finish(waiter);
	tear_down();
}

TEST(c37_a_waiting_thread_buries_a_dead_holder)
{
	struct nm_slot *slot;
	check_thread waiter;

	if (!weir_shared_can_wait_any_())
		return;
	slot = set_up_holder(7);
	waiter = start_waiter();
	AWAIT(weir_shared_sleepers_(&slot->death.word));
	mark_dead(slot);
	finish(waiter);
	CHECK_EQ(slot->state, FREED(8));
	CHECK_EQ(alone.head->value, 1);
	tear_down();
}

/* It leaves that to a keeper if the lock is taken, and sleeps again. */
TEST(c37_c42_a_waiting_thread_does_not_wait_for_the_lock)
{
	struct nm_slot *slot, *later;
	check_thread waiter;

	if (!weir_shared_can_wait_any_())
		return;
	slot = set_up_holder(1);
	later = join(2);
	waiter = start_waiter();
	CHECK_OK(nm_lock(&alone, NULL));
	/* The waiting thread watches this one when it sleeps again. */
	at_store_relaxed(&later->death.word, ALIVE);
	mark_dead(slot);
	AWAIT(weir_shared_sleepers_(&later->death.word));
	CHECK(!weir_shared_sleepers_(&slot->death.word));
	CHECK_EQ(alone.head->awaited, 0);
	CHECK_EQ(slot->state, LIVE(2));
	nm_unlock(&alone);
	bury_and_finish(waiter);
}

/* It watches each other participant that lives, and takes no lock without a death. */
TEST(c37_a_waiting_thread_watches_all_others)
{
	struct nm_slot *slot, *first, *other;
	check_thread waiter;
	uint64_t sections;

	if (!weir_shared_can_wait_any_())
		return;
	slot = set_up_holder(7);
	/* Ours is not the first slot: that is of another participant. */
	first = alone.mine;
	other = join(3);
	alone.mine = join(5);
	alone.me = 6;
	alone.state = alone.mine->state;
	alone.ticket = alone.lock_id = nm_lock_id(alone.me, alone.state);
	first->death.word = other->death.word = ALIVE;
	alone.mine->death.word = ALIVE;
	waiter = start_waiter();
	AWAIT(weir_shared_sleepers_(&slot->death.word));
	AWAIT(weir_shared_sleepers_(&first->death.word));
	AWAIT(weir_shared_sleepers_(&other->death.word));
	CHECK(!weir_shared_sleepers_(&alone.mine->death.word));
	sections = count_sections();
	weir_shared_wake_(&alone.records[0].state);
	AWAIT(weir_shared_sleepers_(&alone.records[0].state));
	CHECK_EQ(count_sections(), sections);
	mark_dead(other);
	AWAIT(at_load_relaxed(&other->state) == FREED(4));
	CHECK_EQ(slot->state, LIVE(8));
	AWAIT(weir_shared_sleepers_(&slot->death.word));
	CHECK(!weir_shared_sleepers_(&other->death.word));
	mark_dead(slot);
	finish(waiter);
	CHECK_EQ(slot->state, FREED(8));
	tear_down();
}

/* A granted call returns, and leaves the dead to a keeper. */
TEST(c37_a_granted_thread_buries_none)
{
	struct nm_slot *slot;
	check_thread waiter;

	if (!weir_shared_can_wait_any_())
		return;
	slot = set_up_holder(7);
	waiter = start_waiter();
	CHECK_OK(nm_lock(&alone, NULL));
	hold(slot, -2);
	weir_nm_mark_dead_(slot);
	at_store_relaxed(&slot->death.word, WEIR_DIED_);
	weir_nm_grant_all_(&alone);
	nm_unlock(&alone);
	finish(waiter);
	CHECK_EQ(slot->state, LIVE(8));
	tear_down();
}

/* C39: the file is damaged.  The thread unlocks, and sleeps again. */
TEST(c39_a_waiting_thread_that_has_lost_its_slot_buries_none)
{
	struct nm_slot *slot, *later;
	check_thread waiter;

	if (!weir_shared_can_wait_any_())
		return;
	slot = set_up_holder(1);
	later = join(2);
	waiter = start_waiter();
	at_store_relaxed(&alone.mine->state, FREED(1));
	at_store_relaxed(&later->death.word, ALIVE);
	mark_dead(slot);
	AWAIT(weir_shared_sleepers_(&later->death.word));
	CHECK_EQ(slot->state, LIVE(2));
	CHECK_EQ((uint32_t)at_load_relaxed(&alone.head->lock), 0);
	at_store_relaxed(&alone.mine->state, LIVE(1));
	bury_and_finish(waiter);
}

/* In a larger table, or without futex_waitv, only keepers notice a death. */
static void check_watches_none(bool can_wait_any, uint32_t index)
{
	const struct nm_slot *slot = set_up_holder(index);
	struct nm_slot *other = join(1);
	check_thread waiter;

	other->death.word = ALIVE;
	alone.can_wait_any = can_wait_any;
	waiter = start_waiter();
	CHECK(!weir_shared_sleepers_(&alone.slots[1].death.word));
	CHECK(!weir_shared_sleepers_(&alone.slots[index].death.word));
	CHECK_EQ(slot->state, LIVE(index + 1));
	weir_nm_mark_dead_(&alone.slots[index]);
	bury_and_finish(waiter);
}

TEST(c37_a_waiting_thread_watches_few_others)
{
	check_watches_none(true, 8);
	check_watches_none(false, 7);
}

static void *acquire_within_an_hour(void *unused)
{
	(void)unused;
	CHECK_OK(weir_named_acquire_for(&alone, 4,
					3600 * INT64_C(1000000000)));
	return NULL;
}

/*
 * A call with a deadline, and one that a signal may end, watch the others.  A call
 * with both watches none: see c18_any_handler_ends_a_wait_with_a_deadline.
 */
TEST(c18_c37_a_call_that_any_handler_ends_watches_none)
{
	if (!weir_shared_can_wait_any_())
		return;
	for (int kind = 0; kind < 4; kind++) {
		struct nm_slot *slot = set_up_holder(7);
		check_thread waiter;

		alone.flags = kind & 1 ? WEIR_NAMED_INTERRUPTIBLE : 0;
		waiter = start(kind & 2 ? acquire_within_an_hour : acquire,
			       NULL);
		AWAIT(weir_shared_sleepers_(&alone.records[0].state));
		if (kind < 3)
			AWAIT(weir_shared_sleepers_(&slot->death.word));
		CHECK_EQ(weir_shared_sleepers_(&slot->death.word), kind < 3);
		mark_dead(slot);
		bury_and_finish(waiter);
	}
}

/* C39: the file is damaged.  The keeper ends, and its calls get an error. */
TEST(c39_a_keeper_that_has_lost_its_slot_ends)
{
	set_up_handle(9, weir_shared_can_wait_any_());
	start_keeper();
	at_store_relaxed(&alone.mine->state, FREED(1));
	weir_nm_kick_(&alone);
	finish(keeper);
	CHECK_EQ((uint32_t)alone.head->lock, 0);
	tear_down();
}

/*
 * C38: this process is being killed.  Its keeper has ended in a repair, and a thread that
 * still runs leaves the lock and the repair to another process.
 */
TEST(c38_a_thread_does_not_take_the_lock_of_its_dead_keeper)
{
	set_up_handle(9, weir_shared_can_wait_any_());
	alone.head->lock = (UINT64_C(7) << 32) + alone.lock_id;
	alone.repairing = true;
	weir_nm_mark_dead_(alone.mine);
	errno = 0;
	CHECK_ERR(nm_lock(&alone, NULL), WEIR_ESYSTEM);
	CHECK_EQ(errno, EBADMSG);
	CHECK_EQ(alone.head->lock, (UINT64_C(7) << 32) + alone.lock_id);
	tear_down();
}

/* C14: the permits of a dead participant are free. */
TEST(c14_c37_a_late_call_gets_the_permits_of_a_dead_participant)
{
	struct nm_slot *dead;

	set_up_handle(5, weir_shared_can_wait_any_());
	alone.ticket = alone.lock_id;
	dead = join_dead(1);
	hold(dead, 2);
	/* Armed: the keeper notices each death, and has noticed none. */
	alone.checked = 1;
	CHECK_ERR(weir_named_acquire_until(&alone, 4, 0), WEIR_ETIMEDOUT);
	CHECK_EQ(dead->state, LIVE(2));
	alone.checked = 0;
	CHECK_OK(weir_named_acquire_until(&alone, 4, 0));
	CHECK_EQ(dead->state, FREED(2));
	CHECK_EQ(alone.mine->held, 4);
	CHECK_EQ(alone.head->value, 1);
	tear_down();
}
