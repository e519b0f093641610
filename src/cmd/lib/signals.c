/* SPDX-License-Identifier: MIT */
/*
 * Signals of the subcommands that start a job or wait in the queue.
 *
 * The signals are blocked from the start and read with sigwaitinfo, so none is
 * lost.  The signals that end a wait are unblocked only during a wait in the
 * library.  A signal may arrive just before the wait sleeps and would then not
 * interrupt it.  Therefore the handler starts a timer that raises SIGALRM every
 * 2 ms until the wait has ended.
 */
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "cmd/lib/fail.h"
#include "cmd/lib/signals.h"
#include "weir/base.h"

static const int ending[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
static const int passed[] = { SIGUSR1, SIGUSR2, SIGWINCH };

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))
#define REPEAT_US 2000
/*
 * A signal of the terminal that arrives within this time after the end of the
 * job was meant for the job.  The wrapper passes a signal on in less time.
 */
#define OF_THE_JOB_NS INT64_C(200000000)
/* The kernel's part of a sigset_t. */
#define MASK_SIZE (_NSIG / 8)

static volatile sig_atomic_t caught;
static sigset_t at_start;	/* the mask */

static bool is_ignored(int sig)
{
	struct sigaction now;

	return !sigaction(sig, NULL, &now) && now.sa_handler == SIG_IGN;
}

static void set(int sig, void (*disposition)(int))
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = disposition;
	sigemptyset(&action.sa_mask);
	(void)sigaction(sig, &action, NULL);
}

/*
 * By the system call: the sigprocmask of a C library leaves out the signals that the
 * library uses itself.  For musl the first real-time signal of glibc is one of them,
 * and a sigaction unblocks it.
 */
void signals_save_mask(void)
{
	(void)syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &at_start,
		      MASK_SIZE);
}

void signals_restore_mask(void)
{
	(void)syscall(SYS_rt_sigprocmask, SIG_SETMASK, &at_start, NULL,
		      MASK_SIZE);
}

void signals_block(struct signals *signals)
{
	sigemptyset(&signals->handled);
	for (size_t i = 0; i < COUNT(ending); i++)
		if (!is_ignored(ending[i]))
			sigaddset(&signals->handled, ending[i]);
	for (size_t i = 0; i < COUNT(passed); i++)
		if (!is_ignored(passed[i]))
			sigaddset(&signals->handled, passed[i]);
	/* If SIGCHLD is ignored, the kernel reaps children by itself. */
	signals->ignored_child = is_ignored(SIGCHLD);
	signals->ignored_output = is_ignored(SIGTTOU);
	signals->ignored_alarm = is_ignored(SIGALRM);
	signals->ignored_own = is_ignored(SIG_ORPHANED);
	/* An ignored signal is discarded even while it is blocked. */
	set(SIG_ORPHANED, SIG_DFL);
	set(SIGCHLD, SIG_DFL);
	sigaddset(&signals->handled, SIGCHLD);
	sigaddset(&signals->handled, SIG_ORPHANED);
	(void)sigprocmask(SIG_BLOCK, &signals->handled, NULL);
}

void signals_ignore_ttou(void)
{
	set(SIGTTOU, SIG_IGN);
}

void signals_restore(const struct signals *signals)
{
	for (size_t i = 0; i < COUNT(ending); i++)
		if (sigismember(&signals->handled, ending[i]))
			set(ending[i], SIG_DFL);
	set(SIG_ORPHANED, signals->ignored_own ? SIG_IGN : SIG_DFL);
	set(SIGALRM, signals->ignored_alarm ? SIG_IGN : SIG_DFL);
	if (signals->ignored_child)
		set(SIGCHLD, SIG_IGN);
	if (!signals->ignored_output)
		set(SIGTTOU, SIG_DFL);
	signals_restore_mask();
}

