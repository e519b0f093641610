/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CLUSTER_CLOCK_H
#define WEIR_CLUSTER_CLOCK_H

/*
 * Time of leases: CLOCK_BOOTTIME, which counts while the machine is suspended.
 */
#include <stdint.h>
#include <time.h>

#define SECOND_NS INT64_C(1000000000)
#define NEVER INT64_MAX

static inline int64_t boot_now(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_BOOTTIME, &now);
	return now.tv_sec * SECOND_NS + now.tv_nsec;
}

/*
 * Returns the milliseconds until the deadline for poll(2), rounded up; at most
 * an hour; -1 for NEVER.
 */
static inline int boot_poll_ms(int64_t deadline)
{
	int64_t left;

	if (deadline == NEVER)
		return -1;
	left = deadline - boot_now();
	if (left <= 0)
		return 0;
	left = (left + 999999) / 1000000;
	return left > 3600000 ? 3600000 : (int)left;
}

#endif /* WEIR_CLUSTER_CLOCK_H */
