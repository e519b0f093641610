/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_RUN_INTERRUPT_H
#define WEIR_CMD_RUN_INTERRUPT_H

/*
 * Deliver each signal to the job once: docs/design/cmd.md, "Signals".
 */
#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "cmd/lib/signals.h"
#include "cmd/run/state.h"

/*
 * Returns true if the terminal sent the signal to the whole process group.  A
 * SIGHUP of the kernel may not have reached the job, so it is not one of these.
 */
bool interrupt_is_from_terminal(const siginfo_t *info);

/* Called by the wrapper: pass a signal on to the guardian. */
void interrupt_pass_on(struct run_shared *shared, pid_t guardian,
		       const siginfo_t *info);
/* Called by the guardian: record that all signals so far have been handled. */
void interrupt_taken(struct run_shared *shared);
/*
 * Called by the wrapper after the guardian has ended with `status`.  Returns
 * the exit status of the wrapper.
 */
int interrupt_status(struct run_shared *shared, const struct signals *signals,
		     int status);

/*
 * Called by the wrapper before it exits with `status`.  Does not return if
 * control-C has ended the job, or the wait: the wrapper is ended by SIGINT.
 */
void interrupt_end(const struct run_shared *shared, int status);

/*
 * Called by the guardian before it starts the job.  Returns a pidfd of the
 * wrapper if `group` is in the foreground of the terminal, else -1.
 */
int interrupt_before_start(pid_t wrapper, pid_t group);
/*
 * Called by the process of the job, in its group, with the signals blocked:
 * raise the signals of the terminal that were sent before it joined the group.
 */
void interrupt_catch_up(struct run_shared *shared, int wrapper);
/* Called by the wrapper for SIG_STARTING. */
void interrupt_answer(struct run_shared *shared);

#endif /* WEIR_CMD_RUN_INTERRUPT_H */
