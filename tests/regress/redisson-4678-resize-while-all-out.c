/* SPDX-License-Identifier: MIT */
/*
 * Redisson #4678: setting the capacity while all permits are held creates
 * permits, because "no permit free" is read as "never initialised".
 *
 * Threads: A, B.  Capacity 3.
 *
 *   1. A: acquires all 3; the value is 0.
 *   2. B: sets the capacity to 3; the value 0 means "unset", so it becomes 3.
 *   3. B: acquires 3; six permits are held.
 *
 * In weir (C21) a resize sets the capacity and takes the held permits into
 * account, also when none is free, and also on a semaphore that began as zeroed
 * memory (C23).
 */
#include "waiter.h"

TEST(c21_resize_counts_held_permits)
{
	weir_sem sem = WEIR_SEM_INIT(3);
	int64_t debt = 7;

	CHECK_OK(weir_sem_acquire(&sem, 3, NULL));
	CHECK_OK(weir_sem_resize(&sem, 3, &debt));
	CHECK_EQ(debt, 0);
	CHECK_EQ(weir_sem_available(&sem), 0);
	CHECK_ERR(weir_sem_try_acquire(&sem, 1), WEIR_EAGAIN);
	CHECK_OK(weir_sem_resize(&sem, 5, &debt));
	CHECK_EQ(weir_sem_available(&sem), 2);
	CHECK_OK(weir_sem_resize(&sem, 1, &debt));
	CHECK_EQ(debt, 2);
	CHECK_EQ(weir_sem_available(&sem), 0);
	CHECK_IDENTITY(&sem);
	/*
	 * Three are released: two pay the debt, one is free, as is the
	 * capacity.
	 */
	weir_sem_release(&sem, 3);
	CHECK_EQ(weir_sem_available(&sem), 1);
	CHECK_EQ(stat_of(&sem).debt, 0);
	CHECK_ERR(weir_sem_try_release(&sem, 1), WEIR_EOVERFLOW);
}

TEST(c23_zeroed_memory_is_usable_after_resize)
{
	weir_sem sem;
	int64_t debt = 7;

	memset(&sem, 0, sizeof(sem));
	CHECK_ERR(weir_sem_acquire(&sem, 1, NULL), WEIR_ETOOBIG);
	CHECK_ERR(weir_sem_try_release(&sem, 1), WEIR_EOVERFLOW);
	CHECK_OK(weir_sem_resize(&sem, 3, &debt));
	CHECK_EQ(debt, 0);
	CHECK_OK(weir_sem_acquire(&sem, 3, NULL));
	CHECK_OK(weir_sem_resize(&sem, 3, &debt));
	CHECK_EQ(weir_sem_available(&sem), 0);
	CHECK_OK(weir_sem_resize(&sem, 0, &debt));
	CHECK_EQ(debt, 3);
	CHECK_OK(weir_sem_resize(&sem, 3, &debt));
	CHECK_EQ(debt, 0);
	CHECK_EQ(weir_sem_available(&sem), 0);
	CHECK_EQ(stat_of(&sem).held, 3);
	weir_sem_release(&sem, 3);
	CHECK_EQ(weir_sem_available(&sem), 3);
	CHECK_IDENTITY(&sem);
}
