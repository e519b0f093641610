/* SPDX-License-Identifier: MIT */
/*
 * anyio#252: a blocking acquire fails with "would block", because a new request
 * takes the permit before the woken waiter runs.
 *
 * Threads: waiter (parked), releaser, newcomer.
 *
 *   1. releaser: sets the value from 0 to 1 and wakes the waiter.
 *   2. newcomer: takes the permit before the waiter runs; the value is 0.
 *   3. waiter: wakes, sees 0 and gives up.
 *
 * In weir the FIFO policy grants the released permit to the waiter directly; a
 * new request is refused or queues behind it (C4, C5, C6).  With BARGING the
 * new request may take the permit, and the waiter continues to wait (C30).
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

/* C5: also immediately after the release. */
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

/* C30: with BARGING, a waiter whose permit was taken waits for the next one. */
TEST(c30_waiter_keeps_waiting_after_barging)
{
	weir_sem_opts opts = { .capacity = 1, .policy = WEIR_BARGING,
			       .barge_us = WEIR_BARGE_US_MAX };
	weir_sem sem;
	struct waiter w = { .sem = &sem, .n = 1 };
	int barged = 0;

	CHECK_OK(weir_sem_init_opts(&sem, &opts));
	queue_up(&w);
	freeze(&w);
	/* After a direct hand-off there is no free permit to take. */
	for (int i = 0; i < 10; i++) {
		weir_sem_release(&sem, 1);
		if (weir_sem_try_acquire(&sem, 1))
			break;
		barged++;
		CHECK_EQ(waiters_of(&sem), 1);
	}
	thaw(&w);
	if (barged == 10) {
		AWAIT(asleep(w.tid));
		CHECK(!has_returned(&w));
		weir_sem_release(&sem, 1);
	}
	CHECK_OK(result_of(&w));
	CHECK_EQ(stat_of(&sem).held, 1);
	CHECK_IDENTITY(&sem);
}
