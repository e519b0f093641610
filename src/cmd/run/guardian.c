/* SPDX-License-Identifier: MIT */
/*
 * The guardian: waits in the queue, starts the job, and holds the permits until
 * the job has ended.  docs/design/cmd.md describes the effect of every death.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cmd/lib/acquire.h"
#include "cmd/lib/bus.h"
#include "cmd/lib/env.h"
#include "cmd/lib/fail.h"
#include "cmd/lib/token.h"
#include "cmd/run/guardian.h"
#include "cmd/run/interrupt.h"
#include "cmd/run/job.h"
#include "cmd/run/progress.h"

#define SECOND INT64_C(1000000000)

/* Start the job and lend it the permits.  Returns 0 or the exit status. */
static int start(const struct run_opts *opts, weir_named *sem,
		 struct job_opts *how, struct job *job)
{
	int status;

	if (weir_named_lend(sem, &how->lent))
		how->lent = -1;
	/* A job without the lent permits must not outlive the guardian. */
	how->dies = !opts->keep || how->lent < 0;
	atomic_store(&how->shared->outlives, !how->dies);
	status = job_start(job, how);
	if (how->lent >= 0)
		close(how->lent);
	if (how->wrapper >= 0)
		close(how->wrapper);
	return status;
}

/*
 * Signal the job.  SIGINT, SIGTERM, SIGHUP and SIGQUIT start the time of
 * --kill-after.
 */
static void pass_on(const struct run_opts *opts, struct run_shared *shared,
		    struct job *job, int sig)
{
	if (!job_signal(job, sig))
		return;
	interrupt_taken(shared);
	if (signals_is_ending(sig) && opts->kill_after_ns >= 0 &&
	    job->kill_at == WEIR_FOREVER)
		job->kill_at = weir_deadline_after(opts->kill_after_ns);
}

static void handle_signal(const struct run_opts *opts,
			  struct run_shared *shared, struct job *job,
			  pid_t wrapper, const siginfo_t *info)
{
	int sig = info->si_signo;

	if (sig == SIG_ORPHANED) {
		if (getppid() != wrapper && !opts->keep)
			job_end_all(job, opts->kill_after_ns);
	} else if (sig == SIGCHLD) {
		/* The loop of wait_for_job reaps the child. */
	} else if (info->si_code != SI_QUEUE ||
		   info->si_value.sival_int != SENT_BY_TERMINAL) {
		/* The terminal has not sent this signal to the job as well. */
		pass_on(opts, shared, job, sig);
	}
}

/* Pass on signals until the job has ended. */
static void wait_for_job(const struct run_opts *opts,
			 const struct signals *signals,
			 struct run_shared *shared, struct job *job,
			 pid_t wrapper)
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
			handle_signal(opts, shared, job, wrapper, &info);
	}
}

int guardian_main(const struct run_opts *opts, const struct signals *signals,
		  struct run_shared *shared, pid_t wrapper, pid_t group)
{
	struct job_opts how = { .command = opts->command, .signals = signals,
				.shared = shared, .group = group };
	const struct acquire_opts *acquire = &opts->acquire;
	struct job job = { .pid = 0 };
	int sig, status;
	weir_named *sem;
	int64_t began;
	char *token;
	weir_err err;

	(void)setpgid(0, 0);
	signals_ignore_ttou();
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	(void)prctl(PR_SET_PDEATHSIG, SIG_ORPHANED);
	bus_set(&shared->damaged);
	signals_may_end(signals, false);
	if (getppid() != wrapper)
		return EXIT_WEIR;
	sem = acquire_open(acquire);
	signals_may_not_end(signals);
	began = weir_now_ns();
	err = acquire_permits(acquire, &sem, signals, &sig);
	progress_end(shared);
	if (sig || err) {
		if (sig)
			interrupt_taken(shared);
		/*
		 * The exit releases permits that were granted despite the
		 * signal.  Do not close the handle: that would take long if a
		 * process were stopped inside the lock of the semaphore.
		 */
		return sig ? EXIT_SIGNAL(sig) :
			     acquire_refused(acquire, sem, err);
	}
	token = token_new(acquire->name);
	env_export(acquire->name, token, acquire->weight,
		   weir_now_ns() - began);
	free(token);
	how.wrapper = interrupt_before_start(wrapper, group);
	status = start(opts, sem, &how, &job);
	if (!status) {
		wait_for_job(opts, signals, shared, &job, wrapper);
		status = job_exit_status(&job, shared);
		/* A killed job could not end its own children. */
		if (WIFSIGNALED(job.status) &&
		    WTERMSIG(job.status) == SIGKILL && !opts->keep)
			job_end_all(&job, -1);
	}
	signals_may_end(signals, true);
	if (weir_named_try_release(sem, acquire->weight)) {
		cmd_message("%s: the permit was lost while %s ran",
			    acquire->name, opts->command[0]);
		status = EXIT_LOST;
	}
	/* Descendants that are still running must not keep the slot. */
	(void)!weir_named_close_handle(sem);
	return status;
}
