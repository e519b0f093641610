/* SPDX-License-Identifier: MIT */
/*
 * N4: wait_idle never returns after the capacity was lowered repeatedly under
 * load, because the release that pays the debt does not notify it.
 *
 * Threads: workers, resizer, main.
 *
 *   1. workers: acquire and release.
 *   2. resizer: shrinks, which creates a debt.
 *   3. workers: release and pay the debt.
 *   4. resizer: grows, which cancels the debt; shrinks again.
 *   5. main: calls wait_idle.
 *   6. The last worker: releases, pays the rest of the debt and must notify
 *      main.
 *
 * In weir wait_idle returns, the debt is zero, and the number of free permits
 * equals the capacity (C20, C21).
 */
#include "race.h"
#include "waiter.h"

#define WORKERS 4
#define LARGEST 8

struct load {
	weir_sem sem;
	uint32_t stop;		/* atomic */
	uint32_t number;	/* atomic: numbers the threads */
};

static bool stopped(struct load *l)
{
	return __atomic_load_n(&l->stop, __ATOMIC_ACQUIRE);
}

static void *work(void *arg)
{
	struct load *l = arg;
	uint64_t random = seed_of(__atomic_fetch_add(&l->number, 1,
						     __ATOMIC_RELAXED));

	while (!stopped(l)) {
		int64_t n = 1 + random_below(&random, LARGEST);
		weir_err err = weir_sem_acquire_for(&l->sem, n, 100000);

		CHECK(!err || err == WEIR_ETIMEDOUT || err == WEIR_ETOOBIG);
		if (!err)
			weir_sem_release(&l->sem, n);
	}
	return NULL;
}

static void *resize(void *arg)
{
	struct load *l = arg;
	uint64_t random = seed_of(99);

	while (!stopped(l)) {
		int64_t debt = -1;

		CHECK_OK(weir_sem_resize(&l->sem,
					 random_below(&random, LARGEST + 1),
					 &debt));
		CHECK(debt >= 0 && debt <= LARGEST);
		CHECK_IDENTITY(&l->sem);
	}
	return NULL;
}

static void come_to_rest(weir_policy policy)
{
	weir_sem_opts opts = { .permits = LARGEST, .policy = policy };
	uint64_t random = seed_of(100);
	struct rounds r = rounds(300);

	while (again(&r)) {
		struct load l = { .stop = 0 };
		check_thread thread[WORKERS + 1];
		int64_t last = random_below(&random, LARGEST);

		CHECK_OK(weir_sem_init_opts(&l.sem, &opts));
		for (int i = 0; i < WORKERS; i++)
			thread[i] = start(work, &l);
		thread[WORKERS] = start(resize, &l);
		for (int i = 0; i < 20; i++) {
			jitter(&random, 2000);
			sched_yield();
		}
		/* Shrink a last time while the workers still run. */
		__atomic_store_n(&l.stop, 1, __ATOMIC_RELEASE);
		finish(thread[WORKERS]);
		CHECK_OK(weir_sem_resize(&l.sem, last, NULL));
		CHECK_OK(weir_sem_wait_idle(&l.sem, NULL));
		for (int i = 0; i < WORKERS; i++)
			finish(thread[i]);
		CHECK_OK(weir_sem_wait_idle(&l.sem, NULL));
		CHECK_EQ(stat_of(&l.sem).debt, 0);
		CHECK_EQ(stat_of(&l.sem).free, last);
		CHECK_EQ(stat_of(&l.sem).capacity, last);
		CHECK_EQ(waiters_of(&l.sem) + oversized_of(&l.sem), 0);
		CHECK_OK(weir_sem_destroy(&l.sem));
	}
}

TEST(c20_shrink_then_rest)
{
	come_to_rest(WEIR_FIFO);
}

TEST(c20_shrink_then_rest_barging)
{
	come_to_rest(WEIR_BARGING);
}

/* C20, C21: each step in sequence. */
TEST(c21_debt_is_paid_before_idleness)
{
	weir_sem sem = WEIR_SEM_INIT(6);
	struct waiter idle = { .sem = &sem, .idle = true };
	int64_t debt;

	CHECK_OK(weir_sem_acquire(&sem, 5, NULL));
	CHECK_OK(weir_sem_resize(&sem, 2, &debt));
	CHECK_EQ(debt, 3);
	queue_up(&idle);
	weir_sem_release(&sem, 2);
	CHECK_EQ(stat_of(&sem).debt, 1);
	CHECK_OK(weir_sem_forget(&sem, 1));	/* pays the rest of the debt */
	CHECK_EQ(stat_of(&sem).debt, 0);
	CHECK_EQ(stat_of(&sem).capacity, 2);
	CHECK_EQ(oversized_of(&sem), 1);
	weir_sem_release(&sem, 1);
	CHECK_EQ(oversized_of(&sem), 1);
	CHECK_OK(weir_sem_forget(&sem, 1));	/* lowers the capacity */
	CHECK_OK(result_of(&idle));
	CHECK_EQ(stat_of(&sem).capacity, 1);
	CHECK_EQ(weir_sem_available(&sem), 1);
	CHECK_IDENTITY(&sem);
}
