/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_RUN_PROGRESS_H
#define WEIR_CMD_RUN_PROGRESS_H

/* The line on the terminal while the guardian waits. */
#include "cmd/run/state.h"

/*
 * Write the line; `since` is the time at which the wait began.  Called by the
 * wrapper.
 */
void progress_draw(const struct run_opts *opts, struct run_shared *shared,
		   pid_t guardian, int64_t since);
/* Erase the line.  Called by the guardian after its wait.  Keeps errno. */
void progress_end(struct run_shared *shared);

#endif /* WEIR_CMD_RUN_PROGRESS_H */
