/* SPDX-License-Identifier: MIT */
/*
 * Calls beside the queue under every schedule: a try that overtakes, the removal
 * of free permits, and relative resizes.
 */
#include "scenario.h"

static weir_sem s;

static void three_of_three(void)
{
	EX_ASSERT(weir_sem_init(&s, 3) == WEIR_OK);
}

static void grow_by_two(void)
{
	EX_ASSERT(weir_sem_resize_by(&s, 2, NULL) == WEIR_OK);
}

static void shrink_by_one(void)
{
	EX_ASSERT(weir_sem_resize_by(&s, -1, NULL) == WEIR_OK);
}

static void take_and_put(void)
{
	EX_ASSERT(weir_sem_acquire(&s, 2, NULL) == WEIR_OK);
	weir_sem_release(&s, 2);
}

static void is_four(void)
{
	weir_sem_info info;

	check_quiet(&s);
	EX_ASSERT(weir_sem_stat(&s, &info) == WEIR_OK);
	EX_ASSERT(info.capacity == 4 && info.free == 4);
}

/* C21, C24: no relative resize is lost. */
SCENARIO(resize_by_adds_up, 3, three_of_three, is_four, grow_by_two,
	 shrink_by_one)
SCENARIO(resize_by_meets_acquire, 2, three_of_three, is_four, grow_by_two,
	 shrink_by_one, take_and_put)

static void none_of_two(void)
{
	EX_ASSERT(weir_sem_init_opts(&s, &(weir_sem_opts){
		.capacity = 2 }) == WEIR_OK);
}

static void take_both(void)
{
	EX_ASSERT(weir_sem_acquire(&s, 2, NULL) == WEIR_OK);
}

static weir_err overtake(void)
{
	weir_err err;

	ledger_begin(&s, 0, 1);
	err = weir_sem_try_acquire_barging(&s, 1);
	ledger_end(&s, 0, 1, err ? 0 : 1);
	return err;
}

static void overtake_and_put(void)
{
	weir_err err = overtake();

	EX_ASSERT(err == WEIR_OK || err == WEIR_EAGAIN);
	if (!err)
		weir_sem_release(&s, 1);
}

static void put(void)
{
	weir_sem_release(&s, 1);
}

static void put_another(void)
{
	weir_sem_release(&s, 1);
}

static void both_taken(void)
{
	weir_sem_info info;

	check_quiet(&s);
	EX_ASSERT(weir_sem_stat(&s, &info) == WEIR_OK);
	EX_ASSERT(info.held == 2 && info.free == 0);
}

/* C10: the head is granted in the end; the overtaking call creates nothing. */
SCENARIO(overtake_meets_releases, 2, none_of_two, both_taken, take_both,
	 overtake_and_put, put, put_another)

static void none_of_one(void)
{
	EX_ASSERT(weir_sem_init_opts(&s, &(weir_sem_opts){
		.capacity = 1 }) == WEIR_OK);
}

static void take_one(void)
{
	EX_ASSERT(weir_sem_acquire(&s, 1, NULL) == WEIR_OK);
}

static uint32_t waiters(void)
{
	weir_sem_info info;

	/* More than one load: the caller waits with ex_yield. */
	ex_recheck();
	EX_ASSERT(weir_sem_stat(&s, &info) == WEIR_OK);
	return info.waiters;
}

static void put_then_overtake(void)
{
	while (!waiters())
		ex_yield();
	weir_sem_release(&s, 1);
	EX_ASSERT(overtake() == WEIR_EAGAIN);
}

/*
 * C6: permits that fit the head belong to it when the release returns, also if
 * the head spins and has not taken them yet.
 */
SCENARIO(overtake_takes_nothing_from_head, 2, none_of_one, NULL, take_one,
	 put_then_overtake)

static void unbounded_at_0(void)
{
	EX_ASSERT(weir_sem_init_opts(&s, &(weir_sem_opts){
		.flags = WEIR_SEM_UNBOUNDED }) == WEIR_OK);
	ledger_stop(&s);
}

static int64_t removed, taken;

static void remove_all(void)
{
	EX_ASSERT(weir_sem_remove(&s, WEIR_SEM_MAX, &removed) == WEIR_OK);
}

static void try_both(void)
{
	taken = weir_sem_try_acquire(&s, 2) == WEIR_OK ? 2 : 0;
}

static void adds_up(void)
{
	EX_ASSERT(weir_sem_available(&s) + removed + taken == 2);
	check_quiet(&s);
}

/* C9: every permit is free, taken or removed. */
SCENARIO(remove_meets_release, 2, unbounded_at_0, adds_up, put, put_another,
	 remove_all, try_both)
