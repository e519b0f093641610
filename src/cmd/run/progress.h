/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_RUN_PROGRESS_H
#define WEIR_CMD_RUN_PROGRESS_H

/* The line on the terminal while the guardian waits. */
#include "cmd/run/state.h"

/* Called by the wrapper: write the line.  since: when the wait began. */
void progress_draw(const struct run_opts *opts, struct run_shared *shared,
		   pid_t guardian, int64_t since);
/* Called by the guardian after its wait: erase the line.  Keeps errno. */
void progress_end(struct run_shared *shared);

#endif /* WEIR_CMD_RUN_PROGRESS_H */
