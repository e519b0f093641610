/* SPDX-License-Identifier: MIT */
/*
 * N7, zephyr#21158: a release of too many permits succeeds while a grant is on
 * its way to its waiter, because the granted permits are neither free nor held
 * yet.
 *
 * Threads: waiter (queued for 2), releaser, faulty releaser.  Capacity 2.
 *
 *   1. releaser: releases 2; they are granted to the waiter, which has not run.
 *   2. faulty releaser: releases 3; the check looks only at the free permits
 *      (0) and passes.
 *
 * In weir (C8) the release is compared with the outstanding permits, held and
 * granted together.  A larger release is refused and changes nothing.
 */
#include "race.h"
#include "waiter.h"

static void over_release_in_flight(weir_policy policy)
{
	/* A bound that does not pass while the waiter is frozen. */
	weir_sem_opts opts = { .capacity = 5, .policy = policy,
			       .barge_us = WEIR_BARGE_US_MAX,
			       .name = "bounded" };
	weir_sem sem;
	struct waiter w = { .sem = &sem, .n = 2 };
	weir_sem_info before, after;

	CHECK_OK(weir_sem_init_opts(&sem, &opts));
	queue_up(&w);
	freeze(&w);
	weir_sem_release(&sem, 3);	/* two for the waiter, one free */
	before = stat_of(&sem);
	if (policy == WEIR_FIFO) {
		CHECK_EQ(before.granted, 2);
		CHECK_EQ(before.held, 2);
		CHECK_EQ(before.free, 1);
	}
	for (int64_t n = before.held + before.granted + 1; n < 10; n++) {
		CHECK_ERR(weir_sem_try_release(&sem, n), WEIR_EOVERFLOW);
		CHECK_PANICS("bounded", weir_sem_release(&sem, n));
	}
	CHECK_ERR(weir_sem_forget(&sem, before.held + before.granted + 1),
		  WEIR_EOVERFLOW);
	after = stat_of(&sem);
	CHECK_EQ(after.granted, before.granted);
	CHECK_EQ(after.held, before.held);
	CHECK_EQ(after.free, before.free);
	CHECK_EQ(after.capacity, 5);
	/* A release of exactly the held permits is valid meanwhile. */
	CHECK_OK(weir_sem_try_release(&sem, 2));
	CHECK_IDENTITY(&sem);
	thaw(&w);
	CHECK_OK(result_of(&w));
	CHECK_ERR(weir_sem_try_release(&sem, 3), WEIR_EOVERFLOW);
	CHECK_OK(weir_sem_try_release(&sem, 2));
	CHECK_ERR(weir_sem_try_release(&sem, 1), WEIR_EOVERFLOW);
	CHECK_EQ(weir_sem_available(&sem), 5);
}

TEST(c8_refused_while_a_grant_is_in_flight)
{
	over_release_in_flight(WEIR_FIFO);
	over_release_in_flight(WEIR_BARGING);
}

struct shared {
	weir_sem sem;
	uint32_t stop;		/* atomic */
};

static void *come_and_go(void *arg)
{
	struct shared *s = arg;

	while (!__atomic_load_n(&s->stop, __ATOMIC_ACQUIRE)) {
		CHECK_OK(weir_sem_acquire(&s->sem, 1, NULL));
		weir_sem_release(&s->sem, 1);
	}
	return NULL;
}

/*
 * C8: under load, with grants in flight all the time.  At most three permits
 * are held, so a release of four always fails.
 */
TEST(c8_refused_under_load)
{
	struct shared s = { .sem = WEIR_SEM_INIT(3) };
	struct rounds r = rounds(20000);
	check_thread thread[4];

	for (int i = 0; i < 4; i++)
		thread[i] = start(come_and_go, &s);
	while (again(&r)) {
		CHECK_ERR(weir_sem_try_release(&s.sem, 4), WEIR_EOVERFLOW);
		CHECK_IDENTITY(&s.sem);
	}
	__atomic_store_n(&s.stop, 1, __ATOMIC_RELEASE);
	for (int i = 0; i < 4; i++)
		finish(thread[i]);
	CHECK_EQ(weir_sem_available(&s.sem), 3);
	CHECK_ERR(weir_sem_try_release(&s.sem, 1), WEIR_EOVERFLOW);
}
