/* SPDX-License-Identifier: MIT */
/*
 * Making threads collide, again and again, within a bound.
 *
 *     struct rounds r = rounds(20000);
 *
 *     while (again(&r)) {
 *             ...                     set up
 *             depart(&gate);          every thread of the race leaves together
 *             ...                     the race
 *             meet(&gate);            every thread is through
 *             ...                     check what is left
 *     }
 *
 * The loop ends after that many rounds or a third of a second, whichever comes
 * first, both multiplied by check_scale(): a slow machine or a sanitizer gets
 * fewer rounds, not a failure.
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
	/* However slow the machine, a race is run at least a few times. */
	if (r->left <= 0 || (r->done >= 10 && weir_now_ns() > r->until_ns))
		return false;
	r->left--;
	r->done++;
	return true;
}

/* About what it takes to notice that the gate is open. */
#define GO_NS 2000

/* A barrier. */
struct gate {
	uint32_t parties;
	uint32_t arrived;	/* atomic */
	uint32_t phase;		/* atomic */
	int64_t go_ns;		/* by the last to arrive, before phase moves */
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
 * The same, and leave as close together as the machine can.  The last to arrive
 * would have a head start, so all wait for the same moment by the clock.
 */
__attribute__((unused)) static void depart(struct gate *gate)
{
	meet(gate);
	while (weir_now_ns() < gate->go_ns)
		;
}

/* Be late by a little, differently each time, so that the race moves. */
__attribute__((unused)) static void jitter(uint64_t *random, int64_t limit)
{
	volatile int64_t turns = random_below(random, limit);

	while (turns > 0)
		turns--;
}

#endif /* TESTS_REGRESS_RACE_H */
