/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_LIB_NAMES_H
#define WEIR_CMD_LIB_NAMES_H

/* Names of semaphores, and their files. */
#include <stdbool.h>

/* The ending of a semaphore's file name; see docs/design/named-format.md. */
#define NAMES_SUFFIX ".weir"

/*
 * List the names in the default folder, sorted.  Returns their number, or -1
 * with errno.  The caller frees *names, which is one allocation.  If the folder
 * does not exist, returns 0; but a missing $WEIR_DIR is an error.
 */
int names_list(char ***names);
/* Create the folder of names if it does not exist and is the user's own. */
void names_make_folder(void);
/* Exit because names_list failed.  Uses errno. */
_Noreturn void names_fail(const char *command);
/*
 * Returns the name in a form that is valid in other working directories: an
 * absolute path if it is a path.  The caller frees the result.
 */
char *names_absolute(const char *name);
/*
 * Returns true if the file begins like a semaphore.  A name with a "/" may be any
 * path, and a file that does not begin like a semaphore must not be moved or
 * removed.
 */
bool names_is_semaphore(int fd);

#endif /* WEIR_CMD_LIB_NAMES_H */
