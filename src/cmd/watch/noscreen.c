/* SPDX-License-Identifier: MIT */
/* This file replaces screen.c and paint.c if ncurses is not available. */
#include "cmd/watch/screen.h"

int watch_screen(struct watch *watch, const char **why)
{
	(void)watch;
	*why = "built without ncurses";
	return -1;
}