/* Raise SIGALRM repeatedly at this interval; 0 stops the timer. */
static void repeat_alarm(int after_us)
{
	struct itimerval timer = {
		.it_interval = { 0, after_us }, .it_value = { 0, after_us }
	};

	(void)setitimer(ITIMER_REAL, &timer, NULL);
}

static void on_signal(int sig)
{
	if (sig == SIGALRM)
		return;
	if (!caught)
		caught = sig;
	repeat_alarm(REPEAT_US);
}

bool signals_is_ending(int sig)
{
	for (size_t i = 0; i < COUNT(ending); i++)
		if (ending[i] == sig)
			return true;
	return false;
}

void signals_end_by(int sig)
{
	sigset_t one;

	set(sig, SIG_DFL);
	sigemptyset(&one);
	sigaddset(&one, sig);
	(void)sigprocmask(SIG_UNBLOCK, &one, NULL);
	(void)kill(getpid(), sig);
}

void signals_ending(const struct signals *signals, sigset_t *set)
{
	sigemptyset(set);
	for (size_t i = 0; i < COUNT(ending); i++)
		if (sigismember(&signals->handled, ending[i]))
			sigaddset(set, ending[i]);
}

/* Store the set of the signals that interrupt a wait. */
static void interrupting(const struct signals *signals, sigset_t *open)
{
	signals_ending(signals, open);
	sigaddset(open, SIG_ORPHANED);
	sigaddset(open, SIGALRM);
}

static int64_t job_ended_ns;	/* 0: there is no job yet */

/* End the process, unless the signal was meant for the job. */
static void on_end(int sig, siginfo_t *info, void *context)
{
	(void)context;
	if (job_ended_ns && info->si_code == SI_QUEUE &&
	    info->si_value.sival_int != SENT_BY_PROCESS &&
	    weir_now_ns() - job_ended_ns < OF_THE_JOB_NS)
		return;
	_exit(EXIT_SIGNAL(sig));
}

static void set_end(int sig)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_sigaction = on_end;
	action.sa_flags = SA_SIGINFO | SA_RESTART;
	sigemptyset(&action.sa_mask);
	(void)sigaction(sig, &action, NULL);
}

void signals_may_end(const struct signals *signals, bool after_job)
{
	sigset_t open;

	job_ended_ns = after_job ? weir_now_ns() : 0;
	interrupting(signals, &open);
	for (size_t i = 0; i < COUNT(ending); i++)
		if (sigismember(&open, ending[i]))
			set_end(ending[i]);
	sigdelset(&open, SIGALRM);
	/* An orphan after the job releases its permits in the usual way. */
	if (after_job)
		sigdelset(&open, SIG_ORPHANED);
	else
		set_end(SIG_ORPHANED);
	(void)sigprocmask(SIG_UNBLOCK, &open, NULL);
}

void signals_may_not_end(const struct signals *signals)
{
	sigset_t open;

	interrupting(signals, &open);
	(void)sigprocmask(SIG_BLOCK, &open, NULL);
}

void signals_begin_wait(const struct signals *signals)
{
	sigset_t open;

	interrupting(signals, &open);
	for (size_t i = 0; i < COUNT(ending); i++)
		if (sigismember(&open, ending[i]))
			set(ending[i], on_signal);
	set(SIG_ORPHANED, on_signal);
	set(SIGALRM, on_signal);
	(void)sigprocmask(SIG_UNBLOCK, &open, NULL);
}

/* Discard signals for the job that arrived before the job was started. */
static void discard_passed(void)
{
	static const struct timespec now;
	sigset_t list;

	sigemptyset(&list);
	for (size_t i = 0; i < COUNT(passed); i++)
		sigaddset(&list, passed[i]);
	while (sigtimedwait(&list, NULL, &now) > 0)
		continue;
}

int signals_end_wait(const struct signals *signals)
{
	sigset_t open;

	interrupting(signals, &open);
	(void)sigprocmask(SIG_BLOCK, &open, NULL);
	if (caught)
		repeat_alarm(0);
	discard_passed();
	return caught;
}

int signals_caught(void)
{
	return caught;
}
