/* SPDX-License-Identifier: MIT */
/*
 * libstdc++ and libc++ counting_semaphore (gcc PR98033, PR104928; llvm#46357,
 * #77659): threads sleep forever although permits are free.  It happens within
 * seconds when four threads share two permits with an empty critical section.
 *
 * Threads: A, B (each holds a permit), C, D (see 0 and sleep).
 *
 *   1. A: releases, 0 to 1; the value was 0, so it wakes one thread: C.
 *   2. B: releases, 1 to 2; the value was not 0, so it assumes that no thread
 *      sleeps, and wakes none.
 *   3. C: takes one permit.
 *   4. D: sleeps although one permit is free.
 *
 * In weir (C6) no thread sleeps while permits that it could take are free.  The
 * tests run the workloads that hung there: T threads, capacity T/2, an empty
 * critical section.
 */
#include "race.h"
#include "waiter.h"

struct shared {
	weir_sem sem;
	uint32_t stop;		/* atomic */
	int64_t inside;		/* atomic */
	int64_t capacity;
};

static void *in_and_out(void *arg)
{
	struct shared *s = arg;

	while (!__atomic_load_n(&s->stop, __ATOMIC_RELAXED)) {
		CHECK_OK(weir_sem_acquire(&s->sem, 1, NULL));
		weir_sem_release(&s->sem, 1);
	}
	return NULL;
}

/* in_and_out() with a check that at most `capacity` threads are inside. */
static void *in_and_out_counted(void *arg)
{
	struct shared *s = arg;

	while (!__atomic_load_n(&s->stop, __ATOMIC_RELAXED)) {
		CHECK_OK(weir_sem_acquire(&s->sem, 1, NULL));
		CHECK(__atomic_add_fetch(&s->inside, 1, __ATOMIC_RELAXED) <=
		      s->capacity);
		__atomic_sub_fetch(&s->inside, 1, __ATOMIC_RELAXED);
		weir_sem_release(&s->sem, 1);
	}
	return NULL;
}

static void run(int threads, int64_t capacity, weir_policy policy,
		void *(*fn)(void *))
{
	weir_sem_opts opts = { .permits = capacity, .policy = policy };
	struct shared s = { .capacity = capacity };
	check_thread thread[64];
	struct rounds r = rounds(200);

	CHECK_OK(weir_sem_init_opts(&s.sem, &opts));
	for (int i = 0; i < threads; i++)
		thread[i] = start(fn, &s);
	while (again(&r)) {
		CHECK_IDENTITY(&s.sem);
		usleep(500);
	}
	__atomic_store_n(&s.stop, 1, __ATOMIC_RELAXED);
	/*
	 * The join hangs, and the test times out, if a thread sleeps forever.
	 */
	for (int i = 0; i < threads; i++)
		finish(thread[i]);
	CHECK_EQ(weir_sem_available(&s.sem), capacity);
	CHECK_OK(weir_sem_destroy(&s.sem));
}

TEST(c6_4_threads_2_permits)
{
	run(4, 2, WEIR_FIFO, in_and_out);
	run(4, 2, WEIR_BARGING, in_and_out);
	run(4, 2, WEIR_FIFO, in_and_out_counted);
	run(4, 2, WEIR_BARGING, in_and_out_counted);
}

TEST(c6_8_threads_4_permits)
{
	run(8, 4, WEIR_FIFO, in_and_out);
	run(8, 4, WEIR_BARGING, in_and_out);
}

TEST(c6_64_threads_32_permits)
{
	run(64, 32, WEIR_FIFO, in_and_out);
	run(64, 32, WEIR_BARGING, in_and_out);
}
