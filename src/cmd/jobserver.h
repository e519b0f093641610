/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_JOBSERVER_H
#define WEIR_CMD_JOBSERVER_H

/*
 * weir jobserver, in parts: docs/design/jobserver.md has the mechanism.
 *
 *     jobserver.c        options
 *     jobserver_filter.c what stops and asks
 *     jobserver_flags.c  MAKEFLAGS, and a make's -j
 *     jobserver_pass.c   a descriptor from one process to another
 *     jobserver_pool.c   the pipe, and the books on its tokens
 *     jobserver_run.c    the command, and the loop
 *     jobserver_see.c    answers
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cmd/job.h"

/* The most jobs: a pipe holds as many bytes without being asked to. */
#define JOBS_MAX 32768

/* jobserver_flags.c */
/*
 * The value of MAKEFLAGS (null: none yet) with our own server in place of any
 * other; on the heap.
 */
char *flags_with(const char *old, int64_t jobs, const char *auth);
/*
 * Take -j out of the arguments of a make or a ninja, in place.  The number that
 * was asked for last; 0: any number; -1: there was none.
 */
int64_t flags_take_jobs(char **argv);

/* jobserver_pool.c */
/* A process with tokens. */
struct client {
	pid_t pid;
	int pidfd;
	int64_t held;
};

struct pool {
	int64_t total;		/* tokens there are */
	int64_t owed;		/* what the dead had and is not back */
	int fd;			/* to read; no end to write is kept open */
	dev_t device;		/* which pipe it is */
	ino_t inode;
	struct client *clients;
	size_t count, room;
	bool verbose;
};

/* As realloc, which ends the process instead of failing. */
void *pool_room(void *old, size_t size);
/* A pool on the pipe whose reading end is fd, filled. */
void pool_fill(struct pool *pool, int fd, int64_t total);
/* Take a byte out without waiting, for a client that is still to be written
 * down; false: there is none.  And put one in. */
bool pool_take(struct pool *pool, char *byte);
void pool_put(struct pool *pool, char byte);
/* pid has one more; or returns one: false, there is none to be returned. */
void pool_has_taken(struct pool *pool, pid_t pid);
bool pool_gives_back(struct pool *pool, pid_t pid);
/* Tokens that are out and on nobody's books. */
int64_t pool_unseen(struct pool *pool);
/* A client has ended; the pipe has no writer.  What was its, is owed. */
void pool_ended(struct pool *pool, size_t index);
void pool_left(struct pool *pool);
/* Give back what is owed, but for as many as there are orphans. */
void pool_settle(struct pool *pool, int64_t orphans);

/* jobserver_filter.c */
/* A system call, as the kernel's filters and those who are asked see it. */
struct see_data {
	int32_t nr;
	uint32_t arch;
	uint64_t instruction;
	uint64_t args[6];
};
/*
 * Put this process under a filter for reads and writes of one byte, of these
 * two descriptors if they are not negative.  The descriptor that is asked;
 * -1: it cannot be had (errno).
 */
int see_begin(int reads, int writes);

/* jobserver_see.c */
/* One call came in: answer it, or keep it until there is a byte. */
void see_call(int listener, struct pool *pool);
/* There may be bytes again for calls that were kept. */
void see_tokens(int listener, struct pool *pool);
/* Let everything pass until nobody is left to ask. */
void see_pass(int listener);

/*
 * jobserver_pass.c: hand a descriptor to the server, or -1 and errno; and
 * receive it there.
 */
void pass_send(int channel, int fd);
int pass_receive(int channel);

/* jobserver_run.c */
struct server {
	struct pool pool;
	int64_t jobs;
	bool fifo, plain, verbose;
	int reads, writes;	/* what a pipe's clients inherit */
	char folder[64], path[80];	/* of the fifo */
	char auth[96];
	pid_t self, command;
	int listener;		/* -1: nothing is seen */
	int signals;
	struct signals mask;
};

/* Run the command; its exit status.  jobs, fifo, plain and verbose are set. */
int server_run(struct server *server, char **argv);

#endif /* WEIR_CMD_JOBSERVER_H */
