/* SPDX-License-Identifier: MIT */
/*
 * The guardian: waits in the queue, holds the permits, and outlives the wrapper
 * and the command.  docs/design/cmd.md says what each death does.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cmd/run.h"

#define SECOND INT64_C(1000000000)

static int start(const struct run_opts *opts, weir_named *sem,
		 const struct signals *signals, struct run_board *board,
		 pid_t group, struct job *job)
{
	int lent, failed;

	if (weir_named_lend(sem, &lent))
		lent = -1;
	/* One that cannot keep the permits does not outlive us. */
	atomic_store(&board->outlives, opts->keep && lent >= 0);
	failed = job_start(job, opts->command, signals, group, lent,
			   !opts->keep || lent < 0);
	if (lent >= 0)
		close(lent);
	if (!failed)
		return EXIT_SUCCESS;
	cmd_say("%s: %s", opts->command[0], strerror(failed));
	return failed == ENOENT ? EXIT_NOT_FOUND :
	       failed == EAGAIN || failed == ENOMEM ? EXIT_WEIR :
						      EXIT_CANNOT_RUN;
}

/* One signal that was fetched. */
static void handle(const struct run_opts *opts, struct job *job, pid_t wrapper,
		   const siginfo_t *info)
{
	int sig = info->si_signo;

	if (sig == SIG_ORPHANED) {
		if (getppid() != wrapper && !opts->keep)
			job_end_all(job, opts->kill_after_ns);
	} else if (sig == SIGINT || sig == SIGCHLD) {
		/* The terminal's; and what job_reap is for. */
	} else if (info->si_code != SI_QUEUE || !info->si_value.sival_int) {
		job_signal(job, sig);
		if ((sig == SIGTERM || sig == SIGHUP || sig == SIGQUIT) &&
		    opts->kill_after_ns >= 0 && job->kill_at == WEIR_FOREVER)
			job->kill_at = weir_deadline_after(opts->kill_after_ns);
	}
}

static void attend(const struct run_opts *opts, const struct signals *signals,
		   struct job *job, pid_t wrapper)
{
	while (job_reap(job) && !job->ended) {
		siginfo_t info;
		int sig;

		if (job->kill_at == WEIR_FOREVER) {
			sig = sigwaitinfo(&signals->handled, &info);
		} else {
			int64_t left = job->kill_at - weir_now_ns();
			struct timespec time = {
				.tv_sec = (time_t)(left / SECOND),
				.tv_nsec = (long)(left % SECOND),
			};

			if (left <= 0) {
				job_end_all(job, -1);
				continue;
			}
			sig = sigtimedwait(&signals->handled, &info, &time);
		}
		if (sig > 0)
			handle(opts, job, wrapper, &info);
	}
}

int guard(const struct run_opts *opts, const struct signals *signals,
	  struct run_board *board, pid_t wrapper, pid_t group)
{
	const struct take *take = &opts->take;
	struct job job = { .pid = 0 };
	int told, status;
	weir_named *sem;
	int64_t began;
	char *token;
	weir_err err;

	(void)setpgid(0, 0);
	signals_background();
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	(void)prctl(PR_SET_PDEATHSIG, SIG_ORPHANED);
	if (getppid() != wrapper)
		return EXIT_WEIR;
	sem = take_open(take);
	began = weir_now_ns();
	err = take_permits(take, sem, signals, &told);
	progress_end(board);
	if (told || err) {
		status = told ? EXIT_SIGNAL(told) :
				take_refused(take, sem, err);
		/* Gives back what may have been granted all the same. */
		(void)!weir_named_close_handle(sem);
		return status;
	}
	token = token_new(take->name);
	held_tell(take->name, token, take->weight, weir_now_ns() - began);
	free(token);
	status = start(opts, sem, signals, board, group, &job);
	if (!status) {
		atomic_store(&board->job, job.pid);
		attend(opts, signals, &job, wrapper);
		status = job_status(job.status);
		/* It could not see to its own; perhaps we are all being killed. */
		if (WIFSIGNALED(job.status) &&
		    WTERMSIG(job.status) == SIGKILL && !opts->keep)
			job_end_all(&job, -1);
	}
	if (weir_named_try_release(sem, take->weight)) {
		cmd_say("%s: the permit was lost while %s ran", take->name,
			opts->command[0]);
		status = EXIT_LOST;
	}
	/* What the command has left running does not keep the slot. */
	(void)!weir_named_close_handle(sem);
	return status;
}
