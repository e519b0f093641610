/* SPDX-License-Identifier: MIT */
/*
 * Deliver each signal to the job once.
 *
 * A signal that a process sends to the wrapper is queued to the guardian, which
 * ends its wait or signals the job.  The wrapper counts these signals (`sent`),
 * and the guardian copies the count when it has handled one (`taken`).  If the
 * counts differ at the end, a signal came after the end of the job: the wrapper
 * exits with the status of that signal.
 *
 * The kernel sends SIGHUP to the wrapper if the terminal hangs up; and, followed by
 * SIGCONT, if the job ends while the wrapper is stopped and no shell of the session
 * could continue it (POSIX: the process group has become orphaned).  It is passed on
 * in the same way, but not counted: after the end of the job it has no effect.
 *
 * A signal of the terminal goes to all processes of the group: to the wrapper,
 * and to the job from the moment at which the job has joined the group.  The
 * wrapper cannot know if a signal was sent before that moment.  So the process
 * of the job, after it has joined the group and before its exec, sends
 * SIG_STARTING to the wrapper and waits for the answer.  The kernel delivers
 * pending signals in the order of their numbers, and SIG_STARTING is a
 * real-time signal.  So the wrapper has recorded all earlier signals of the
 * terminal (`from_terminal`) when it answers.  The job has these signals
 * blocked: a recorded signal that is not pending in the job was sent before the
 * job joined the group, and the job raises it.
 *
 * If the wrapper is stopped, it does not answer, and the job starts after
 * ANSWER_NS.
 *
 * At control-C a shell ends its loop or script only if the command was ended by
 * SIGINT; after an exit, even with 130, it continues.  So the wrapper ends itself
 * by SIGINT if the job, or the wait, was ended by that of the terminal.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "cmd/lib/fail.h"
#include "cmd/run/interrupt.h"

#define ANSWER_NS 100000000
#define ANSWER_STEP_NS 20000

static enum signals_sender sender_of(const siginfo_t *info)
{
	if (info->si_code != SI_KERNEL)
		return SENT_BY_PROCESS;
	return info->si_signo == SIGHUP ? SENT_BY_KERNEL : SENT_BY_TERMINAL;
}

bool interrupt_is_from_terminal(const siginfo_t *info)
{
	return sender_of(info) == SENT_BY_TERMINAL;
}

static void record_terminal(struct run_shared *shared, int sig)
{
	atomic_fetch_or(&shared->from_terminal, UINT64_C(1) << sig);
}

void interrupt_pass_on(struct run_shared *shared, pid_t guardian,
		       const siginfo_t *info)
{
	enum signals_sender sender = sender_of(info);
	union sigval value = { .sival_int = (int)sender };

	if (sender == SENT_BY_TERMINAL)
		record_terminal(shared, info->si_signo);
	else if (sender == SENT_BY_PROCESS &&
		 signals_is_ending(info->si_signo)) {
		atomic_store(&shared->last_sent, info->si_signo);
		atomic_fetch_add(&shared->sent, 1);
	}
	(void)sigqueue(guardian, info->si_signo, value);
}

void interrupt_taken(struct run_shared *shared)
{
	atomic_store(&shared->taken, atomic_load(&shared->sent));
}

int interrupt_status(struct run_shared *shared, const struct signals *signals,
		     int status)
{
	bool started = atomic_load(&shared->job);
	static const struct timespec now;
	sigset_t ending;
	siginfo_t info;

	if (atomic_load(&shared->sent) != atomic_load(&shared->taken))
		return EXIT_SIGNAL(atomic_load(&shared->last_sent));
	signals_ending(signals, &ending);
	while (sigtimedwait(&ending, &info, &now) > 0) {
		enum signals_sender sender = sender_of(&info);

		if (sender == SENT_BY_TERMINAL)
			record_terminal(shared, info.si_signo);
		/* The others were meant for the job, which has ended. */
		if (!started || sender == SENT_BY_PROCESS)
			return EXIT_SIGNAL(info.si_signo);
	}
	/* From here on, the default action of a signal ends the wrapper. */
	(void)sigprocmask(SIG_UNBLOCK, &ending, NULL);
	return status;
}

void interrupt_end(const struct run_shared *shared, int status)
{
	bool terminal = atomic_load(&shared->from_terminal) >> SIGINT & 1;
	bool ended = !atomic_load(&shared->job) ||
		     atomic_load(&shared->ended_job) == SIGINT;

	if (terminal && ended && status == EXIT_SIGNAL(SIGINT))
		signals_end_by(SIGINT);
}

int interrupt_before_start(pid_t wrapper, pid_t group)
{
	int terminal = open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY);
	bool foreground = terminal >= 0 && tcgetpgrp(terminal) == group;
	int fd = -1;

	if (terminal >= 0)
		close(terminal);
	if (foreground)
		fd = (int)syscall(SYS_pidfd_open, wrapper, 0);
	/* If our parent is still the wrapper, the pidfd is the wrapper's. */
	if (fd >= 0 && getppid() != wrapper) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static void wait_for_answer(struct run_shared *shared)
{
	static const struct timespec step = { 0, ANSWER_STEP_NS };

	for (int i = 0; i < ANSWER_NS / ANSWER_STEP_NS; i++) {
		if (atomic_load(&shared->answered))
			return;
		(void)nanosleep(&step, NULL);
	}
}

void interrupt_catch_up(struct run_shared *shared, int wrapper)
{
	static const int keys[] = { SIGINT, SIGQUIT };
	sigset_t pending;
	uint64_t sent;

	if (syscall(SYS_pidfd_send_signal, wrapper, SIG_STARTING, NULL, 0))
		return;
	wait_for_answer(shared);
	sent = atomic_load(&shared->from_terminal);
	(void)sigpending(&pending);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if ((sent >> keys[i] & 1) && !sigismember(&pending, keys[i]))
			(void)kill(getpid(), keys[i]);
}

void interrupt_answer(struct run_shared *shared)
{
	atomic_store(&shared->answered, 1);
}
