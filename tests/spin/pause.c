/* SPDX-License-Identifier: MIT */
/*
 * A user-defined pause, and the behaviour of a spinning waiter.  The pause of
 * the test plays the other threads, so the test has one thread, no clock, and
 * is deterministic.
 */
#include "check.h"

static void play_others(void);
#define WEIR_SPIN_PAUSE() play_others()
#include "weir/spin.h"

static weir_spin spin;
static int turns;
static void (*at_turn)(int turn);

static void play_others(void)
{
	at_turn(++turns);
}

static void reset(void (*fn)(int turn))
{
	turns = 0;
	at_turn = fn;
}

static void never(int turn)
{
	check_fail(__FILE__, __LINE__, "unexpected pause %d", turn);
}

/* C2: a call that need not wait does not pause. */
TEST(c2_no_pause_unless_it_waits)
{
	reset(never);
	CHECK_OK(weir_spin_init(&spin, 2));
	CHECK_OK(weir_spin_acquire(&spin, 2));
	CHECK_OK(weir_spin_acquire(&spin, 0));
	CHECK_ERR(weir_spin_try_acquire(&spin, 1), WEIR_EAGAIN);
	CHECK_ERR(weir_spin_acquire(&spin, 3), WEIR_ETOOBIG);
	CHECK_ERR(weir_spin_acquire(&spin, -1), WEIR_EINVAL);
	CHECK_OK(weir_spin_release(&spin, 2));
}

static void release_one(int turn)
{
	/* C10: the waiter takes nothing until it can take all. */
	CHECK_EQ(weir_spin_available(&spin), turn - 1);
	CHECK_OK(weir_spin_release(&spin, 1));
}

/* C10: permits are released one by one; the waiter takes three at once. */
TEST(c10_waits_for_all_of_its_weight)
{
	reset(release_one);
	CHECK_OK(weir_spin_init_unbounded(&spin, 0));
	CHECK_OK(weir_spin_acquire(&spin, 3));
	CHECK_EQ(turns, 3);
	CHECK_EQ(weir_spin_available(&spin), 0);
}

static void release_and_take(int turn)
{
	/* Another thread takes the permits before the waiter checks. */
	CHECK_OK(weir_spin_release(&spin, 2));
	if (turn < 5)
		CHECK_OK(weir_spin_try_acquire(&spin, 1));
	if (turn < 5)
		CHECK_OK(weir_spin_try_acquire(&spin, 1));
}

/* C4 does not hold for weir_spin: a waiter can be passed and waits on. */
TEST(c4_does_not_hold_a_waiter_can_be_passed)
{
	reset(release_and_take);
	CHECK_OK(weir_spin_init_unbounded(&spin, 0));
	CHECK_OK(weir_spin_acquire(&spin, 2));
	CHECK_EQ(turns, 5);
	CHECK_EQ(weir_spin_available(&spin), 0);
}

static void over_release(int turn)
{
	/* C8: one permit is held; a waiter does not change that. */
	CHECK_ERR(weir_spin_release(&spin, 2), WEIR_EOVERFLOW);
	CHECK_EQ(weir_spin_available(&spin), 0);
	if (turn == 3)
		CHECK_OK(weir_spin_release(&spin, 1));
}

TEST(c8_over_release_to_a_waiter_is_refused)
{
	reset(over_release);
	CHECK_OK(weir_spin_init(&spin, 1));
	CHECK_OK(weir_spin_acquire(&spin, 1));
	CHECK_OK(weir_spin_acquire(&spin, 1));
	CHECK_EQ(turns, 3);
}
