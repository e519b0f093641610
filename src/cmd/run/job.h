/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_RUN_JOB_H
#define WEIR_CMD_RUN_JOB_H

/* Starting the job, and ending it with all its descendants. */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cmd/lib/signals.h"

struct job {
	pid_t pid;
	int status;		/* of waitpid; valid if ended */
	bool ended;
	int64_t kill_at;	/* deadline of the SIGKILL; or WEIR_FOREVER */
};

/*
 * Start the job in a process group.  The job inherits a copy of the descriptor
 * `lent`, unless that is -1.  If `dies` is true, the kernel kills the job when
 * the caller dies.  Returns 0 or an errno.
 */
int job_start(struct job *job, char *const *command,
	      const struct signals *signals, pid_t group, int lent, bool dies);
/*
 * Reap all zombies and note if the job is among them.  Returns false if this
 * process has no children left.
 */
bool job_reap(struct job *job);
/* Signal the job, unless it has ended. */
void job_signal(const struct job *job, int sig);
/*
 * End the job and all descendants that were reparented to this process, and
 * wait until they are gone.  kill_after_ns is the time between SIGTERM and
 * SIGKILL; -1 means SIGKILL at once.
 */
void job_end_all(struct job *job, int64_t kill_after_ns);

#endif /* WEIR_CMD_RUN_JOB_H */
