/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_LIB_SIGNALS_H
#define WEIR_CMD_LIB_SIGNALS_H

/* Signals of the subcommands that start a job or wait in the queue. */
#include <signal.h>
#include <stdbool.h>

/* The parent-death signal of the guardian and of the hold daemon. */
#define SIG_ORPHANED SIGRTMIN
/* Sent to the wrapper by the starting job: cmd/run/interrupt.c. */
#define SIG_STARTING SIG_ORPHANED

struct signals {
	sigset_t handled;	/* blocked, and read by sigwaitinfo */
	bool ignored_child;	/* SIGCHLD was ignored when weir was started */
	bool ignored_output;	/* the same for SIGTTOU, */
	bool ignored_alarm;	/* SIGALRM, */
	bool ignored_own;	/* and SIG_ORPHANED */
};

/*
 * The sender of a signal that the wrapper of a job passes on; its si_value.  Only a
 * signal of the terminal has certainly reached the job as well.
 */
enum signals_sender { SENT_BY_PROCESS, SENT_BY_TERMINAL, SENT_BY_KERNEL };

/* Save the mask with which weir was started.  Called first in main. */
void signals_save_mask(void);
/* Restore it before an exec. */
void signals_restore_mask(void);
/*
 * Block the signals that end a wait and those that are passed on to a job.
 * Signals that are ignored stay ignored.
 */
void signals_block(struct signals *signals);
/* Returns true for a signal that ends a wait. */
bool signals_is_ending(int sig);
/*
 * End this process by the signal, as its default action.  Exit handlers do not
 * run.
 */
void signals_end_by(int sig);
/* Store the set of the signals that end a wait and are not ignored. */
void signals_ending(const struct signals *signals, sigset_t *set);
/* Ignore SIGTTOU: a message must not stop a process in the background. */
void signals_ignore_ttou(void);
/* Restore the saved mask, and the dispositions, in a child before exec. */
void signals_restore(const struct signals *signals);
/*
 * signals_may_end lets the signals that end a wait end the process, with
 * EXIT_SIGNAL.  It is called in a phase without a job, in which the process may
 * have to wait for the internal lock of a semaphore.  The end of the process
 * releases its permits.  after_job: signals of the terminal and of the kernel that
 * were sent at about the end of the job were meant for the job, and have no
 * effect.
 * signals_may_not_end blocks the signals again.
 */
void signals_may_end(const struct signals *signals, bool after_job);
void signals_may_not_end(const struct signals *signals);
/*
 * Called before and after a wait in the library.  signals_begin_wait unblocks
 * the signals that end a wait, so that they interrupt it.  signals_end_wait
 * blocks them again and returns the first signal that arrived, or 0.
 * signals_caught returns that signal during the wait.
 */
void signals_begin_wait(const struct signals *signals);
int signals_end_wait(const struct signals *signals);
int signals_caught(void);

#endif /* WEIR_CMD_LIB_SIGNALS_H */
