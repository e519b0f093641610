/* SPDX-License-Identifier: MIT */
/*
 * N2 (and JDK-8386085): no thread gets a released permit while many threads
 * acquire with a timeout of one microsecond.
 *
 * Threads: threads 1 to 8, main.
 *
 *   1. threads 1 to 8: acquire for 1 us, time out, retry; the queue changes
 *      constantly.
 *   2. main: releases n permits.
 *   3. threads 1 to 8: each is notified too late, or removes the dead nodes of
 *      other threads; none gets a permit.
 *
 * In weir all n permits are taken (C6, C14: a grant wins over a timeout that
 * meets it), and the timeouts delay no other waiter (C17).
 */
#include "waiter.h"

#define THREADS 8
#define PERMITS 50

struct storm {
	weir_sem sem;
	int64_t taken;		/* atomic */
	uint32_t stop;		/* atomic */
};

static void *brew(void *arg)
{
	struct storm *s = arg;

	while (!__atomic_load_n(&s->stop, __ATOMIC_ACQUIRE)) {
		weir_err err = weir_sem_acquire_for(&s->sem, 1, 1000);

		if (!err)
			__atomic_add_fetch(&s->taken, 1, __ATOMIC_ACQ_REL);
		else
			CHECK_ERR(err, WEIR_ETIMEDOUT);
	}
	return NULL;
}

static int64_t taken(struct storm *s)
{
	return __atomic_load_n(&s->taken, __ATOMIC_ACQUIRE);
}

static void all_taken(weir_policy policy, int64_t at_a_time)
{
	weir_sem_opts opts = { .policy = policy,
			       .flags = WEIR_SEM_UNBOUNDED };
	int rounds = 100 * check_scale();
	struct storm s = { .taken = 0 };
	check_thread thread[THREADS];

	CHECK_OK(weir_sem_init_opts(&s.sem, &opts));
	for (int i = 0; i < THREADS; i++)
		thread[i] = start(brew, &s);
	for (int k = 1; k <= rounds; k++) {
		for (int64_t n = 0; n < PERMITS; n += at_a_time)
			weir_sem_release(&s.sem, at_a_time);
		AWAIT(taken(&s) == (int64_t)k * PERMITS);
	}
	__atomic_store_n(&s.stop, 1, __ATOMIC_RELEASE);
	for (int i = 0; i < THREADS; i++)
		finish(thread[i]);
	CHECK_EQ(weir_sem_available(&s.sem), 0);
	CHECK_EQ(waiters_of(&s.sem), 0);
	CHECK_EQ(stat_of(&s.sem).granted, 0);
}

TEST(c17_all_are_taken)
{
	all_taken(WEIR_FIFO, PERMITS);
	all_taken(WEIR_FIFO, 1);
}

TEST(c17_all_are_taken_barging)
{
	all_taken(WEIR_BARGING, PERMITS);
	all_taken(WEIR_BARGING, 1);
}

/* C17: a long waiter is granted in its turn in spite of the timeouts. */
TEST(c17_a_patient_waiter_in_the_storm)
{
	struct storm s = { .sem = WEIR_SEM_INIT_UNBOUNDED(0) };
	int rounds = 200 * check_scale();
	check_thread thread[THREADS];

	for (int i = 0; i < THREADS; i++)
		thread[i] = start(brew, &s);
	for (int k = 0; k < rounds; k++) {
		struct waiter patient = { .sem = &s.sem, .n = 3 };

		begin(&patient);
		while (!has_returned(&patient)) {
			weir_sem_release(&s.sem, 1);
			sched_yield();
		}
		CHECK_OK(result_of(&patient));
	}
	__atomic_store_n(&s.stop, 1, __ATOMIC_RELEASE);
	for (int i = 0; i < THREADS; i++)
		finish(thread[i]);
	CHECK_EQ(waiters_of(&s.sem), 0);
}
