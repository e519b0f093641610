/* SPDX-License-Identifier: MIT */
/* In place of watch_screen.c where there is no ncurses. */
#include "cmd/watch.h"

int watch_screen(struct watch *watch, const char **why)
{
	(void)watch;
	*why = "this weir was built without ncurses";
	return -1;
}
