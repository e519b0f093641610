/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_JOBSERVER_NINJA_H
#define WEIR_CMD_JOBSERVER_NINJA_H

/* Recognise the program ninja, and the versions that are clients of job servers. */
#include <stdbool.h>

/* Returns true if the program is called ninja or ninja-build. */
bool ninja_is(const char *command);
/*
 * Run `command --version`.  Returns true if this ninja takes tokens from a fifo
 * (fifo is true) or from a pipe.  Stores its version in `version`; "" if it
 * prints none.
 */
#define NINJA_VERSION_ROOM 64
bool ninja_takes_tokens(const char *command, bool fifo,
			char version[NINJA_VERSION_ROOM]);

#endif /* WEIR_CMD_JOBSERVER_NINJA_H */
