/* SPDX-License-Identifier: MIT */
/*
 * The process that holds for `weir hold`: until a process ends, or somebody
 * with the token asks.  A token that nobody was told holds nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cmd/hold.h"
#include "cmd/token.h"

/* From here on we belong to nobody's terminal. */
static void detach(const struct signals *signals)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	/* The parent ends about now; that it has is forgotten. */
	(void)prctl(PR_SET_PDEATHSIG, 0);
	(void)signal(SIG_ORPHANED, SIG_IGN);
	signals_restore(signals);
	(void)setsid();
	(void)!chdir("/");
	for (int fd = 0; null >= 0 && fd < 3; fd++)
		(void)dup2(null, fd);
	if (null > 2)
		close(null);
}

/* Somebody has connected: whether it has the token, and wants the end. */
static bool asks(int fd, const char *token)
{
	struct timeval patience = { .tv_sec = 5 };
	char asked[TOKEN_DIGITS];
	size_t got = 0;

	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience,
			 sizeof(patience));
	while (got < sizeof(asked)) {
		ssize_t more = read(fd, asked + got, sizeof(asked) - got);

		if (more <= 0)
			return false;
		got += (size_t)more;
	}
	return !memcmp(asked, token, sizeof(asked));
}

/* Until it is over; whoever asked for that, or -1. */
static int attend(const struct hold_opts *opts, int listener,
		  const char *token)
{
	struct pollfd events[] = {
		{ .fd = opts->pidfd, .events = POLLIN },
		{ .fd = listener, .events = POLLIN },
	};

	for (;;) {
		int fd;

		if (poll(events, 2, -1) < 0)
			continue;
		if (events[0].revents)
			return -1;
		if (!events[1].revents)
			continue;
		fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		if (fd >= 0 && asks(fd, token))
			return fd;
		if (fd >= 0)
			close(fd);
	}
}

/* Say the token, and hear that it is out. */
static bool introduce(const struct hold_opts *opts, const char *token)
{
	char byte = 0;

	return send(opts->pair, token, strlen(token), MSG_NOSIGNAL) > 0 &&
	       recv(opts->pair, &byte, 1, 0) == 1 && byte == HOLD_TOLD;
}

int keep_permits(const struct hold_opts *opts, const struct signals *signals,
		 pid_t parent)
{
	const struct take *take = &opts->take;
	char path[TOKEN_PATH_ROOM], whole[PATH_MAX];
	int told, asker, listener;
	char *token, *found;
	weir_named *sem;
	weir_err err;

	(void)prctl(PR_SET_PDEATHSIG, SIG_ORPHANED);
	if (getppid() != parent)
		return EXIT_WEIR;
	job_close_others(opts->pidfd, opts->pair);
	sem = take_open(take);
	err = take_permits(take, sem, signals, &told);
	if (told)
		return EXIT_SIGNAL(told);
	if (err)
		return take_refused(take, sem, err);
	token = token_new(take->name);
	if (token_path(token, path) ||
	    (listener = token_socket(path, true)) < 0)
		cmd_die(EXIT_WEIR, "%s: cannot make a socket beside it: %s",
			take->name, strerror(errno));
	if (!introduce(opts, token)) {
		(void)unlink(path);
		return EXIT_WEIR;
	}
	/* $WEIR_DIR may be relative, and we go elsewhere. */
	found = realpath(path, whole);
	detach(signals);
	asker = attend(opts, listener, token);
	(void)unlink(found ? found : path);
	err = weir_named_try_release(sem, take->weight);
	(void)!weir_named_close_handle(sem);
	if (asker >= 0)
		(void)send(asker, err ? "l" : "k", 1, MSG_NOSIGNAL);
	return EXIT_SUCCESS;
}
