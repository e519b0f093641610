/* SPDX-License-Identifier: MIT */
/* Processes of a test: process.h. */
#include "process.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

/* The same numbers on every machine; older C libraries do not have them. */
#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

/* The process that adopts the orphans of the test; 0: none; -1: a namespace. */
static pid_t container;

bool in_own_namespace(void)
{
	return container == -1;
}

/* The PID of pid's parent; 0 if pid has been reaped. */
static pid_t parent_of(pid_t pid)
{
	char path[40], text[400], *end;
	FILE *file;
	size_t length;
	int parent = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	length = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[length] = '\0';
	/* The name, in parentheses, may have any character. */
	end = strrchr(text, ')');
	if (!end || sscanf(end + 1, " %*c %d", &parent) != 1)
		return 0;
	return (pid_t)parent;
}

static bool is_ours(pid_t pid)
{
	pid_t self = getpid();

	if (container == -1)
		return pid > 1;
	while (pid > 1 && pid != self) {
		pid = parent_of(pid);
		if (pid == self || (container > 0 && pid == container))
			return true;
	}
	return false;
}

bool process_signal(pid_t pid, int signal)
{
	int fd, error = 0;

	if (pid <= 1) {
		errno = EINVAL;
		return false;
	}
	/*
	 * The descent is checked after the descriptor was opened: if the PID has been
	 * used again in between, either the check fails, or the descriptor's process
	 * has ended.
	 */
	fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (fd < 0)
		return false;
	if (!is_ours(pid))
		error = ESRCH;
	else if (syscall(SYS_pidfd_send_signal, fd, signal, NULL, 0))
		error = errno;
	close(fd);
	errno = error;
	return !error;
}

/* Kill and reap until this process has no child; orphans become children. */
static void kill_children(void)
{
	char path[60];
	FILE *file;
	int pid;

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/children",
		       (int)getpid(), (int)getpid());
	do {
		file = fopen(path, "re");
		/* A child that was not reaped keeps its PID. */
		while (file && fscanf(file, "%d", &pid) == 1)
			(void)process_signal((pid_t)pid, SIGKILL);
		if (file)
			fclose(file);
	} while (waitpid(-1, NULL, 0) > 0);
}

/* Run fn in a child, reap until it has ended, and exit with its status. */
static void reap_for(void (*fn)(void))
{
	int status;
	pid_t test = fork();

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!test) {
		fn();
		fflush(NULL);
		_exit(check_is_skipped() ? CHECK_SKIPPED : 0);
	}
	while (waitpid(-1, &status, 0) != test)
		;
	if (!in_own_namespace())
		kill_children();
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 4);
}

static void contain(void (*fn)(void))
{
	pid_t first;
	int status;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (unshare(CLONE_NEWPID) && unshare(CLONE_NEWUSER | CLONE_NEWPID)) {
		container = getpid();
		prctl(PR_SET_CHILD_SUBREAPER, 1);
		reap_for(fn);
	}
	container = -1;
	first = fork();
	/* The first process reaps; the test is its child. */
	if (!first)
		reap_for(fn);
	if (waitpid(first, &status, 0) != first)
		_exit(5);
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 6);
}

int run_contained(void (*fn)(void))
{
	int status;
	pid_t outer;

	fflush(NULL);
	outer = fork();
	if (!outer)
		contain(fn);
	if (outer < 0 || waitpid(outer, &status, 0) != outer)
		return 7;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 8;
}
