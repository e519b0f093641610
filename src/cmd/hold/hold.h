/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_HOLD_HOLD_H
#define WEIR_CMD_HOLD_HOLD_H

/*
 * weir hold and weir release.
 *
 *     hold.c         the process that the script starts: prints the token
 *     hold_daemon.c  the process that holds the permits
 *     release.c      weir release
 */
#include "cmd/lib/command.h"

extern const struct cmd cmd_hold, cmd_release;

#endif /* WEIR_CMD_HOLD_HOLD_H */
