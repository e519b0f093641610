/* SPDX-License-Identifier: MIT */
/*
 * Mistakes, to see that the test finds them.  Each builds an image of its own
 * that must fail.
 */
#ifndef PLANT_H
#define PLANT_H

#if defined(PLANT_PLAIN_CAS)
/* A compare-and-swap that an interrupt can split. */
static inline int plain_cas(long *at, long *expected, long desired)
{
	long found = *(volatile long *)at;

	if (found != *expected) {
		*expected = found;
		return 0;
	}
	*(volatile long *)at = desired;
	return 1;
}
#define __atomic_compare_exchange_n(at, expected, desired, weak, yes, no)      \
	plain_cas(at, expected, desired)
#elif defined(PLANT_LATE_LOOK)
/* One more look at the word after it was changed. */
static inline int late_look(long *at, long *expected, long desired)
{
	int done = __atomic_compare_exchange_n(at, expected, desired, 1,
					       __ATOMIC_ACQ_REL,
					       __ATOMIC_RELAXED);

	if (done)
		(void)*(volatile long *)at;
	return done;
}
#define __atomic_compare_exchange_n(at, expected, desired, weak, yes, no)      \
	late_look(at, expected, desired)
#endif

#endif /* PLANT_H */
