/* SPDX-License-Identifier: MIT */
/* Leaving the work to the full command.  WEIR_FULL is its path. */
#include "cmd/lib/full.h"

#ifdef WEIR_FULL
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cmd/lib/fail.h"

void full_exec(char **argv)
{
	(void)execv(WEIR_FULL, argv);
	if (errno != ENOENT && errno != ENOTDIR)
		cmd_die(EXIT_WEIR, "%s: %s", WEIR_FULL, strerror(errno));
}
#else
void full_exec(char **argv)
{
	(void)argv;
}
#endif
