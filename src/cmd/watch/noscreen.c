/* SPDX-License-Identifier: MIT */
/* In place of screen.c and paint.c if there is no ncurses. */
#include "cmd/watch/screen.h"

int watch_screen(struct watch *watch, const char **why)
{
	(void)watch;
	*why = "built without ncurses";
	return -1;
}
