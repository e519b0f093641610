/* SPDX-License-Identifier: MIT */
/*
 * Signals of `weir run`.
 *
 * They are blocked from the start and fetched one by one, so none is lost.
 * Only while the guardian waits in the library are those that end a wait let
 * in.  One could come in the moment before the sleep, which it then does not
 * interrupt; so its handler has another follow every few milliseconds until the
 * wait is over.
 */
#include <string.h>
#include <sys/time.h>
#include <time.h>

#include "cmd/job.h"

static const int ending[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
static const int passed[] = { SIGUSR1, SIGUSR2, SIGWINCH };

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))
#define AGAIN_US 2000

static volatile sig_atomic_t came;

static bool is_ignored(int sig)
{
	struct sigaction now;

	return !sigaction(sig, NULL, &now) && now.sa_handler == SIG_IGN;
}

static void set(int sig, void (*handler)(int))
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = handler;
	sigemptyset(&action.sa_mask);
	(void)sigaction(sig, &action, NULL);
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
	/* Ignored, the children would be reaped behind our back. */
	signals->ignored_child = is_ignored(SIGCHLD);
	signals->ignored_output = is_ignored(SIGTTOU);
	signals->ignored_alarm = is_ignored(SIGALRM);
	signals->ignored_own = is_ignored(SIG_ORPHANED);
	/* Ignored, it would not come to us either. */
	set(SIG_ORPHANED, SIG_DFL);
	set(SIGCHLD, SIG_DFL);
	sigaddset(&signals->handled, SIGCHLD);
	sigaddset(&signals->handled, SIG_ORPHANED);
	(void)sigprocmask(SIG_BLOCK, &signals->handled, &signals->before);
}

void signals_background(void)
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
	(void)sigprocmask(SIG_SETMASK, &signals->before, NULL);
}

static void again(int after_us)
{
	struct itimerval timer = {
		.it_interval = { 0, after_us }, .it_value = { 0, after_us }
	};

	(void)setitimer(ITIMER_REAL, &timer, NULL);
}

static void note(int sig)
{
	if (sig == SIGALRM)
		return;
	if (!came)
		came = sig;
	again(AGAIN_US);
}

static void waits(const struct signals *signals, sigset_t *open)
{
	sigemptyset(open);
	for (size_t i = 0; i < COUNT(ending); i++)
		if (sigismember(&signals->handled, ending[i]))
			sigaddset(open, ending[i]);
	sigaddset(open, SIG_ORPHANED);
	sigaddset(open, SIGALRM);
}

void signals_interrupt(const struct signals *signals)
{
	sigset_t open;

	waits(signals, &open);
	for (size_t i = 0; i < COUNT(ending); i++)
		if (sigismember(&open, ending[i]))
			set(ending[i], note);
	set(SIG_ORPHANED, note);
	set(SIGALRM, note);
	(void)sigprocmask(SIG_UNBLOCK, &open, NULL);
}

/* What came for a command that did not run yet is for nobody. */
static void forget_passed(void)
{
	static const struct timespec now;
	sigset_t list;

	sigemptyset(&list);
	for (size_t i = 0; i < COUNT(passed); i++)
		sigaddset(&list, passed[i]);
	while (sigtimedwait(&list, NULL, &now) > 0)
		continue;
}

int signals_resume(const struct signals *signals)
{
	sigset_t open;

	waits(signals, &open);
	(void)sigprocmask(SIG_BLOCK, &open, NULL);
	if (came)
		again(0);
	forget_passed();
	return came;
}

int signals_came(void)
{
	return came;
}
