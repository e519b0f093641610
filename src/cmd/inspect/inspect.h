/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_INSPECT_INSPECT_H
#define WEIR_CMD_INSPECT_INSPECT_H

/*
 * Subcommands that examine semaphores: ls, stat, wait and doctor.
 *
 *     doctor.c    weir doctor
 *     findings.c  problems of a semaphore that can be opened, and old files
 *     repair.c    files that cannot be opened
 */
#include "cmd/lib/command.h"

extern const struct cmd cmd_ls, cmd_stat, cmd_wait, cmd_doctor;

#endif /* WEIR_CMD_INSPECT_INSPECT_H */
