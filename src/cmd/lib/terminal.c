/* SPDX-License-Identifier: MIT */
#include "cmd/lib/terminal.h"

#include <stdio.h>
#include <unistd.h>
/* The last one: it defines many macros. */
#include <term.h>

SCREEN *terminal_start(const char **why)
{
	const char *move;
	int found;

	*why = "unknown terminal type ($TERM)";
	if (setupterm(NULL, STDOUT_FILENO, &found) != OK)
		return NULL;
	/* curses would also start on a terminal such as dumb. */
	move = tigetstr("cup");
	(void)del_curterm(cur_term);
	if (!move || move == (const char *)-1) {
		*why = "the terminal ($TERM) cannot move the cursor";
		return NULL;
	}
	return newterm(NULL, stdout, stdin);
}
