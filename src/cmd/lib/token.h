/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_LIB_TOKEN_H
#define WEIR_CMD_LIB_TOKEN_H

/*
 * Tokens of holds: `weir hold` prints one, `weir release` takes one.
 *
 * A token is 32 random hexadecimal digits, '@', and the name of the semaphore.
 * The hold daemon listens on a socket in the folder of the semaphore; for a URL
 * in the folder of names.  The name of the socket contains the digits.
 */
#include <stdbool.h>

#include "weir/base.h"

#define TOKEN_DIGITS 32
#define TOKEN_PREFIX ".weir-hold-"
/* The prefix until the socket listens. */
#define TOKEN_NEW ".weir-new-"
#define TOKEN_PATH_ROOM 4200

/* The answer of the hold daemon to the digits of its token. */
#define TOKEN_RELEASED 'k'
#define TOKEN_LOST 'l'		/* the permits had been lost before */
#define TOKEN_UNCONFIRMED 'u'	/* the server did not confirm the release */

/* Returns a new, unique token.  The caller frees it. */
char *token_new(const char *name);
/*
 * Returns the name of the semaphore in a token; null if the text is not a
 * token.
 */
const char *token_name(const char *token);
/* Store the path of the socket in `path`. */
weir_err token_path(const char *token, char path[TOKEN_PATH_ROOM]);
/*
 * Returns true if a socket may be created at path; false with errno otherwise.
 */
bool token_is_allowed(const char *path);
/*
 * Return a listening socket at path, or a connection to it; -1 with errno on
 * failure.
 */
int token_listen(const char *path);
int token_connect(const char *path);
/* Returns false if no process listens at path any more.  Does not wait. */
bool token_has_listener(const char *path);

#endif /* WEIR_CMD_LIB_TOKEN_H */
