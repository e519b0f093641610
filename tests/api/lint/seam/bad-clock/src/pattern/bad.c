/* SPDX-License-Identifier: MIT */
#include <time.h>

void nap(void)
{
	clock_gettime(CLOCK_REALTIME, &now);
	nanosleep(&now, 0); time(0);
}
