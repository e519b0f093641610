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
#include "cmd/lib/names.h"
#include "cmd/lib/process.h"
#include "cmd/lib/remote_acquire.h"
#include "cmd/lib/token.h"

/* The most connections at a time. */
#define CLIENTS 8
/* The pause after a failed call, which may fail again at once. */
#define RETRY_MS 100

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

/* The descriptors to poll; those of the clients come last. */
enum { PIDFD, LISTENER, FIXED };

/*
 * The connections of `weir release`, oldest first, and the bytes received on
 * each.  The list of descriptors has no gaps: poll refuses a list that is longer
 * than RLIMIT_NOFILE.
 */
struct clients {
	struct pollfd events[FIXED + CLIENTS];
	size_t count;
	struct received {
		size_t size;
		char bytes[TOKEN_DIGITS];
	} received[CLIENTS];
};

/*
 * Receive bytes from client i.  Returns 1 if the client has sent the token, 0
 * if more bytes are needed, -1 if the connection is to be closed.
 */
static int receive(struct clients *clients, size_t i, const char *token)
{
	struct received *received = &clients->received[i];
	ssize_t more = recv(clients->events[FIXED + i].fd,
			    received->bytes + received->size,
			    TOKEN_DIGITS - received->size, MSG_DONTWAIT);

	if (more < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (more <= 0)
		return -1;
	received->size += (size_t)more;
	if (received->size < TOKEN_DIGITS)
		return 0;
	return memcmp(received->bytes, token, TOKEN_DIGITS) ? -1 : 1;
}

static void close_client(struct clients *clients, size_t i)
{
	struct pollfd *events = clients->events + FIXED;
	size_t after = --clients->count - i;

	close(events[i].fd);
	memmove(&events[i], &events[i + 1], after * sizeof(*events));
	memmove(&clients->received[i], &clients->received[i + 1],
		after * sizeof(*clients->received));
}

/*
 * Accept a connection.  If there are too many connections, or no free
 * descriptor, close the oldest one.  Returns false if there is no descriptor for
 * the connection.
 */
static bool accept_client(struct clients *clients)
{
	int listener = clients->events[LISTENER].fd, fd;

	if (clients->count == CLIENTS)
		close_client(clients, 0);
	fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (fd < 0 && errno != EMFILE && errno != ENFILE)
		return true;
	if (fd < 0 && clients->count) {
		close_client(clients, 0);
		fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	}
	if (fd < 0)
		return false;
	clients->events[FIXED + clients->count] =
		(struct pollfd){ .fd = fd, .events = POLLIN };
	clients->received[clients->count++].size = 0;
	return true;
}

/*
 * Wait for the end of the hold.  Returns the connection that sent the token, or
 * -1 if the process of --while-pid has ended.
 */
static int wait_for_end(const struct hold_opts *opts, int listener,
			const char *token)
{
	struct clients clients = { .count = 0 };
	struct pollfd *events = clients.events;

	events[PIDFD] = (struct pollfd){ opts->pidfd, POLLIN, 0 };
	events[LISTENER] = (struct pollfd){ listener, POLLIN, 0 };
	for (;;) {
		bool fails = poll(events, FIXED + clients.count, -1) < 0;

		if (!fails && events[PIDFD].revents)
			return -1;
		for (size_t i = clients.count; !fails && i-- > 0;) {
			int result = events[FIXED + i].revents ?
					     receive(&clients, i, token) : 0;

			if (result > 0)
				return events[FIXED + i].fd;
			if (result < 0)
				close_client(&clients, i);
		}
		if (!fails && events[LISTENER].revents)
			fails = !accept_client(&clients);
		/* The limit of descriptors was lowered, or memory is short. */
		if (fails)
			(void)poll(events, 1, RETRY_MS);
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

/* The permits: of a local semaphore, or under a lease between machines. */
struct held {
	const struct acquire_opts *opts;
	const char *url;	/* null: a local semaphore */
	weir_named *sem;
	weir_cluster *cluster;
	weir_lease *lease;
};

static void open_semaphore(struct held *held)
{
	if (held->url)
		held->cluster = remote_acquire_open(held->opts, held->url);
	else
		held->sem = acquire_open(held->opts);
}

/* Acquire the permits.  Returns 0 or the exit status. */
static int acquire(struct held *held, const struct signals *signals)
{
	weir_err err;
	int sig;

	err = held->url ? remote_acquire_permits(held->opts, held->cluster,
						 signals, &held->lease, &sig) :
			  acquire_permits(held->opts, &held->sem, signals, &sig);
	/* The engine does not notice the end of this process. */
	if (sig && held->url && !err)
		(void)!remote_api.weir_lease_release(held->lease);
	if (sig)
		return EXIT_SIGNAL(sig);
	if (!err)
		return 0;
	return held->url ? remote_acquire_refused(held->opts, held->url,
						  held->cluster, err) :
			   acquire_refused(held->opts, held->sem, err);
}

/* Release the permits.  Returns the answer to `weir release`. */
static char release(struct held *held)
{
	weir_err err;

	if (held->url) {
		err = remote_api.weir_lease_release(held->lease);
		(void)!remote_api.weir_cluster_close_handle(held->cluster);
		/* The permits are free when the lease ends, at the latest. */
		if (err == WEIR_EINDETERMINATE)
			return TOKEN_UNCONFIRMED;
	} else {
		err = weir_named_try_release(held->sem, held->opts->weight);
		(void)!weir_named_close_handle(held->sem);
	}
	return err ? TOKEN_LOST : TOKEN_RELEASED;
}

int hold_daemon_main(const struct hold_opts *opts,
		     const struct signals *signals, pid_t parent)
{
	struct held held = { .opts = &opts->acquire,
			     .url = remote_url(opts->acquire.name) };
	const char *name = held.url ? remote_display(held.url) :
				      opts->acquire.name;
	char path[TOKEN_PATH_ROOM], whole[PATH_MAX];
	int client, listener, status;
	char *token, *found, answer;

	(void)prctl(PR_SET_PDEATHSIG, SIG_ORPHANED);
	if (getppid() != parent)
		return EXIT_WEIR;
	process_close_others(opts->pidfd, opts->pair);
	signals_may_end(signals, false);
	open_semaphore(&held);
	signals_may_not_end(signals);
	token = token_new(name);
	if (held.url)
		names_make_folder();
	/*
	 * Check this before the wait: without a socket the wait would be
	 * useless.
	 */
	if (token_path(token, path) || !token_is_allowed(path))
		no_socket(name);
	status = acquire(&held, signals);
	if (status)
		return status;
	listener = token_listen(path);
	if (listener < 0 && held.url)
		(void)!remote_api.weir_lease_release(held.lease);
	if (listener < 0)
		no_socket(name);
	if (!send_token(opts, token)) {
		(void)unlink(path);
		if (held.url)
			(void)release(&held);
		return EXIT_WEIR;
	}
	/* $WEIR_DIR may be relative, and detach changes the directory. */
	found = realpath(path, whole);
	close(opts->pair);
	detach(signals);
	client = wait_for_end(opts, listener, token);
	(void)unlink(found ? found : path);
	answer = release(&held);
	if (client >= 0)
		(void)send(client, &answer, 1, MSG_NOSIGNAL);
	return EXIT_SUCCESS;
}
