/* SPDX-License-Identifier: MIT */
/*
 * Planted bugs, to show that the test finds them.  Each is built into an image
 * of its own, which must fail.
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
#elif defined(PLANT_LATE_READ)
/* A read of the word after the compare-and-swap has changed it. */
static inline int late_read(long *at, long *expected, long desired)
{
	int done = __atomic_compare_exchange_n(at, expected, desired, 1,
					       __ATOMIC_ACQ_REL,
					       __ATOMIC_RELAXED);

	if (done)
		(void)*(volatile long *)at;
	return done;
}
#define __atomic_compare_exchange_n(at, expected, desired, weak, yes, no)      \
	late_read(at, expected, desired)
#endif

#endif /* PLANT_H */
