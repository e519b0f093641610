/* SPDX-License-Identifier: MIT */
/*
 * anyio#252: a waiter is woken, a newcomer takes the permit before it runs, and
 * the waiter reports "would block" although it was to wait.
 *
 *   waiter                     releaser               newcomer
 *   ------                     --------               --------
 *   asleep
 *                              0 -> 1, wakes it
 *                                                     takes it: 1 -> 0
 *   wakes, sees 0,
 *   gives up
 *
 * Must hold: in FIFO the released permit is the waiter's own, so a newcomer is
 * refused or queues behind (C4, C5, C6).  In BARGING the newcomer may have it,
 * and the waiter goes on waiting (C30).
 */
#include "race.h"
#include "waiter.h"

TEST(c4_the_woken_waiter_keeps_its_permit)
{
	weir_sem sem = WEIR_SEM_INIT(1);
	struct waiter first = { .sem = &sem, .n = 1 };
	struct waiter second = { .sem = &sem, .n = 1 };
	int64_t got = 7;

	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	queue_up(&first);
	freeze(&first);
	weir_sem_release(&sem, 1);
	CHECK_ERR(weir_sem_try_acquire(&sem, 1), WEIR_EAGAIN);
	CHECK_OK(weir_sem_drain(&sem, &got));
	CHECK_EQ(got, 0);
	CHECK_ERR(weir_sem_acquire_until(&sem, 1, 1), WEIR_ETIMEDOUT);
	CHECK_OK(weir_sem_acquire_upto(&sem, 0, 1, NULL, &got));
	CHECK_EQ(got, 0);
	queue_up(&second);
	thaw(&first);
	CHECK_OK(result_of(&first));
	CHECK(!has_returned(&second));
	weir_sem_release(&sem, 1);
	CHECK_OK(result_of(&second));
	CHECK_IDENTITY(&sem);
}

/* C5: also when the release has only just been made. */
TEST(c5_try_right_after_the_release)
{
	weir_sem sem = WEIR_SEM_INIT(1);
	struct rounds r = rounds(3000);

	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	while (again(&r)) {
		struct waiter w = { .sem = &sem, .n = 1 };

		begin(&w);
		AWAIT(waiters_of(&sem) == 1);
		weir_sem_release(&sem, 1);
		CHECK_ERR(weir_sem_try_acquire(&sem, 1), WEIR_EAGAIN);
		CHECK_OK(result_of(&w));
	}
}

/* C30: robbed in BARGING, the waiter waits for the next permit. */
TEST(c30_a_robbed_waiter_waits_on)
{
	weir_sem_opts opts = { .capacity = 1, .policy = WEIR_BARGING,
			       .barge_us = WEIR_BARGE_US_MAX };
	weir_sem sem;
	struct waiter w = { .sem = &sem, .n = 1 };
	int robberies = 0;

	CHECK_OK(weir_sem_init_opts(&sem, &opts));
	queue_up(&w);
	freeze(&w);
	/* Where the permit was handed over directly there is none to take. */
	for (int i = 0; i < 10; i++) {
		weir_sem_release(&sem, 1);
		if (weir_sem_try_acquire(&sem, 1))
			break;
		robberies++;
		CHECK_EQ(waiters_of(&sem), 1);
	}
	thaw(&w);
	if (robberies == 10) {
		AWAIT(asleep(w.tid));
		CHECK(!has_returned(&w));
		weir_sem_release(&sem, 1);
	}
	CHECK_OK(result_of(&w));
	CHECK_EQ(stat_of(&sem).held, 1);
	CHECK_IDENTITY(&sem);
}
