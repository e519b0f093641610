/* SPDX-License-Identifier: MIT */
/*
 * libstdc++ and libc++ counting_semaphore (gcc PR98033, PR104928; llvm#46357,
 * #77659): threads sleep for ever with permits free, within seconds, when four
 * threads share two permits and do nothing in between.
 *
 *   A                B                C, D              the wake-up
 *   -                -                ----              -----------
 *   holds            holds            see 0, sleep
 *   releases: 0 -> 1
 *   "was 0: wake"                                       one: C
 *                    releases: 1 -> 2
 *                    "was not 0:
 *                    nobody sleeps"
 *                                     C takes one;
 *                                     D sleeps on, one
 *                                     free
 *
 * Must hold (C6): nobody sleeps while permits that it could have are free.  The
 * workloads that hung there: T threads, capacity T/2, an empty section.
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

/* The same with a section that notices when one too many is in it. */
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
	/* Who sleeps for ever is not joined. */
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
