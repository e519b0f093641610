/* SPDX-License-Identifier: MIT */
/*
 * Executing a command.  The execvp of glibc gives a script without an
 * interpreter line to the shell.  That of musl, with which the static command is
 * linked, fails with ENOEXEC and does not say which file it has found.
 */
#include "cmd/lib/exec.h"

#include <alloca.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SHELL "/bin/sh"
#define DEFAULT_PATH "/usr/local/bin:/bin:/usr/bin"	/* as execvp of musl */

/* Returns only if the file is no script, or cannot be executed. */
static void exec_script(const char *file, char *const *argv)
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

void exec_command(char *const *argv)
{
	const char *folder = getenv("PATH"), *end;
	char file[PATH_MAX];

	(void)execvp(argv[0], argv);
	if (errno != ENOEXEC)
		return;
	if (strchr(argv[0], '/')) {
		exec_script(argv[0], argv);
		return;
	}
	/* An empty folder is the current one. */
	for (folder = folder ? folder : DEFAULT_PATH;; folder = end + 1) {
		int length, n;

		end = strchrnul(folder, ':');
		length = (int)(end - folder);
		n = snprintf(file, sizeof(file), "%.*s%s%s", length, folder,
			     length ? "/" : "./", argv[0]);
		if (n > 0 && n < PATH_MAX)
			exec_script(file, argv);
		if (errno == ENOEXEC || !*end)
			return;
	}
}
