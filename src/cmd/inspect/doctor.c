/* SPDX-License-Identifier: MIT */
/*
 * weir doctor: report problems of semaphores, and repair them.
 *
 * Opening a semaphore already removes dead participants and repairs the queue.
 * The doctor repairs the rest: files that cannot be opened, and sockets of
 * killed hold daemons.
 */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/inspect/doctor.h"
#include "cmd/inspect/inspect.h"
#include "cmd/inspect/remote.h"
#include "cmd/lib/fail.h"
#include "cmd/lib/names.h"
#include "cmd/lib/options.h"
#include "cmd/lib/remote.h"
#include "cmd/lib/snapshot.h"
#include "cmd/lib/text.h"

#define TIMEOUT_S 10

void doctor_print(const char *format, ...)
{
	char line[3 * PATH_MAX];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	text_clean(line);
	puts(line);
}

/*
 * Called by SIGALRM: the lock of the semaphore was not free for TIMEOUT_S
 * seconds.
 */
static void on_timeout(int sig)
{
	static const char text[] =
		"problem: locked for 10 s: a process was stopped while it held "
		"the lock\n";

	(void)sig;
	(void)!write(STDOUT_FILENO, text, sizeof(text) - 1);
	_exit(EXIT_CLOSED);
}

/* Examine one semaphore.  Returns the exit status. */
static int examine(const char *name)
{
	char why[512] = "";
	/* SHARED: also examine semaphores that other users may write to. */
	weir_named_opts opts = { .why = why, .why_size = sizeof(why),
				 .flags = WEIR_NAMED_SHARED |
					  WEIR_NAMED_OBSERVER };
	struct doctor_file file = { .exists = false };
	weir_named_entry *entries;
	weir_named_info info;
	weir_named *sem;
	weir_err err;
	int status;

	(void)signal(SIGALRM, on_timeout);
	(void)alarm(TIMEOUT_S);
	doctor_print("%s", name);
	fflush(stdout);
	doctor_file_record(&file, name);
	err = weir_named_open(name, &opts, &sem);
	if (err) {
		status = doctor_repair(name, &file, err, errno, why);
	} else {
		err = snapshot_read(sem, &info, &entries);
		if (err)
			status = doctor_repair(name, &file, err, errno, "");
		else
			status = doctor_report(&info, entries);
		free(entries);
		(void)!weir_named_close_handle(sem);
	}
	(void)alarm(0);
	return status;
}

/*
 * Examine one of several semaphores in a child process, so that a timeout does
 * not prevent the examination of the others.
 */
static int examine_in_child(const char *name)
{
	int status = 0;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0)
		cmd_die(EXIT_WEIR, "cannot fork: %s", strerror(errno));
	if (!pid) {
		status = examine(name);
		cmd_flush();
		_exit(status);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_WEIR;
}

static int run(const struct cmd *self, int argc, char **argv)
{
	static const struct option longs[] = { OPTIONS_HELP, OPTIONS_END };
	const char *name = NULL;
	int status = EXIT_SUCCESS;

	while (options_next(self, argc, argv, "", longs) != -1)
		options_name(self, optarg, &name);
	options_rest(self, argc, argv, &name);
	if (remote_url(name)) {
		remote_refuse_password(name);
		return remote_doctor(remote_url(name));
	}
	if (name) {
		status = examine(name);
	} else {
		char **names;
		int count = names_list(&names);

		if (count < 0)
			names_fail("doctor");
		for (int i = 0; i < count; i++) {
			int one = examine_in_child(names[i]);

			status = one ? one : status;
		}
		free(names);
	}
	doctor_remove_sockets(name);
	cmd_flush();
	return status;
}

const struct cmd cmd_doctor = {
	.name = "doctor",
	.summary = "find and repair problems of semaphores",
	.help =
"usage: weir doctor [NAME]\n"
"\n"
"Examines the semaphore NAME, or all semaphores without a \"/\" in their name.\n"
"Prints its findings and repairs what it can: a damaged file is moved away and a\n"
"file from before the last boot is removed, if no process uses it; sockets of\n"
"killed hold daemons are removed.  Exit status: 0 no problem is left; else as for\n"
"\"weir run\".\n"
"\n"
"  -h, --help   print this text\n",
	.run = run,
};
