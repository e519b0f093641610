/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_RUN_RUN_H
#define WEIR_CMD_RUN_RUN_H

/*
 * weir run.  docs/design/cmd.md describes its processes.
 *
 *     run.c        options, and the wrapper
 *     guardian.c   the guardian, which holds the permits
 *     job.c        starting and ending the job
 *     interrupt.c  each signal reaches the job once
 *     progress.c   the line on the terminal while the guardian waits
 *     state.h      state that wrapper and guardian share
 */
#include "cmd/lib/command.h"

extern const struct cmd cmd_run;

#endif /* WEIR_CMD_RUN_RUN_H */
