/* SPDX-License-Identifier: MIT */
/*
 * The servers: a child process reads each of them (client.c).
 *
 * The children of an answer begin together, at its begin, and run while the
 * parent reads the semaphores of this host.  Only then the parent reads from them.
 * A child writes records to one pipe and messages to another one.  The pipe of the
 * records has room for all of them, unless the user has used up the memory that
 * the kernel allows for pipes; then the child waits until the parent reads.
 *
 * The limit of time begins with the answer.  At its end everything is read that is
 * in the pipes, also if the semaphores of this host have taken longer; a child
 * that has not ended then is killed, and what it has sent is shown.  So the answer
 * takes at most as long as the limit, or as the semaphores of this host if they
 * take longer.
 */
#include "cmd/export/servers.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/lib/fail.h"
#include "cmd/lib/memory.h"
#include "cmd/lib/process.h"
#include "cmd/lib/remote.h"
#include "weir/base.h"

#define MESSAGE_MAX 1024
#define CANNOT "it cannot be read"
/* A child that finds a mistake in its URL has ended after this time. */
#define CHECK_NS INT64_C(300000000)

static struct server {
	const char *url, *label;
	bool is_server;		/* of the URL: it has no name */
	char name[sizeof(((struct client_record *)0)->name)]; /* may be "" */
	pid_t pid;		/* 0: no child */
	int records, messages;	/* of pipes; -1: at their end */
	union {
		struct client_record record;
		char bytes[sizeof(struct client_record)];
	} in;			/* a record, of which `used` bytes were read */
	size_t used;
	bool is_up;
	bool is_wrong;		/* the URL is not valid */
	char message[MESSAGE_MAX];	/* of the child */
	size_t message_size;
	char said[MESSAGE_MAX];	/* the last message that was printed */
} *servers;
static size_t count;

/* Returns true if `all` reads everything that `one` does. */
static bool covers(const struct server *all, const struct server *one)
{
	return !strcmp(all->label, one->label) &&
	       (!*all->name || !strcmp(all->name, one->name));
}

/* A semaphore must not be counted twice. */
void servers_add(const char *url, bool is_server)
{
	struct server new = { .url = url, .label = url_label(url, is_server),
			      .is_server = is_server,
			      .records = -1, .messages = -1 };
	size_t kept = 0;

	url_name(url, is_server, new.name, sizeof(new.name));
	for (size_t i = 0; i < count; i++)
		if (covers(&servers[i], &new))
			return;
	for (size_t i = 0; i < count; i++)
		if (!covers(&new, &servers[i]))
			servers[kept++] = servers[i];
	count = kept;
	servers = memory_realloc(servers, (count + 1) * sizeof(*servers));
	servers[count++] = new;
}

void servers_load(void)
{
	if (!count)
		return;
	/* If it is inherited as ignored, the kernel discards statuses. */
	(void)signal(SIGCHLD, SIG_DFL);
	remote_load(servers[0].url);
}

/* In the child.  Its standard output and error are the pipes. */
_Noreturn static void be_child(const struct server *server, int records,
			       int messages, pid_t parent)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent || dup2(records, STDOUT_FILENO) < 0 ||
	    dup2(messages, STDERR_FILENO) < 0)
		_exit(EXIT_WEIR);
	/* A connection of a client must end when the parent closes it. */
	process_close_others(-1, -1);
	client_run(server->url, server->is_server);
}

static void say(struct server *server, const char *what, const char *why)
{
	char *url = metrics_clean(remote_display(server->url));

	(void)snprintf(server->message, sizeof(server->message),
		       "weir: %s: %s: %s\n", url, what, why);
	free(url);
	server->message_size = strlen(server->message);
}

/* Returns false with errno if a pipe or a process cannot be created. */
static bool begin(struct server *server)
{
	pid_t parent = getpid();
	int records[2], messages[2];

	if (pipe2(records, O_CLOEXEC | O_NONBLOCK))
		return false;
	if (pipe2(messages, O_CLOEXEC | O_NONBLOCK)) {
		(void)close(records[0]);
		(void)close(records[1]);
		return false;
	}
	/* Only the parent's ends do not block. */
	(void)fcntl(records[1], F_SETFL, 0);
	(void)fcntl(messages[1], F_SETFL, 0);
	(void)fcntl(records[1], F_SETPIPE_SZ,
		    (int)((SERVERS_NAMES + 1) * sizeof(struct client_record)));
	server->pid = fork();
	if (!server->pid)
		be_child(server, records[1], messages[1], parent);
	server->records = records[0];
	server->messages = messages[0];
	(void)close(records[1]);
	(void)close(messages[1]);
	return server->pid > 0;
}

void servers_start(void)
{
	for (size_t i = 0; i < count; i++) {
		struct server *server = &servers[i];

		server->is_up = false;
		server->used = server->message_size = 0;
		if (!begin(server)) {
			server->pid = 0;
			say(server, CANNOT, strerror(errno));
		}
	}
}

static void take(struct metrics *m, struct server *server)
{
	const struct client_record *record = &server->in.record;

	server->used = 0;
	if (record->is_end) {
		server->is_up = true;
		m->unreadable[METRICS_CLUSTER] +=
			(int64_t)record->left_out;
	} else if (record->is_unreadable) {
		m->unreadable[METRICS_CLUSTER]++;
	} else {
		sums_add(m, metrics_series_of(m, server->label, record->name),
			 &record->sums);
	}
}

