/* SPDX-License-Identifier: MIT */
/*
 * A pause of the user's own, and what a waiter does while it spins.  The pause
 * is where time passes for a waiter, so here it plays the rest of the world:
 * one thread, no clock, the same every time.
 */
#include "check.h"

static void world(void);
#define WEIR_SPIN_PAUSE() world()
#include "weir/spin.h"

static weir_spin spin;
static int turns;
static void (*at_turn)(int turn);

static void world(void)
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
	check_fail(__FILE__, __LINE__, "pause %d where none is needed", turn);
}

/* C2: what fits is taken and what cannot be is refused without a pause. */
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
	/* C10: a waiter holds nothing until it has everything. */
	CHECK_EQ(weir_spin_available(&spin), turn - 1);
	CHECK_OK(weir_spin_release(&spin, 1));
}

/* C10: permits come one at a time, the waiter goes when it has three. */
TEST(c10_waits_for_all_of_its_weight)
{
	reset(release_one);
	CHECK_OK(weir_spin_init_unbounded(&spin, 0));
	CHECK_OK(weir_spin_acquire(&spin, 3));
	CHECK_EQ(turns, 3);
	CHECK_EQ(weir_spin_available(&spin), 0);
}

static void come_and_go(int turn)
{
	/* Another waiter takes what came before this one looks again. */
	CHECK_OK(weir_spin_release(&spin, 2));
	if (turn < 5)
		CHECK_OK(weir_spin_try_acquire(&spin, 1));
	if (turn < 5)
		CHECK_OK(weir_spin_try_acquire(&spin, 1));
}

/* C4 is not kept here: a waiter can be passed, and then waits on. */
TEST(c4_not_kept_a_waiter_can_be_passed)
{
	reset(come_and_go);
	CHECK_OK(weir_spin_init_unbounded(&spin, 0));
	CHECK_OK(weir_spin_acquire(&spin, 2));
	CHECK_EQ(turns, 5);
	CHECK_EQ(weir_spin_available(&spin), 0);
}

static void over_release(int turn)
{
	/* C8: one is out, however many wait for it. */
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
