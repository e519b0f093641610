/* SPDX-License-Identifier: MIT */
/*
 * A clock that jumps ahead, stops, goes back, or reaches its maximum, at every
 * reading: C14, C15, C30.  Virtual machines have such clocks, whatever POSIX
 * says.
 *
 * "Once" is one wrong reading; "sticky" is a clock that continues from the
 * wrong value.
 *
 * The library is made to see two CPUs, so that its threads spin for a time
 * measured by this clock as well.
 */
#include "work.h"

const int fault_cpus = 2;

/*
 * Near the maximum of the clock a timeout is infinite (weir/base.h: saturates),
 * so no wait ends by its timeout.
 */
static bool waits_for_ever(const struct fault *fault, const struct work *work)
{
	return work->by_time &&
	       (fault->clock == CLOCK_END || fault->clock == CLOCK_LAST);
}

TEST(c15_wrong_clock)
{
	static const struct fault faults[] = {
		{ "clock: 5 hours ahead", AT_CLOCK, 0, 0, false, CLOCK_HOURS },
		{ "clock: 5 seconds back", AT_CLOCK, 0, 0, false, CLOCK_BACK },
		{ "clock: back to its start", AT_CLOCK, 0, 0, false,
		  CLOCK_BOOT },
		{ "clock: stands still", AT_CLOCK, 0, 0, false, CLOCK_STILL },
		{ "clock: 10 s before the end of time", AT_CLOCK, 0, 0, false,
		  CLOCK_LATE },
		{ "clock: 1 us before the end of time", AT_CLOCK, 0, 0, false,
		  CLOCK_END },
		{ "clock: the end of time", AT_CLOCK, 0, 0, false,
		  CLOCK_LAST },
	};

	sweep(faults, sizeof(faults) / sizeof(*faults), waits_for_ever);
	sweep_total("clock readings");
}