static void close_end(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
}

/* Read what is there; at the end, close the descriptor. */
static void read_records(struct metrics *m, struct server *server)
{
	ssize_t n;

	while ((n = read(server->records, server->in.bytes + server->used,
			 sizeof(server->in) - server->used)) > 0) {
		server->used += (size_t)n;
		if (server->used == sizeof(server->in))
			take(m, server);
	}
	if (!n || (errno != EAGAIN && errno != EINTR))
		close_end(&server->records);
}

static void read_messages(struct server *server)
{
	char rest[256];
	ssize_t n;

	do {
		size_t room = sizeof(server->message) - 1 -
			      server->message_size;

		n = room ? read(server->messages, server->message +
				server->message_size, room) :
			   read(server->messages, rest, sizeof(rest));
		if (n > 0 && room)
			server->message_size += (size_t)n;
	} while (n > 0);
	if (!n || (errno != EAGAIN && errno != EINTR))
		close_end(&server->messages);
}

/* Returns the i-th pipe: for each server that of the records, and of the messages. */
static int pipe_of(size_t i)
{
	return i % 2 ? servers[i / 2].messages : servers[i / 2].records;
}

/*
 * Wait until a child has written something, and read that.  Returns false if all
 * children have ended, or after end_ns: then what is there was read.
 *
 * poll refuses more entries than this process may have descriptors, also if some
 * of them are -1.  So the pipes that could not be created have no entry.
 */
static bool wait_for_any(struct metrics *m, struct pollfd *fds, int64_t end_ns)
{
	int64_t left = end_ns - weir_now_ns();
	nfds_t open = 0, next = 0;
	int ready;

	for (size_t i = 0; i < 2 * count; i++) {
		int fd = pipe_of(i);

		if (fd >= 0)
			fds[open++] = (struct pollfd){ fd, POLLIN, 0 };
	}
	if (!open)
		return false;
	ready = poll(fds, open, left > 0 ? (int)(left / 1000000) + 1 : 0);
	for (size_t i = 0; ready > 0 && i < 2 * count; i++) {
		/* Each pipe is closed in its own turn. */
		if (pipe_of(i) < 0 || !fds[next++].revents)
			continue;
		if (i % 2)
			read_messages(&servers[i / 2]);
		else
			read_records(m, &servers[i / 2]);
	}
	return left > 0;
}

/* Print the message of the child, unless it is that of the last answer. */
static void tell(struct server *server)
{
	server->message[server->message_size] = 0;
	if (*server->message && strcmp(server->message, server->said) != 0)
		(void)!write(STDERR_FILENO, server->message,
			     server->message_size);
	memcpy(server->said, server->message, sizeof(server->said));
}

/* Say why a child has left neither all records nor a message. */
static void explain(struct server *server, bool is_late, int status)
{
	char why[64];

	if (server->is_up || server->message_size)
		return;
	if (is_late) {
		say(server, "it was not read in time", strerror(ETIMEDOUT));
		return;
	}
	if (WIFSIGNALED(status))
		(void)snprintf(why, sizeof(why), "signal %d ended its reader",
			       WTERMSIG(status));
	else
		(void)snprintf(why, sizeof(why), "its reader ended with the "
			       "status %d", WEXITSTATUS(status));
	say(server, CANNOT, why);
}

static void end(struct server *server)
{
	bool is_late = server->records >= 0;
	int status = 0;

	close_end(&server->records);
	close_end(&server->messages);
	if (server->pid) {
		if (is_late)
			(void)kill(server->pid, SIGKILL);
		while (waitpid(server->pid, &status, 0) < 0 && errno == EINTR)
			;
		server->is_wrong = WIFEXITED(status) &&
				   WEXITSTATUS(status) == EXIT_MISUSE;
		server->pid = 0;
	}
	explain(server, is_late, status);
}

static void finish(struct metrics *m, int64_t end_ns)
{
	struct pollfd *fds = memory_realloc(NULL, 2 * count * sizeof(*fds));

	while (wait_for_any(m, fds, end_ns))
		;
	free(fds);
	for (size_t i = 0; i < count; i++)
		end(&servers[i]);
}

void servers_stop(void)
{
	for (size_t i = 0; i < count; i++)
		end(&servers[i]);
}

void servers_finish(struct metrics *m, int64_t end_ns)
{
	if (!count)
		return;
	finish(m, end_ns);
	m->is_read[METRICS_CLUSTER] = true;
	for (size_t i = 0; i < count; i++) {
		tell(&servers[i]);
		metrics_add_server(m, servers[i].label, servers[i].is_up);
	}
}

void servers_check(void)
{
	struct metrics *m = metrics_new();
	bool is_wrong = false;

	servers_start();
	if (count)
		finish(m, weir_deadline_after(CHECK_NS));
	metrics_free(m);
	for (size_t i = 0; i < count; i++)
		if (servers[i].is_wrong) {
			tell(&servers[i]);
			is_wrong = true;
		}
	if (is_wrong)
		exit(EXIT_MISUSE);
}
