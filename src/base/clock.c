/* SPDX-License-Identifier: MIT */
/* The monotonic clock, and deadlines computed without overflow. */
#include "base/clock.h"

#include <time.h>

#include "weir/base.h"

static int64_t read_clock(clockid_t clock)
{
	struct timespec now;
	int64_t ns;

	clock_gettime(clock, &now);
	ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
	/*
	 * The result is never WEIR_FOREVER: a wait with that value would never
	 * time out.
	 */
	return ns < WEIR_FOREVER ? ns : WEIR_FOREVER - 1;
}

int64_t weir_now_ns(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

int64_t weir_recent_ns_(void)
{
	return read_clock(CLOCK_MONOTONIC_COARSE);
}

int64_t weir_deadline_after(int64_t timeout_ns)
{
	int64_t now = weir_now_ns();

	if (timeout_ns <= 0)
		return now;
	return timeout_ns > WEIR_FOREVER - now ? WEIR_FOREVER :
						 now + timeout_ns;
}
