/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_TOKEN_H
#define WEIR_CMD_TOKEN_H

/* token.c: what `weir hold` prints and `weir release` takes. */
#include <sys/stat.h>

#include "cmd/job.h"

#define TOKEN_DIGITS 32
#define TOKEN_PREFIX ".weir-hold-"
#define TOKEN_PATH_ROOM 4200

/* The name in a token; null: it is no token. */
const char *token_name(const char *token);
/* Where its holder listens. */
weir_err token_path(const char *token, char path[TOKEN_PATH_ROOM]);
/* Whether we may make one there; false: errno. */
bool token_fits(const char *path);
/* A socket that listens there, or is connected to who does; -1, errno. */
int token_socket(const char *path, bool listens);

#endif /* WEIR_CMD_TOKEN_H */
