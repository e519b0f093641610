/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_LIB_FULL_H
#define WEIR_CMD_LIB_FULL_H

#include <stdbool.h>
#include <sys/stat.h>

/*
 * Execute the full command with these arguments, if this program is the static
 * one that is installed in front of it (docs/design/cmd.md, "Two programs").
 * Returns if there is no full command: then this program does what it can.
 */
void full_exec(char **argv);
/*
 * Returns true if the file is this program, or the other one of the same
 * installation.
 */
bool full_is_part(const struct stat *file);

#endif /* WEIR_CMD_LIB_FULL_H */
