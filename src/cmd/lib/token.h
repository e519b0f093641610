/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_LIB_TOKEN_H
#define WEIR_CMD_LIB_TOKEN_H

/*
 * Tokens of holds: `weir hold` prints one, `weir release` takes one.
 *
 * A token is 32 random hexadecimal digits, '@', and the name of the semaphore.
 * The hold daemon listens on a socket in the folder of the semaphore.  The name
 * of the socket contains the digits.
 */
#include <stdbool.h>

#include "weir/base.h"

#define TOKEN_DIGITS 32
#define TOKEN_PREFIX ".weir-hold-"
#define TOKEN_PATH_ROOM 4200

/* The answer of the hold daemon to the digits of its token. */
#define TOKEN_RELEASED 'k'
#define TOKEN_LOST 'l'		/* the permits had been lost before */

/* A new, unique token.  The caller frees it. */
char *token_new(const char *name);
/* The name of the semaphore in a token; null: this is not a token. */
const char *token_name(const char *token);
/* The path of the socket. */
weir_err token_path(const char *token, char path[TOKEN_PATH_ROOM]);
/* Returns true if a socket may be created at path; false: errno is set. */
bool token_is_allowed(const char *path);
/* A listening socket at path, or a connection to it; -1: errno is set. */
int token_listen(const char *path);
int token_connect(const char *path);

#endif /* WEIR_CMD_LIB_TOKEN_H */
