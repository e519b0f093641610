/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_JOBSERVER_POOL_H
#define WEIR_CMD_JOBSERVER_POOL_H

/* The tokens in the pipe, and the number of tokens that each client has. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A process with tokens. */
struct client {
	pid_t pid;
	int pidfd;
	int64_t held;
};

struct pool {
	int64_t total;		/* all tokens */
	int64_t owed;		/* tokens of dead clients, not returned yet */
	int fd;			/* for reading; no write end is kept open */
	const char *path;	/* of a fifo, for use without /proc; may be "" */
	dev_t device;		/* identity of the pipe */
	ino_t inode;
	struct client *clients;
	size_t count, room;
	bool verbose;
};

/* Put all tokens into the pipe or fifo; `path` must outlive the pool. */
void pool_fill(struct pool *pool, int fd, const char *path, int64_t total);
/*
 * Read a byte from the pipe, or write one.  pool_read returns false if the pipe
 * is empty.  The caller records the client.
 */
bool pool_read(struct pool *pool, char *byte);
void pool_write(struct pool *pool, char byte);
/* Record that the client pid has taken a token. */
void pool_taken(struct pool *pool, pid_t pid);
/*
 * Record that the client pid returns a token.  Returns false if no token is
 * missing from the pipe.
 */
bool pool_returned(struct pool *pool, pid_t pid);
/* Returns the number of tokens that are neither in the pipe nor recorded. */
int64_t pool_unseen(struct pool *pool);
/* Called when the client has ended: its tokens are owed. */
void pool_client_ended(struct pool *pool, size_t index);
/* Called when the pipe has no writer: the unseen tokens are owed. */
void pool_no_writers(struct pool *pool);
/* Put owed tokens back into the pipe, except one for each orphan. */
void pool_return_owed(struct pool *pool, int64_t orphans);

#endif /* WEIR_CMD_JOBSERVER_POOL_H */
