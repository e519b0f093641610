/* SPDX-License-Identifier: MIT */
/* The monotonic clock, and deadlines computed without overflow. */
#include "base/clock.h"

#include <errno.h>
#include <time.h>

#include "weir/base.h"

static int64_t to_ns(const struct timespec *now)
{
	int64_t ns = (int64_t)now->tv_sec * 1000000000 + now->tv_nsec;

	/*
	 * The result is never WEIR_FOREVER: a wait with that value would never
	 * time out.
	 */
	return ns < WEIR_FOREVER ? ns : WEIR_FOREVER - 1;
}

int64_t weir_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return to_ns(&now);
}

int64_t weir_recent_ns_(void)
{
	struct timespec now;
	int saved = errno;

	if (!clock_gettime(CLOCK_MONOTONIC_COARSE, &now))
		return to_ns(&now);
	/* Some emulators do not have it. */
	errno = saved;
	return weir_now_ns();
}

int64_t weir_deadline_after(int64_t timeout_ns)
{
	int64_t now = weir_now_ns();

	if (timeout_ns <= 0)
		return now;
	return timeout_ns > WEIR_FOREVER - now ? WEIR_FOREVER :
						 now + timeout_ns;
}
