/* SPDX-License-Identifier: MIT */
#ifndef WEIR_BASE_TIMESPEC_H
#define WEIR_BASE_TIMESPEC_H

#include <stdint.h>
#include <time.h>

/*
 * An absolute time for the kernel.  A time before the start of the clock is its
 * start; one past what a 32-bit time_t can say is the last that it can.
 */
static inline struct timespec weir_timespec_(int64_t ns)
{
	struct timespec at = { 0, 0 };

	if (ns > 0) {
		at.tv_sec = (time_t)(ns / 1000000000);
		at.tv_nsec = (long)(ns % 1000000000);
	}
	if (sizeof(at.tv_sec) == 4 && ns / 1000000000 > INT32_MAX)
		at.tv_sec = INT32_MAX;
	return at;
}

#endif /* WEIR_BASE_TIMESPEC_H */
