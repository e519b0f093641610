/* SPDX-License-Identifier: MIT */
/*
 * N8: capacity = free + held + granted - debt does not hold for an observer,
 * because two of the numbers are read at different times.
 *
 * Threads: worker, observer.
 *
 *   1. worker: takes a permit; free becomes smaller.
 *   2. observer: adds the numbers up; one permit is missing.
 *   3. worker: held becomes larger.
 *
 * In weir the numbers of weir_sem_stat add up, with no negative count, while
 * other threads acquire, release, time out, cancel and resize.  The schedule
 * explorer (tests/model) checks this after every step of every schedule; here
 * threads run freely and two observers check as often as they can.
 */
#include "race.h"
#include "waiter.h"

#define WORKERS 4
#define CAPACITY 6

struct shared {
	weir_sem sem;
	uint32_t stop;		/* atomic */
	uint32_t number;	/* atomic: numbers the threads */
};

static bool stopped(struct shared *s)
{
	return __atomic_load_n(&s->stop, __ATOMIC_ACQUIRE);
}

static void *work(void *arg)
{
	struct shared *s = arg;
	uint64_t random = seed_of(__atomic_fetch_add(&s->number, 1,
						     __ATOMIC_RELAXED));

	while (!stopped(s)) {
		int64_t n = 1 + random_below(&random, 3);
		weir_err err;

		switch (random_below(&random, 3)) {
		case 0:
			err = weir_sem_acquire_for(&s->sem, n, 5000);
			break;
		case 1:
			err = weir_sem_try_acquire(&s->sem, n);
			break;
		default:
			err = weir_sem_acquire_for(&s->sem, n, 1000000);
		}
		if (!err)
			weir_sem_release(&s->sem, n);
	}
	return NULL;
}

static void *resize(void *arg)
{
	struct shared *s = arg;
	uint64_t random = seed_of(50);

	while (!stopped(s)) {
		CHECK_OK(weir_sem_resize(&s->sem,
					 3 + random_below(&random, CAPACITY),
					 NULL));
		jitter(&random, 5000);
	}
	return NULL;
}

static void *observe(void *arg)
{
	struct shared *s = arg;

	while (!stopped(s))
		CHECK_IDENTITY(&s->sem);
	return NULL;
}

static void adds_up(weir_policy policy, bool resizing)
{
	weir_sem_opts opts = { .permits = CAPACITY, .policy = policy };
	check_thread thread[WORKERS + 2];
	struct shared s = { .stop = 0 };
	struct rounds r = rounds(INT64_MAX / 1000000);
	int threads = 0;

	CHECK_OK(weir_sem_init_opts(&s.sem, &opts));
	for (int i = 0; i < WORKERS; i++)
		thread[threads++] = start(work, &s);
	thread[threads++] = start(observe, &s);
	if (resizing)
		thread[threads++] = start(resize, &s);
	while (again(&r))
		CHECK_IDENTITY(&s.sem);
	__atomic_store_n(&s.stop, 1, __ATOMIC_RELEASE);
	while (threads)
		finish(thread[--threads]);
	CHECK_IDENTITY(&s.sem);
	CHECK_EQ(stat_of(&s.sem).held, 0);
	CHECK_EQ(stat_of(&s.sem).granted, 0);
	CHECK_EQ(stat_of(&s.sem).debt, 0);
}

TEST(n8_adds_up)
{
	adds_up(WEIR_FIFO, false);
	adds_up(WEIR_BARGING, false);
}

TEST(n8_adds_up_while_resizing)
{
	adds_up(WEIR_FIFO, true);
	adds_up(WEIR_BARGING, true);
}

/* In sequence, with several counts nonzero at the same time. */
TEST(n8_step_by_step)
{
	weir_sem sem = WEIR_SEM_INIT(6);
	struct waiter w = { .sem = &sem, .n = 2 };
	weir_sem_info info;

	CHECK_OK(weir_sem_acquire(&sem, 6, NULL));
	queue_up(&w);
	freeze(&w);
	weir_sem_release(&sem, 2);
	CHECK_OK(weir_sem_resize(&sem, 3, NULL));
	info = stat_of(&sem);
	CHECK_EQ(info.capacity, 3);
	CHECK_EQ(info.free, 0);
	CHECK_EQ(info.held, 4);
	CHECK_EQ(info.granted, 2);
	CHECK_EQ(info.debt, 3);
	CHECK_IDENTITY(&sem);
	thaw(&w);
	CHECK_OK(result_of(&w));
	CHECK_EQ(stat_of(&sem).held, 6);
	CHECK_IDENTITY(&sem);
	CHECK_OK(weir_sem_forget(&sem, 4));	/* pays 3, removes 1 */
	info = stat_of(&sem);
	CHECK_EQ(info.capacity, 2);
	CHECK_EQ(info.held, 2);
	CHECK_EQ(info.debt, 0);
	CHECK_IDENTITY(&sem);
	weir_sem_release(&sem, 2);
	CHECK_EQ(weir_sem_available(&sem), 2);
	CHECK_IDENTITY(&sem);
}
