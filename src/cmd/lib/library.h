/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_LIB_LIBRARY_H
#define WEIR_CMD_LIB_LIBRARY_H

/* The shared libraries that were installed, or built, with the command. */
#include <limits.h>
#include <stdbool.h>

/*
 * Find the library `name`: near the command, where an installation and a build
 * directory have it; else in the folder for libraries that was configured.
 * in_build is its folder in a build directory, relative to that of the command,
 * with a slash at the end.  Returns false if it is in none of these folders;
 * otherwise its path without symbolic links is in `path`.
 */
bool library_find(const char *name, const char *in_build, char path[PATH_MAX]);

#endif /* WEIR_CMD_LIB_LIBRARY_H */
