/* SPDX-License-Identifier: MIT */
#include "cmd/lib/colours.h"

#include <curses.h>
#include <stdlib.h>

bool colours_start(void)
{
	const char *without = getenv("NO_COLOR");

	if ((without && *without) || !has_colors())
		return false;
	start_color();
	use_default_colors();
	init_pair(COLOUR_GOOD, COLOR_GREEN, -1);
	init_pair(COLOUR_FULL, COLOR_YELLOW, -1);
	init_pair(COLOUR_BAD, COLOR_RED, -1);
	return true;
}
