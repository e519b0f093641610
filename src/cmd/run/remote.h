/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_RUN_REMOTE_H
#define WEIR_CMD_RUN_REMOTE_H

/* The guardian of a job under a lease between machines. */
#include <sys/types.h>

#include "cmd/lib/signals.h"
#include "cmd/run/state.h"

/* As guardian_main, for a URL. */
int remote_guardian(const struct run_opts *opts, const char *url,
		    const struct signals *signals, struct run_shared *shared,
		    pid_t wrapper, pid_t group);

#endif /* WEIR_CMD_RUN_REMOTE_H */
