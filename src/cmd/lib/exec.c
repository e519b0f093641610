/* SPDX-License-Identifier: MIT */
/*
 * Executing a command.  The execvp of glibc gives a script without an interpreter
 * line to the shell.  That of musl, with which the static command is linked, fails
 * with ENOEXEC, does not say which file it has found, and ends the search at errors
 * that glibc passes over.  So the folders are searched here, for both.
 */
#include "cmd/lib/exec.h"

#include <alloca.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SHELL "/bin/sh"
#define DEFAULT_PATH "/bin:/usr/bin"	/* that of confstr(_CS_PATH) */

/* Returns only if the file cannot be executed, as a program or as a script. */
static void exec_file(const char *file, char *const *argv)
{
	union {
		const char *from;
		char *to;
	} script = { file };
	size_t count = 0;
	char **args;

	(void)execv(file, argv);
	if (errno != ENOEXEC)
		return;
	while (argv[count])
		count++;
	/*
	 * The interpreter, the script, its arguments and the null.  On the
	 * stack: the heap may be that of the parent.
	 */
	// cppcheck-suppress allocaCalled
	args = alloca((count + 2) * sizeof(*args));
	args[0] = (char[]){ SHELL };
	args[1] = script.to;
	memcpy(args + 2, argv + 1, count * sizeof(*args));
	(void)execv(SHELL, args);
	errno = ENOEXEC;
}

/* Returns true if the error is that of a folder without the file. */
static bool is_not_here(int error)
{
	return error == ENOENT || error == ENOTDIR || error == EACCES ||
	       /* a file system of another machine, or an automatic mount */
	       error == ESTALE || error == ENODEV || error == ETIMEDOUT;
}

void exec_command(char *const *argv)
{
	const char *folder = getenv("PATH"), *end;
	char file[PATH_MAX];
	bool denied = false;

	/* No folder has a file without a name, or with one that is too long. */
	if (strchr(argv[0], '/') || !*argv[0] || strlen(argv[0]) > NAME_MAX) {
		exec_file(argv[0], argv);
		return;
	}
	/* An empty folder is the current one. */
	for (folder = folder ? folder : DEFAULT_PATH;; folder = end + 1) {
		int length, n;

		end = strchrnul(folder, ':');
		length = (int)(end - folder);
		n = snprintf(file, sizeof(file), "%.*s%s%s", length, folder,
			     length ? "/" : "./", argv[0]);
		/* A folder whose path is too long has no files. */
		errno = ENOENT;
		if (n > 0 && n < PATH_MAX)
			exec_file(file, argv);
		if (!is_not_here(errno))
			return;
		denied |= errno == EACCES;
		if (!*end)
			break;
	}
	errno = denied ? EACCES : ENOENT;
}
