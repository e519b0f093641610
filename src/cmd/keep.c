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

/* Connections that are heard at a time. */
#define ASKERS 8

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

/* Those who have connected, and what they have said so far. */
struct askers {
	size_t next;		/* whose place the next one takes */
	size_t got[ASKERS];
	char said[ASKERS][TOKEN_DIGITS];
};

/* Hear more of one; 1: it has the token, and wants the end; -1: it has not. */
static int hear(struct askers *askers, size_t i, int fd, const char *token)
{
	char *said = askers->said[i];
	ssize_t more = recv(fd, said + askers->got[i],
			    TOKEN_DIGITS - askers->got[i], MSG_DONTWAIT);

	if (more < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (more <= 0)
		return -1;
	askers->got[i] += (size_t)more;
	if (askers->got[i] < TOKEN_DIGITS)
		return 0;
	return memcmp(said, token, TOKEN_DIGITS) ? -1 : 1;
}

/* One more; who has been silent for longest goes, if there are too many. */
static void admit(struct askers *askers, struct pollfd *events, int listener)
{
	size_t i = askers->next;
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0)
		return;
	if (events[i].fd >= 0)
		close(events[i].fd);
	events[i] = (struct pollfd){ .fd = fd, .events = POLLIN };
	askers->got[i] = 0;
	askers->next = (i + 1) % ASKERS;
}

/* Until it is over; whoever asked for that, or -1. */
static int attend(const struct hold_opts *opts, int listener,
		  const char *token)
{
	struct pollfd events[ASKERS + 2];
	struct askers askers = { .next = 0 };

	for (size_t i = 0; i < ASKERS; i++)
		events[i] = (struct pollfd){ .fd = -1 };
	events[ASKERS] = (struct pollfd){ opts->pidfd, POLLIN, 0 };
	events[ASKERS + 1] = (struct pollfd){ listener, POLLIN, 0 };
	for (;;) {
		if (poll(events, ASKERS + 2, -1) < 0)
			continue;
		if (events[ASKERS].revents)
			return -1;
		for (size_t i = 0; i < ASKERS; i++) {
			int heard = events[i].revents ?
				hear(&askers, i, events[i].fd, token) : 0;

			if (heard > 0)
				return events[i].fd;
			if (heard < 0) {
				close(events[i].fd);
				events[i].fd = -1;
			}
		}
		if (events[ASKERS + 1].revents)
			admit(&askers, events, listener);
	}
}

/* Say the token, and hear that it is out. */
static bool introduce(const struct hold_opts *opts, const char *token)
{
	char byte = 0;

	return send(opts->pair, token, strlen(token), MSG_NOSIGNAL) > 0 &&
	       recv(opts->pair, &byte, 1, 0) == 1 && byte == HOLD_TOLD;
}

static _Noreturn void no_socket(const char *name)
{
	cmd_fail(name, WEIR_ESYSTEM, "cannot make a socket beside it");
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
	token = token_new(take->name);
	/* Before the wait, which would be for nothing. */
	if (token_path(token, path) || !token_fits(path))
		no_socket(take->name);
	err = take_permits(take, sem, signals, &told);
	if (told)
		return EXIT_SIGNAL(told);
	if (err)
		return take_refused(take, sem, err);
	listener = token_socket(path, true);
	if (listener < 0)
		no_socket(take->name);
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
