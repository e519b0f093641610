/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_POSIX_POSIX_H
#define WEIR_CMD_POSIX_POSIX_H

/* weir posix: run a program whose sem_t are weir's. */
#include "cmd/lib/command.h"

extern const struct cmd cmd_posix;

#endif /* WEIR_CMD_POSIX_POSIX_H */
