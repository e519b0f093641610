/* SPDX-License-Identifier: MIT */
/*
 * The guardian of a job under a lease between machines.
 *
 * The library renews the lease.  If that fails, then the job gets SIGTERM while
 * the lease is still valid, and SIGKILL at the end of its validity, which is
 * before the engine grants the permits again.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cmd/lib/env.h"
#include "cmd/lib/fail.h"
#include "cmd/lib/remote.h"
#include "cmd/lib/remote_acquire.h"
#include "cmd/lib/token.h"
#include "cmd/run/interrupt.h"
#include "cmd/run/job.h"
#include "cmd/run/remote.h"

#define SECOND INT64_C(1000000000)

struct leased {
	const struct run_opts *opts;
	const char *url;
	weir_cluster *cluster;
	weir_lease *lease;
	int64_t grace_ns;	/* between SIGTERM and SIGKILL */
	int lost_fd;		/* closed when the lease is about to be lost */
	bool warned;		/* SIGTERM was sent */
};

static int64_t boot_now(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_BOOTTIME, &now);
	return now.tv_sec * SECOND + now.tv_nsec;
}

/* Acquire.  Returns 0 or the exit status. */
static int acquire(struct leased *l, const struct signals *signals,
		   struct run_shared *shared)
{
	int sig;
	weir_err err = remote_acquire_permits(&l->opts->acquire, l->cluster,
					      signals, &l->lease, &sig);

	if (sig) {
		interrupt_taken(shared);
		if (!err)
			(void)!remote_api.weir_lease_release(l->lease);
		return EXIT_SIGNAL(sig);
	}
	return err ? remote_acquire_refused(&l->opts->acquire, l->url,
					    l->cluster, err) : 0;
}

/* Set the environment of the job.  Returns the descriptor that it inherits. */
static int prepare_job(struct leased *l, int64_t waited_ns)
{
	char *token = token_new(remote_display(l->url));
	char number[32];
	int fds[2];

	env_export(remote_display(l->url), token, l->opts->acquire.weight,
		   waited_ns);
	free(token);
	(void)snprintf(number, sizeof(number), "%llu", (unsigned long long)
		       remote_api.weir_lease_fence(l->lease));
	(void)setenv("WEIR_FENCE", number, 1);
	/* When lost_fd is closed, the job reads the end of the file. */
	if (pipe2(fds, O_CLOEXEC))
		return -1;
	l->lost_fd = fds[1];
	(void)fcntl(fds[0], F_SETFD, 0);
	(void)snprintf(number, sizeof(number), "%d", fds[0]);
	(void)setenv("WEIR_DEADLINE_FD", number, 1);
	return fds[0];
}

/* Returns the time until the next step, or -1 if the lease has been lost. */
static int64_t check_lease(struct leased *l, struct job *job)
{
	int64_t left = remote_api.weir_lease_deadline(l->lease) - boot_now();

	if (left <= 0)
		return -1;
	if (left > l->grace_ns)
		return left - l->grace_ns;
	if (!l->warned) {
		l->warned = true;
		cmd_message("%s: the lease cannot be renewed; ending %s",
			    remote_display(l->url), l->opts->command[0]);
		close(l->lost_fd);
		(void)job_signal(job, SIGTERM);
	}
	return left;
}

/* Handle one signal of the wrapper or a child. */
static void handle_signal(struct leased *l, struct run_shared *shared,
			  struct job *job, pid_t wrapper,
			  const siginfo_t *info)
{
	const struct run_opts *opts = l->opts;
	int sig = info->si_signo;

	if (sig == SIG_ORPHANED) {
		if (getppid() != wrapper)
			job_end_all(job, opts->kill_after_ns);
	} else if (sig != SIGCHLD &&
		   (info->si_code != SI_QUEUE ||
		    info->si_value.sival_int != SENT_BY_TERMINAL) &&
		   job_signal(job, sig)) {
		interrupt_taken(shared);
		if (signals_is_ending(sig) && opts->kill_after_ns >= 0 &&
		    job->kill_at == WEIR_FOREVER)
			job->kill_at = weir_deadline_after(opts->kill_after_ns);
	}
}

/* Returns false if the lease was lost. */
static bool wait_for_job(struct leased *l, const struct signals *signals,
			 struct run_shared *shared, struct job *job,
			 pid_t wrapper)
{
	while (job_reap(job) && !job->ended) {
		int64_t left = check_lease(l, job), kill;
		struct timespec time;
		siginfo_t info;

		if (left < 0) {
			job_end_all(job, -1);
			return false;
		}
		kill = job->kill_at == WEIR_FOREVER ? left :
		       job->kill_at - weir_now_ns();
		if (kill <= 0) {
			job_end_all(job, -1);
			continue;
		}
		if (kill < left)
			left = kill;
		/*
		 * Check the lease every second: time in which the machine is
		 * suspended counts for the lease, but not for this timeout.
		 */
		if (left > SECOND)
			left = SECOND;
		time.tv_sec = (time_t)(left / SECOND);
		time.tv_nsec = (long)(left % SECOND);
		if (sigtimedwait(&signals->handled, &info, &time) > 0)
			handle_signal(l, shared, job, wrapper, &info);
	}
	return !l->warned;
}

static int run_job(struct leased *l, const struct signals *signals,
		   struct run_shared *shared, pid_t wrapper, pid_t group,
		   int inherited)
{
	struct job_opts how = { .command = l->opts->command,
				.signals = signals, .shared = shared,
				.group = group, .lent = -1, .dies = true };
	struct job job = { .pid = 0 };
	bool held;
	int status;

	how.wrapper = interrupt_before_start(wrapper, group);
	status = job_start(&job, &how);
	if (how.wrapper >= 0)
		close(how.wrapper);
	if (inherited >= 0)
		close(inherited);
	if (status)
		return status;
	atomic_store(&shared->job, job.pid);
	held = wait_for_job(l, signals, shared, &job, wrapper);
	/* Descendants of the job must not continue without the lease. */
	if (!held || (WIFSIGNALED(job.status) &&
		      WTERMSIG(job.status) == SIGKILL))
		job_end_all(&job, -1);
	return held ? job_exit_status(&job, shared) : EXIT_LOST;
}

int remote_guardian(const struct run_opts *opts, const char *url,
		    const struct signals *signals, struct run_shared *shared,
		    pid_t wrapper, pid_t group)
{
	struct leased l = { .opts = opts, .url = url, .lost_fd = -1 };
	int64_t began;
	int status;

	(void)setpgid(0, 0);
	signals_ignore_ttou();
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	(void)prctl(PR_SET_PDEATHSIG, SIG_ORPHANED);
	if (getppid() != wrapper)
		return EXIT_WEIR;
	/* The server may not answer. */
	signals_may_end(signals, false);
	l.cluster = remote_acquire_open(&opts->acquire, url);
	signals_may_not_end(signals);
	began = weir_now_ns();
	status = acquire(&l, signals, shared);
	if (status)
		return status;
	l.grace_ns = (remote_api.weir_lease_deadline(l.lease) - boot_now()) / 4;
	status = run_job(&l, signals, shared, wrapper, group,
			 prepare_job(&l, weir_now_ns() - began));
	if (remote_api.weir_lease_release(l.lease) == WEIR_ELOST && !l.warned) {
		cmd_message("%s: the lease was lost while %s ran",
			    remote_display(url), opts->command[0]);
		status = EXIT_LOST;
	}
	(void)!remote_api.weir_cluster_close_handle(l.cluster);
	return status;
}
