/* SPDX-License-Identifier: MIT */
/* This file replaces top_screen.c if ncurses is not available. */
#include "cmd/diag/top.h"

int top_screen(struct rows *rows, int64_t interval_ns, const char **why)
{
	(void)rows;
	(void)interval_ns;
	*why = "built without ncurses";
	return -1;
}
