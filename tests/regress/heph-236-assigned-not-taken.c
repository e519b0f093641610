/* SPDX-License-Identifier: MIT */
/*
 * heph PR #236 ("78 waiters, 0 holders"): a permit that was assigned to a
 * waiter that never runs again does not show up in any count.
 *
 * Threads: A (queued), releaser, observer.
 *
 *   1. releaser: assigns the permit to A.
 *   2. A: never runs.
 *   3. observer: no permit is free and none is held; nothing shows where the
 *      permit is.
 *
 * In weir weir_sem_stat counts permits that are granted but not yet taken
 * separately, and the counts add up (capacity = free + held + granted - debt).
 * A thread runs sooner or later, so a grant to a thread is never lost.
 */
#include "waiter.h"

TEST(n8_granted_is_counted_apart_from_held)
{
	weir_sem sem = WEIR_SEM_INIT(5);
	struct waiter w[3];
	weir_sem_info info;

	CHECK_OK(weir_sem_acquire(&sem, 5, NULL));
	for (int i = 0; i < 3; i++) {
		w[i] = (struct waiter){ .sem = &sem, .n = i + 1 };
		queue_up(&w[i]);
		freeze(&w[i]);
	}
	weir_sem_release(&sem, 3);
	info = stat_of(&sem);
	CHECK_EQ(info.granted, 3);	/* the first two waiters */
	CHECK_EQ(info.held, 2);
	CHECK_EQ(info.free, 0);
	CHECK_EQ(info.waiters, 1);
	CHECK_EQ(info.waiting_permits, 3);
	CHECK(info.oldest_wait_ns > 0);
	CHECK_IDENTITY(&sem);

	thaw(&w[0]);
	CHECK_OK(result_of(&w[0]));
	info = stat_of(&sem);
	CHECK_EQ(info.granted, 2);
	CHECK_EQ(info.held, 3);
	thaw(&w[1]);
	CHECK_OK(result_of(&w[1]));
	CHECK_EQ(stat_of(&sem).granted, 0);
	CHECK_EQ(stat_of(&sem).held, 5);
	weir_sem_release(&sem, 3);
	thaw(&w[2]);
	CHECK_OK(result_of(&w[2]));
	info = stat_of(&sem);
	CHECK_EQ(info.waiters, 0);
	CHECK_EQ(info.oldest_wait_ns, 0);
	CHECK_IDENTITY(&sem);
}

/* C20: the semaphore is not idle while a grant has not been taken. */
TEST(c20_a_grant_not_taken_is_not_idle)
{
	weir_sem sem = WEIR_SEM_INIT(1);
	struct waiter w = { .sem = &sem, .n = 1 };
	struct waiter idle = { .sem = &sem, .idle = true };

	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	queue_up(&w);
	freeze(&w);
	queue_up(&idle);
	weir_sem_release(&sem, 1);
	CHECK_EQ(stat_of(&sem).granted, 1);
	CHECK_EQ(oversized_of(&sem), 1);
	thaw(&w);
	CHECK_OK(result_of(&w));
	CHECK_EQ(oversized_of(&sem), 1);
	weir_sem_release(&sem, 1);
	CHECK_OK(result_of(&idle));
}

/* C22: a granted call that has not returned prevents destroy. */
TEST(c22_no_destroy_under_a_grant_not_taken)
{
	weir_sem sem = WEIR_SEM_INIT(1);
	struct waiter w = { .sem = &sem, .n = 1 };

	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	queue_up(&w);
	freeze(&w);
	weir_sem_release(&sem, 1);
	CHECK_EQ(waiters_of(&sem), 0);
	CHECK_EQ(stat_of(&sem).granted, 1);
	CHECK_ERR(weir_sem_destroy(&sem), WEIR_EBUSY);
	thaw(&w);
	CHECK_OK(result_of(&w));
	CHECK_OK(weir_sem_destroy(&sem));
}
