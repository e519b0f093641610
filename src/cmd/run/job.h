/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_RUN_JOB_H
#define WEIR_CMD_RUN_JOB_H

/* Starting the job, and ending it with all its descendants. */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cmd/lib/signals.h"
#include "cmd/run/state.h"

struct job {
	pid_t pid;
	int status;		/* of waitpid; valid if ended */
	bool ended;
	int64_t kill_at;	/* deadline of the SIGKILL; or WEIR_FOREVER */
};

/* How to start a job. */
struct job_opts {
	char *const *command;
	const struct signals *signals;
	struct run_shared *shared;
	pid_t group;	/* the process group that the job joins */
	int lent;	/* the job inherits a copy; -1: none */
	int wrapper;	/* the result of interrupt_before_start */
	bool dies;	/* the kernel kills the job when the caller dies */
};

/* Start the job.  Returns 0; or, after a message, the exit status. */
int job_start(struct job *job, const struct job_opts *opts);
/*
 * Reap all zombies and note if the job is among them.  Returns false if this
 * process has no children left.
 */
bool job_reap(struct job *job);
/* Returns the exit status for a job that has ended. */
int job_exit_status(const struct job *job, struct run_shared *shared);
/* Signal the job.  Returns false if it has ended. */
bool job_signal(const struct job *job, int sig);
/*
 * End the job and all descendants that were reparented to this process, and
 * wait until they are gone.  kill_after_ns is the time between SIGTERM and
 * SIGKILL; -1 means SIGKILL at once.
 */
void job_end_all(struct job *job, int64_t kill_after_ns);

#endif /* WEIR_CMD_RUN_JOB_H */
