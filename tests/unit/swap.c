/* SPDX-License-Identifier: MIT */
/*
 * Compare and swap, weir/atomic.h: with the instructions of this CPU, and with
 * those for a CPU without LSE (aarch64).  C24 depends on it.
 */
#include "job.h"
#include "weir/atomic.h"

#define THREADS 4
#define ROUNDS 50000

static uint64_t word;

/* Each order by name: it must be a constant. */
#define TRY_ORDER(order)                                                       \
	do {                                                                   \
		uint64_t seen = 7;                                             \
									       \
		word = 5;                                                      \
		CHECK(!weir_cas_(&word, &seen, 9, order));                     \
		CHECK_EQ(seen, 5);                                             \
		CHECK_EQ(word, 5);                                             \
		while (!weir_cas_(&word, &seen, UINT64_MAX, order))            \
			CHECK_EQ(seen, 5);                                     \
		CHECK(word == UINT64_MAX);                                     \
		CHECK_EQ(seen, 5);                                             \
	} while (0)

static void try_orders(void)
{
	TRY_ORDER(__ATOMIC_RELAXED);
	TRY_ORDER(__ATOMIC_ACQUIRE);
	TRY_ORDER(__ATOMIC_RELEASE);
	TRY_ORDER(__ATOMIC_ACQ_REL);
}

static void *count_up(void *plain)
{
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t seen = __atomic_load_n(&word, __ATOMIC_RELAXED);

		/* A lock: odd means taken. */
		do
			seen &= ~(uint64_t)1;
		while (!weir_cas_(&word, &seen, seen + 1, __ATOMIC_ACQUIRE));
		++*(int64_t *)plain;
		seen++;
		while (!weir_cas_(&word, &seen, seen + 1, __ATOMIC_RELEASE))
			;
	}
	return NULL;
}

static void exclude_each_other(void)
{
	check_thread threads[THREADS];
	int64_t plain = 0;

	word = 0;
	for (int i = 0; i < THREADS; i++)
		threads[i] = start(count_up, &plain);
	for (int i = 0; i < THREADS; i++)
		finish(threads[i]);
	CHECK_EQ(plain, THREADS * ROUNDS);
	CHECK_EQ((int64_t)word, 2 * THREADS * ROUNDS);
}

TEST(c24_swaps_of_this_cpu)
{
	try_orders();
	exclude_each_other();
}

TEST(c24_swaps_of_an_older_cpu)
{
	extern uint8_t weir_has_lse_;
	uint8_t has = weir_has_lse_;

	weir_has_lse_ = 0;
	try_orders();
	exclude_each_other();
	weir_has_lse_ = has;
}
