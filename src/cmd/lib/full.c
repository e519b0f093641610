/* SPDX-License-Identifier: MIT */
/*
 * Leaving the work to the full command.  WEIR_FULL is its path.  If the installed
 * files have been moved, it is where it was, seen from this program.
 */
#include "cmd/lib/full.h"

#ifdef WEIR_FULL
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "cmd/lib/fail.h"

#define FROM_HERE "/../libexec/weir/weir"

/* Returns if the file does not exist. */
static void try(const char *path, char **argv)
{
	const char *mine = (const char *)getauxval(AT_EXECFN);

	/* A copy of this program in the place of the full one would execute itself. */
	if (mine && !strcmp(mine, path))
		return;
	(void)execv(path, argv);
	if (errno != ENOENT && errno != ENOTDIR)
		cmd_die(EXIT_WEIR, "%s: %s", path, strerror(errno));
}

void full_exec(char **argv)
{
	char path[PATH_MAX];
	ssize_t n;

	try(WEIR_FULL, argv);
	n = readlink("/proc/self/exe", path, sizeof(path) - sizeof(FROM_HERE));
	if (n <= 0)
		return;
	path[n] = 0;
	/* The kernel gives an absolute path. */
	strcpy(strrchr(path, '/'), FROM_HERE);
	try(path, argv);
}
#else
void full_exec(char **argv)
{
	(void)argv;
}
#endif
