/* SPDX-License-Identifier: MIT */
/*
 * A clock that leaps, stands still, goes back, or comes to its end, at every
 * reading: C14 C15 C30.  Virtual machines have such clocks, whatever POSIX
 * says.
 * "Once" is one wrong reading; "sticky" is a clock that goes on from there.
 *
 * The library is told of two CPUs, so that its threads spin by the clock too.
 */
#include "work.h"

const int fault_cpus = 2;

/* Near the end of time a timeout is for ever (weir/base.h: saturates), so
 * nothing ends by it. */
static bool waits_for_ever(const struct fault *fault, const struct work *work)
{
	return work->by_time &&
	       (fault->clock == CLOCK_END || fault->clock == CLOCK_LAST);
}

TEST(c15_a_clock_that_is_wrong)
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
