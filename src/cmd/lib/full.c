/* SPDX-License-Identifier: MIT */
/*
 * The two programs of an installation: the static command, and the full one behind
 * it.  WEIR_FULL, in the static one, is the path of the full one.  If the
 * installed files have been moved, each program finds the other by the path from
 * its own folder.
 */
#include "cmd/lib/full.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "cmd/lib/fail.h"
#include "cmd/lib/signals.h"

#define SELF "/proc/self/exe"
#ifdef WEIR_FULL
#define FROM_HERE "/../libexec/weir/weir"
#else
#define FROM_HERE "/../../bin/weir"
#endif

/* Write the path of the other program, from the folder of this one. */
static bool path_from_here(char path[PATH_MAX])
{
	ssize_t n = readlink(SELF, path, PATH_MAX - sizeof(FROM_HERE));

	if (n <= 0)
		return false;
	path[n] = 0;
	/* The kernel gives an absolute path. */
	strcpy(strrchr(path, '/'), FROM_HERE);
	return true;
}

static bool is_file(const char *path, const struct stat *file)
{
	struct stat info;

	return !stat(path, &info) && info.st_dev == file->st_dev &&
	       info.st_ino == file->st_ino;
}

bool full_is_part(const struct stat *file)
{
	char path[PATH_MAX];

	if (is_file(SELF, file))
		return true;
#ifdef WEIR_FULL
	if (is_file(WEIR_FULL, file))
		return true;
#endif
	return path_from_here(path) && is_file(path, file);
}

#ifdef WEIR_FULL
/*
 * Returns true if this program is in the place of the full one, itself or by a link:
 * it would execute itself for ever.  Without /proc only the path is known.
 */
static bool is_self(const char *path)
{
	const char *mine = (const char *)getauxval(AT_EXECFN);
	struct stat self;

	if (!stat(SELF, &self))
		return is_file(path, &self);
	return mine && !strcmp(mine, path);
}

/* Returns if the file does not exist, or is this program. */
static void try(const char *path, char **argv)
{
	if (is_self(path))
		return;
	signals_restore_mask();
	(void)execv(path, argv);
	if (errno != ENOENT && errno != ENOTDIR)
		cmd_die(EXIT_WEIR, "%s: %s", path, strerror(errno));
}

void full_exec(char **argv)
{
	char path[PATH_MAX];

	try(WEIR_FULL, argv);
	if (path_from_here(path))
		try(path, argv);
}
#else
void full_exec(char **argv)
{
	(void)argv;
}
#endif
