/* SPDX-License-Identifier: MIT */
/*
 * Random operations are applied to a semaphore and to the contract's model
 * (model.h), for all policies, and the states are compared after every step: C1
 * to C16, C19 to C21, C23, C30, C31 and C34.
 *
 * One operation runs at a time, and all threads it affects have returned or
 * wait before the next begins.  The outcome is therefore deterministic even
 * with waiting threads, and the sequence depends on the seed alone.
 */
#include "ops.h"

/* Per test: 10^5 in all with a sanitizer, 2 * 10^6 without. */
#define STEPS (UNDER_TSAN || UNDER_ASAN ? 25000 : 500000)

static world w;

static void run(weir_policy policy, bool overdue, int unbounded_in)
{
	int64_t limit = (int64_t)STEPS * check_scale();
	scene s = { .world = { &w }, .worlds = 1 };

	s.from.random = seed_of((uint64_t)policy * 4 + (uint64_t)overdue * 2 +
				(unbounded_in == 1));
	ops_open(&s);
	world_watch(&w);
	while (s.step < limit) {
		int64_t steps = 50 + draw(&w, 1500);

		ops_begin(&w, policy, overdue, !draw(&w, unbounded_in));
		for (int64_t i = 0; i < steps; i++) {
			ops_step(&w);
			/*
			 * Little happens in a closed semaphore, so leave it
			 * early.
			 */
			if (w.m.closed && !draw(&w, 50))
				break;
		}
		ops_end(&w);
	}
	world_unwatch();
	ops_shut(&s);
}

TEST(c4_fifo_as_the_model_says)
{
	run(WEIR_FIFO, false, 1000);
}

TEST(c9_unbounded_as_the_model_says)
{
	run(WEIR_FIFO, false, 1);
}

/* C30 before the bound: new requests may pass the queue. */
TEST(c30_barging_as_the_model_says)
{
	run(WEIR_BARGING, false, 5);
}

/* C30 after the bound: no request passes, and permits are handed over. */
TEST(c30_overdue_as_the_model_says)
{
	run(WEIR_BARGING, true, 5);
}
