/* SPDX-License-Identifier: MIT */
/*
 * weir hold: hold permits for a script until a process ends.
 *
 * This file has the process that the script starts.  It forks the hold daemon,
 * waits for the token, prints it, and confirms that to the hold daemon.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/hold/hold.h"
#include "cmd/hold/hold_daemon.h"
#include "cmd/lib/fail.h"
#include "cmd/lib/remote.h"

enum { OPT_PID = 300 };

static const struct option longs[] = {
	OPTIONS_HELP,
	ACQUIRE_LONGS,
	{ "while-pid", required_argument, NULL, OPT_PID },
	OPTIONS_END
};

/* Use a pidfd, because a pid can be reused. */
static int open_pid(const struct cmd *self, const char *text)
{
	pid_t pid = (pid_t)options_count(self, "--while-pid", text, 1,
					 INT32_MAX);
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	/* A zombie has a pidfd that is readable. */
	struct pollfd event = { .fd = fd, .events = POLLIN };

	if (fd < 0 && errno == ESRCH)
		cmd_die(EXIT_MISUSE, "hold: --while-pid: process %d does not "
			"exist", (int)pid);
	/* Linux 6.9 and later return ENOENT for a thread. */
	if (fd < 0 && (errno == EINVAL || errno == ENOENT))
		cmd_die(EXIT_MISUSE, "hold: --while-pid: %d is a thread of "
			"another process, not a process", (int)pid);
	if (fd >= 0 && poll(&event, 1, 0) == 1)
		cmd_die(EXIT_MISUSE, "hold: --while-pid: process %d has ended",
			(int)pid);
	if (fd < 0)
		cmd_die(EXIT_WEIR, "hold: --while-pid: process %d: %s",
			(int)pid, strerror(errno));
	return fd;
}

/*
 * Called when the hold daemon has ended without a token.  Returns the exit
 * status of the daemon, which has printed the reason.
 */
static int daemon_status(const struct hold_opts *opts, pid_t daemon)
{
	int status = 0;

	while (waitpid(daemon, &status, 0) < 0 && errno == EINTR)
		continue;
	if (WIFEXITED(status) && WEXITSTATUS(status))
		return WEXITSTATUS(status);
	cmd_die(EXIT_WEIR, "%s: the hold daemon was killed while it waited",
		opts->acquire.name);
}

/* Wait for the token and print it.  Returns the exit status. */
static int print_token(const struct hold_opts *opts, pid_t daemon)
{
	struct pollfd events[] = {
		{ .fd = opts->pair, .events = POLLIN },
		{ .fd = opts->pidfd, .events = POLLIN },
	};
	char token[HOLD_TOKEN_ROOM];
	ssize_t size;

	while (poll(events, 2, -1) < 0 && errno == EINTR)
		continue;
	if (!events[0].revents)
		cmd_die(EXIT_WEIR, "%s: the process of --while-pid has ended",
			opts->acquire.name);
	size = recv(opts->pair, token, sizeof(token) - 1, 0);
	if (size <= 0)
		return daemon_status(opts, daemon);
	token[size] = 0;
	puts(token);
	cmd_flush();
	if (send(opts->pair, &(char){ HOLD_PRINTED }, 1, MSG_NOSIGNAL) != 1)
		return daemon_status(opts, daemon);
	return EXIT_SUCCESS;
}

static int run(const struct cmd *self, int argc, char **argv)
{
	struct hold_opts opts = { .acquire = ACQUIRE_OPTS_INIT, .pidfd = -1 };
	pid_t parent = getpid(), daemon;
	struct signals signals;
	int option, pair[2];

	while ((option = options_next(self, argc, argv, ACQUIRE_SHORTS,
				      longs)) != -1) {
		if (option == 1)
			options_name(self, optarg, &opts.acquire.name);
		else if (option == OPT_PID)
			opts.pidfd = open_pid(self, optarg);
		else
			(void)acquire_opts_set(self, &opts.acquire, option);
	}
	options_rest(self, argc, argv, &opts.acquire.name);
	if (!opts.acquire.label)
		opts.acquire.label = "weir hold";
	acquire_opts_check(self, &opts.acquire);
	remote_refuse_password(opts.acquire.name);
	if (opts.pidfd < 0)
		cmd_misuse(self, "hold: --while-pid PID is missing");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		cmd_die(EXIT_WEIR, "hold: cannot create a socket pair: %s",
			strerror(errno));
	signals_block(&signals);
	daemon = fork();
	if (daemon < 0)
		cmd_die(EXIT_WEIR, "cannot fork: %s", strerror(errno));
	opts.pair = pair[daemon ? 0 : 1];
	close(pair[daemon ? 1 : 0]);
	if (!daemon)
		exit(hold_daemon_main(&opts, &signals, parent));
	/* If a signal ends this process, the daemon gets SIG_ORPHANED. */
	signals_restore(&signals);
	/* If SIGCHLD were ignored, the status of the daemon would be lost. */
	(void)signal(SIGCHLD, SIG_DFL);
	return print_token(&opts, daemon);
}

const struct cmd cmd_hold = {
	.name = "hold",
	.summary = "acquire a permit for a script",
	.help =
"usage: weir hold NAME --while-pid PID [OPTION]...\n"
"\n"
"Waits for a permit of the semaphore NAME and prints a token.  The permit is held\n"
"in the background until \"weir release TOKEN\", or until the process PID ends.\n"
"\n"
"    token=$(weir hold deploy --while-pid $$) || exit\n"
"\n"
"      --while-pid=PID  release the permit when this process ends (required)\n"
"  -n, --capacity=N     create NAME with N permits if it does not exist\n"
"  -w, --weight=N       acquire N permits instead of 1\n"
"  -t, --timeout=TIME   wait at most TIME (default: $WEIR_TIMEOUT); 124 then\n"
"      --try            do not wait; 75 if the permit is not free\n"
"  -E, --exit-code=N    exit with N instead of 124 or 75\n"
"      --nested         allow a NAME that is in $WEIR_HELD\n"
"  -l, --label=TEXT     the label in \"weir stat\"\n"
"      --shared         allow a semaphore that other users can use\n"
"  -h, --help           print this text\n",
	.run = run,
};
