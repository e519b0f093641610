/* SPDX-License-Identifier: MIT */
/* Finding the shared libraries that belong to the command. */
#include "cmd/lib/library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef WEIR_LIBDIR
#define WEIR_LIBDIR "/usr/local/lib"
#endif

/* Returns true if the file exists; the path without links is in `path`. */
static bool is_there(const char *folder, const char *below, const char *name,
		     char path[PATH_MAX])
{
	char joined[PATH_MAX];
	int n = snprintf(joined, sizeof(joined), "%s/%s%s", folder, below,
			 name);

	return n > 0 && n < PATH_MAX && realpath(joined, path);
}

bool library_find(const char *name, const char *in_build, char path[PATH_MAX])
{
	const char *const near[] = {
		in_build, "../" WEIR_LIBDIR_BELOW "/", "../lib/", "../lib64/",
		/* The full command behind a static one is in libexec/weir. */
		"../../" WEIR_LIBDIR_BELOW "/",
	};
	char exe[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	if (n > 0) {
		exe[n] = 0;
		*strrchr(exe, '/') = 0;
		for (size_t i = 0; i < sizeof(near) / sizeof(near[0]); i++)
			if (is_there(exe, near[i], name, path))
				return true;
	}
	return is_there(WEIR_LIBDIR, "", name, path);
}
