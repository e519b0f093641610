/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_RUN_GUARDIAN_H
#define WEIR_CMD_RUN_GUARDIAN_H

/* The guardian of weir run. */
#include "cmd/lib/signals.h"
#include "cmd/run/state.h"

/*
 * Run the guardian process, after its fork.  The job joins the process group
 * `group`.  Returns the exit status.
 */
int guardian_main(const struct run_opts *opts, const struct signals *signals,
		  struct run_shared *shared, pid_t wrapper, pid_t group);

#endif /* WEIR_CMD_RUN_GUARDIAN_H */
