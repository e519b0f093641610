/* SPDX-License-Identifier: MIT */
/*
 * The hold daemon: holds the permits of `weir hold` until a process ends or
 * `weir release` connects with the token.  If `weir hold` ends before it has
 * printed the token, the hold daemon releases the permits at once.
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

#include "cmd/hold/hold_daemon.h"
#include "cmd/lib/acquire.h"
#include "cmd/lib/fail.h"
#include "cmd/lib/process.h"
#include "cmd/lib/token.h"

/* The most connections at a time. */
#define CLIENTS 8

/* Leave the session of the script and its terminal. */
static void detach(const struct signals *signals)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	/*
	 * The parent exits after it has printed the token.  SIG_IGN also
	 * discards a death signal that is already pending.
	 */
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

/* The connections of `weir release`, and the bytes received on each. */
struct clients {
	size_t next;		/* place of the next connection */
	size_t count[CLIENTS];
	char received[CLIENTS][TOKEN_DIGITS];
};

/*
 * Receive bytes from client i.  Returns 1 if the client has sent the token, 0
 * if more bytes are needed, -1 if the connection is to be closed.
 */
static int receive(struct clients *clients, size_t i, int fd, const char *token)
{
	char *received = clients->received[i];
	ssize_t more = recv(fd, received + clients->count[i],
			    TOKEN_DIGITS - clients->count[i], MSG_DONTWAIT);

	if (more < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (more <= 0)
		return -1;
	clients->count[i] += (size_t)more;
	if (clients->count[i] < TOKEN_DIGITS)
		return 0;
	return memcmp(received, token, TOKEN_DIGITS) ? -1 : 1;
}

/*
 * Accept a connection.  If there are too many connections, close the oldest
 * one.
 */
static void accept_client(struct clients *clients, struct pollfd *events,
			  int listener)
{
	size_t i = clients->next;
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0)
		return;
	if (events[i].fd >= 0)
		close(events[i].fd);
	events[i] = (struct pollfd){ .fd = fd, .events = POLLIN };
	clients->count[i] = 0;
	clients->next = (i + 1) % CLIENTS;
}

/*
 * Wait for the end of the hold.  Returns the connection that sent the token, or
 * -1 if the process of --while-pid has ended.
 */
static int wait_for_end(const struct hold_opts *opts, int listener,
			const char *token)
{
	struct pollfd events[CLIENTS + 2];
	struct clients clients = { .next = 0 };

	for (size_t i = 0; i < CLIENTS; i++)
		events[i] = (struct pollfd){ .fd = -1 };
	events[CLIENTS] = (struct pollfd){ opts->pidfd, POLLIN, 0 };
	events[CLIENTS + 1] = (struct pollfd){ listener, POLLIN, 0 };
	for (;;) {
		if (poll(events, CLIENTS + 2, -1) < 0)
			continue;
		if (events[CLIENTS].revents)
			return -1;
		for (size_t i = 0; i < CLIENTS; i++) {
			int result = events[i].revents ?
				receive(&clients, i, events[i].fd, token) : 0;

			if (result > 0)
				return events[i].fd;
			if (result < 0) {
				close(events[i].fd);
				events[i].fd = -1;
			}
		}
		if (events[CLIENTS + 1].revents)
			accept_client(&clients, events, listener);
	}
}

/*
 * Send the token to `weir hold`.  Returns true if `weir hold` has printed it.
 */
static bool send_token(const struct hold_opts *opts, const char *token)
{
	char byte = 0;

	return send(opts->pair, token, strlen(token), MSG_NOSIGNAL) > 0 &&
	       recv(opts->pair, &byte, 1, 0) == 1 && byte == HOLD_PRINTED;
}

static _Noreturn void no_socket(const char *name)
{
	cmd_fail(name, WEIR_ESYSTEM, "cannot create a socket in its folder");
}

int hold_daemon_main(const struct hold_opts *opts,
		     const struct signals *signals, pid_t parent)
{
	const struct acquire_opts *acquire = &opts->acquire;
	char path[TOKEN_PATH_ROOM], whole[PATH_MAX];
	int sig, client, listener;
	char *token, *found, answer;
	weir_named *sem;
	weir_err err;

	(void)prctl(PR_SET_PDEATHSIG, SIG_ORPHANED);
	if (getppid() != parent)
		return EXIT_WEIR;
	process_close_others(opts->pidfd, opts->pair);
	signals_may_end(signals, false);
	sem = acquire_open(acquire);
	signals_may_not_end(signals);
	token = token_new(acquire->name);
	/*
	 * Check this before the wait: without a socket the wait would be
	 * useless.
	 */
	if (token_path(token, path) || !token_is_allowed(path))
		no_socket(acquire->name);
	err = acquire_permits(acquire, sem, signals, &sig);
	if (sig)
		return EXIT_SIGNAL(sig);
	if (err)
		return acquire_refused(acquire, sem, err);
	listener = token_listen(path);
	if (listener < 0)
		no_socket(acquire->name);
	if (!send_token(opts, token)) {
		(void)unlink(path);
		return EXIT_WEIR;
	}
	/* $WEIR_DIR may be relative, and detach changes the directory. */
	found = realpath(path, whole);
	detach(signals);
	client = wait_for_end(opts, listener, token);
	(void)unlink(found ? found : path);
	err = weir_named_try_release(sem, acquire->weight);
	answer = err ? TOKEN_LOST : TOKEN_RELEASED;
	(void)!weir_named_close_handle(sem);
	if (client >= 0)
		(void)send(client, &answer, 1, MSG_NOSIGNAL);
	return EXIT_SUCCESS;
}
