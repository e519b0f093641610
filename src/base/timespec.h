/* SPDX-License-Identifier: MIT */
#ifndef WEIR_BASE_TIMESPEC_H
#define WEIR_BASE_TIMESPEC_H

#include <stdint.h>
#include <time.h>

/*
 * Convert a time for the kernel.  A negative time becomes 0; a time beyond the
 * range of a 32-bit time_t becomes the end of that range.
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
