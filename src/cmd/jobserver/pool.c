/* SPDX-License-Identifier: MIT */
/*
 * The tokens in the pipe, and the number of tokens that each client has.
 *
 *     total == bytes in the pipe + sum of held + owed + unseen
 *
 * Unseen tokens were read by calls that the filter did not stop.  Their number
 * is computed from the bytes in the pipe each time, because all clients may
 * read and write there.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cmd/jobserver/pool.h"
#include "cmd/lib/fail.h"
#include "cmd/lib/memory.h"

#define TOKEN '+'

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434	/* on all architectures */
#endif

static int64_t in_pipe(struct pool *pool)
{
	int bytes = 0;

	if (ioctl(pool->fd, FIONREAD, &bytes))
		cmd_die(EXIT_WEIR, "jobserver: pipe: FIONREAD: %s",
			strerror(errno));
	return bytes;
}

static int64_t recorded(const struct pool *pool)
{
	int64_t sum = pool->owed;

	for (size_t i = 0; i < pool->count; i++)
		sum += pool->clients[i].held;
	return sum;
}

/*
 * The write end is opened only for this call.  If it stayed open, the kernel
 * would not report that the last client has closed its write end.
 */
static void put_bytes(struct pool *pool, const char *bytes, size_t count)
{
	char path[40];
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", pool->fd);
	fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT && *pool->path)
		fd = open(pool->path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		cmd_die(EXIT_WEIR, "jobserver: %s: %s", path, strerror(errno));
	while (count) {
		ssize_t written = write(fd, bytes, count);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			cmd_die(EXIT_WEIR, "jobserver: pipe: write: %s",
				strerror(errno));
		bytes += written;
		count -= (size_t)written;
	}
	close(fd);
}

static void put_tokens(struct pool *pool, int64_t count)
{
	char bytes[256];

	memset(bytes, TOKEN, sizeof(bytes));
	while (count > 0) {
		size_t some = count < 256 ? (size_t)count : 256;

		put_bytes(pool, bytes, some);
		count -= (int64_t)some;
	}
}

void pool_fill(struct pool *pool, int fd, const char *path, int64_t total)
{
	struct stat status;

	if (fstat(fd, &status))
		cmd_die(EXIT_WEIR, "jobserver: pipe: fstat: %s",
			strerror(errno));
	*pool = (struct pool){ .total = total, .fd = fd, .path = path,
			       .device = status.st_dev,
			       .inode = status.st_ino };
	put_tokens(pool, total);
}

bool pool_read(struct pool *pool, char *byte)
{
	return read(pool->fd, byte, 1) == 1;
}

void pool_write(struct pool *pool, char byte)
{
	put_bytes(pool, &byte, 1);
}

static struct client *client_of(struct pool *pool, pid_t pid)
{
	for (size_t i = 0; i < pool->count; i++)
		if (pool->clients[i].pid == pid)
			return &pool->clients[i];
	return NULL;
}

void pool_taken(struct pool *pool, pid_t pid)
{
	struct client *client = client_of(pool, pid);

	if (!client) {
		if (pool->count == pool->room) {
			pool->room = pool->room ? 2 * pool->room : 16;
			pool->clients = memory_realloc(
				pool->clients, pool->room * sizeof(*client));
		}
		client = &pool->clients[pool->count];
		client->pid = pid;
		client->held = 0;
		/* The client is inside its call, so its pid is valid. */
		client->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
		if (client->pidfd < 0) {
			pool->owed++;
			return;
		}
		(void)fcntl(client->pidfd, F_SETFD, FD_CLOEXEC);
		pool->count++;
	}
	client->held++;
}

/* Returns the parent of pid; 0 if it is unknown. */
static pid_t parent_of(pid_t pid)
{
	char path[40], line[512];
	const char *after;
	ssize_t got;
	int fd, parent = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	got = read(fd, line, sizeof(line) - 1);
	close(fd);
	line[got > 0 ? got : 0] = '\0';
	/* The name of the program may contain any character, also ')'. */
	after = strrchr(line, ')');
	if (!after || sscanf(after, ") %*c %d", &parent) != 1)
		return 0;
	return parent;
}

/*
 * Returns the client whose token pid returns: pid itself or its next ancestor
 * with a token, otherwise the client with the most tokens.
 */
static struct client *likely_owner(struct pool *pool, pid_t pid)
{
	struct client *most = NULL;

	for (int i = 0; i < 64 && pid > 1; i++) {
		struct client *client = client_of(pool, pid);

		if (client && client->held)
			return client;
		pid = parent_of(pid);
	}
	for (size_t i = 0; i < pool->count; i++)
		if (pool->clients[i].held &&
		    (!most || pool->clients[i].held > most->held))
			most = &pool->clients[i];
	return most;
}

/*
 * Subtract a token from its likely owner.  Returns false if no client has a
 * recorded token.
 */
static bool subtract(struct pool *pool, pid_t pid)
{
	struct client *client = likely_owner(pool, pid);

	if (client)
		client->held--;
	else if (pool->owed)
		pool->owed--;
	else
		return false;
	return true;
}

int64_t pool_unseen(struct pool *pool)
{
	int64_t unseen = pool->total - in_pipe(pool) - recorded(pool);

	/*
	 * Some tokens were returned by calls that the filter did not stop:
	 * correct the records.
	 */
	while (unseen < 0 && subtract(pool, 0))
		unseen++;
	return unseen;
}

bool pool_returned(struct pool *pool, pid_t pid)
{
	struct client *client = client_of(pool, pid);

	if (client && client->held) {
		client->held--;
		return true;
	}
	return pool_unseen(pool) > 0 || subtract(pool, pid);
}

void pool_client_ended(struct pool *pool, size_t index)
{
	struct client *client = &pool->clients[index];

	if (pool->verbose && client->held)
		cmd_message("jobserver: process %d ended with %lld token%s",
			    (int)client->pid, (long long)client->held,
			    client->held == 1 ? "" : "s");
	pool->owed += client->held;
	close(client->pidfd);
	*client = pool->clients[--pool->count];
}

void pool_no_writers(struct pool *pool)
{
	int64_t unseen = pool_unseen(pool);

	if (pool->verbose && unseen > 0)
		cmd_message("jobserver: no process is left to return %lld "
			    "token%s", (long long)unseen,
			    unseen == 1 ? "" : "s");
	if (unseen > 0)
		pool->owed += unseen;
}

void pool_return_owed(struct pool *pool, int64_t orphans)
{
	int64_t back;

	/*
	 * This corrects `owed` if tokens were returned by calls that the filter
	 * did not stop.
	 */
	(void)pool_unseen(pool);
	back = pool->owed - orphans;
	if (back <= 0)
		return;
	put_tokens(pool, back);
	pool->owed -= back;
	if (pool->verbose)
		cmd_message("jobserver: put back %lld token%s", (long long)back,
			    back == 1 ? "" : "s");
}
