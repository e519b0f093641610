/* SPDX-License-Identifier: MIT */
/*
 * Repeat a race between threads, within a bound.
 *
 *     struct rounds r = rounds(20000);
 *
 *     while (again(&r)) {
 *             ...                     set up
 *             depart(&gate);          all threads of the race start together
 *             ...                     the race
 *             meet(&gate);            all threads have finished
 *             ...                     check the final state
 *     }
 *
 * The loop ends after the given number of rounds or a third of a second,
 * whichever comes first; check_scale() multiplies both.  A slow machine or a
 * sanitizer therefore gets fewer rounds, not a failure.
 */
#ifndef TESTS_REGRESS_RACE_H
#define TESTS_REGRESS_RACE_H

#include <sched.h>

#include "check.h"

struct rounds {
	int64_t left;
	int64_t done;
	int64_t until_ns;
};

__attribute__((unused)) static struct rounds rounds(int64_t count)
{
	struct rounds r = { count * check_scale(), 0, 0 };

	r.until_ns = weir_now_ns() + INT64_C(333000000) * check_scale();
	return r;
}

__attribute__((unused)) static bool again(struct rounds *r)
{
	/* A race runs at least ten times, also on a slow machine. */
	if (r->left <= 0 || (r->done >= 10 && weir_now_ns() > r->until_ns))
		return false;
	r->left--;
	r->done++;
	return true;
}

/* About the time a thread needs to notice that the gate is open. */
#define GO_NS 2000

/* A barrier. */
struct gate {
	uint32_t parties;
	uint32_t arrived;	/* atomic */
	uint32_t phase;		/* atomic */
	int64_t go_ns;		/* set by the last arrival, before phase */
};

__attribute__((unused)) static void meet(struct gate *gate)
{
	uint32_t phase = __atomic_load_n(&gate->phase, __ATOMIC_ACQUIRE);
	int spins = 0;

	if (__atomic_add_fetch(&gate->arrived, 1, __ATOMIC_ACQ_REL) ==
	    gate->parties) {
		__atomic_store_n(&gate->arrived, 0, __ATOMIC_RELAXED);
		gate->go_ns = weir_now_ns() + GO_NS;
		__atomic_store_n(&gate->phase, phase + 1, __ATOMIC_RELEASE);
		return;
	}
	while (__atomic_load_n(&gate->phase, __ATOMIC_ACQUIRE) == phase)
		if (++spins > 500)
			sched_yield();
}

/*
 * Like meet(), but the threads leave as close together as possible.  The last
 * thread to arrive would have a head start, so all threads wait for the same
 * point in time.
 */
__attribute__((unused)) static void depart(struct gate *gate)
{
	meet(gate);
	while (weir_now_ns() < gate->go_ns)
		;
}

/*
 * Delay by a random number of turns below limit, so that each round of the race
 * interleaves differently.
 */
__attribute__((unused)) static void jitter(uint64_t *random, int64_t limit)
{
	volatile int64_t turns = random_below(random, limit);

	while (turns > 0)
		turns--;
}

#endif /* TESTS_REGRESS_RACE_H */
