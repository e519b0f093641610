/* SPDX-License-Identifier: MIT */
/*
 * weir hold: permits for a script, as long as a process lives.  Here is what
 * the script starts: it waits for the token, prints it, and says that it has.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/hold.h"

enum { OPT_PID = 300 };

static const struct option longs[] = {
	CMD_HELP,
	TAKE_LONGS,
	{ "while-pid", required_argument, NULL, OPT_PID },
	CMD_OPTIONS_END
};

/* A number can be another's later; this never is. */
static int open_pid(const struct cmd *self, const char *text)
{
	pid_t pid = (pid_t)cmd_count(self, "--while-pid", text, 1, INT32_MAX);
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	if (fd < 0 && errno == ESRCH)
		cmd_die(EXIT_MISUSE, "hold: there is no process %d", (int)pid);
	if (fd < 0)
		cmd_die(EXIT_WEIR, "hold: process %d: %s", (int)pid,
			strerror(errno));
	return fd;
}

/* The holder has ended without a token: its status, which it has explained. */
static int failed(pid_t holder)
{
	int status = 0;

	while (waitpid(holder, &status, 0) < 0 && errno == EINTR)
		continue;
	if (WIFEXITED(status) && WEXITSTATUS(status))
		return WEXITSTATUS(status);
	cmd_die(EXIT_WEIR, "hold: the process that waited was killed");
}

static int front(const struct hold_opts *opts, pid_t holder)
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
		cmd_die(EXIT_WEIR, "hold: the process given with --while-pid "
			"has ended");
	size = recv(opts->pair, token, sizeof(token) - 1, 0);
	if (size <= 0)
		return failed(holder);
	token[size] = 0;
	puts(token);
	cmd_flush();
	if (send(opts->pair, &(char){ HOLD_TOLD }, 1, MSG_NOSIGNAL) != 1)
		return failed(holder);
	return EXIT_SUCCESS;
}

static int run(const struct cmd *self, int argc, char **argv)
{
	struct hold_opts opts = { .take = TAKE_INIT, .pidfd = -1 };
	pid_t parent = getpid(), holder;
	struct signals signals;
	int option, pair[2];

	while ((option = cmd_option(self, argc, argv, TAKE_SHORTS,
				    longs)) != -1) {
		if (option == 1)
			cmd_take_name(self, optarg, &opts.take.name);
		else if (option == OPT_PID)
			opts.pidfd = open_pid(self, optarg);
		else
			(void)take_option(self, &opts.take, option);
	}
	for (; optind < argc; optind++)
		cmd_take_name(self, argv[optind], &opts.take.name);
	if (!opts.take.label)
		opts.take.label = "weir hold";
	take_check(self, &opts.take);
	if (opts.pidfd < 0)
		cmd_misuse(self, "hold: --while-pid PID: for how long?");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		cmd_die(EXIT_WEIR, "hold: no sockets: %s", strerror(errno));
	signals_block(&signals);
	holder = fork();
	if (holder < 0)
		cmd_die(EXIT_WEIR, "cannot fork: %s", strerror(errno));
	opts.pair = pair[holder ? 0 : 1];
	close(pair[holder ? 1 : 0]);
	if (!holder)
		exit(keep_permits(&opts, &signals, parent));
	/* What ends us tells the holder by that. */
	signals_restore(&signals);
	return front(&opts, holder);
}

const struct cmd cmd_hold = {
	.name = "hold",
	.summary = "take a permit for a script; prints a token",
	.help =
"usage: weir hold NAME --while-pid PID [OPTION]...\n"
"\n"
"Waits for a permit of the semaphore NAME and prints a token.  The permit is held\n"
"in the background until \"weir release TOKEN\", or until the process PID ends.\n"
"\n"
"    token=$(weir hold deploy --while-pid $$) || exit\n"
"\n"
"      --while-pid=PID  as long as this process lives\n"
"  -n, --capacity=N     make NAME with N permits if it is not there\n"
"  -w, --weight=N       take N permits instead of 1\n"
"  -t, --timeout=TIME   wait no longer than this (else $WEIR_TIMEOUT); 124 then\n"
"      --try            do not wait; 75 if it would have to\n"
"  -E, --exit-code=N    N instead of 124 and 75\n"
"      --nested         also under a NAME that is in $WEIR_HELD already\n"
"  -l, --label=TEXT     what \"weir stat\" calls it\n"
"      --shared         for a semaphore that other users may use as well\n"
"  -h, --help           this text\n",
	.run = run,
};
