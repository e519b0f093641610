/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_LIB_NAMES_H
#define WEIR_CMD_LIB_NAMES_H

/* Names of semaphores. */

/* The ending of a semaphore's file: docs/design/named-format.md. */
#define NAMES_SUFFIX ".weir"

/*
 * The names in the default folder, sorted.  Returns their number, or -1 with
 * errno.  The caller frees *names, which is one allocation.
 */
int names_list(char ***names);
/*
 * The name in a form that is valid in other working directories: absolute if
 * it is a path.  The caller frees it.
 */
char *names_absolute(const char *name);

#endif /* WEIR_CMD_LIB_NAMES_H */
