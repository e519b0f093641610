/* SPDX-License-Identifier: MIT */
/* The pipe or fifo of the tokens. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/jobserver/pipe.h"
#include "cmd/lib/fail.h"

/* This number is above the descriptor numbers that shells and programs use. */
#define FD_LEAST 100

/* The fifo to remove at exit. */
static const struct token_pipe *to_remove;

static void remove_fifo(void)
{
	unlink(to_remove->path);
	rmdir(to_remove->folder);
}

static _Noreturn void die(const char *what)
{
	cmd_die(EXIT_WEIR, "jobserver: %s: %s", what, strerror(errno));
}

/*
 * Returns an inheritable copy; it may have any number if the limit of
 * descriptors is low.
 */
static int high_copy(int fd)
{
	int copy = fcntl(fd, F_DUPFD, FD_LEAST);

	return copy < 0 && errno == EINVAL ? fcntl(fd, F_DUPFD, 3) : copy;
}

/*
 * Returns the folder for temporary files.  The path of the fifo is part of a word
 * of MAKEFLAGS.  A blank ends this word, and make expands `$` and removes a
 * backslash; other clients do not.  So a path with such a character cannot be
 * used.
 */
static const char *base_folder(void)
{
	const char *base = getenv("TMPDIR");

	return base && *base == '/' && !base[strcspn(base, " \t\n\v\f\r\\$")] ?
		       base : "/tmp";
}

/*
 * Create a fifo in a new folder, and open it for reading.  Both are removed at
 * exit.
 */
static void create_fifo(struct token_pipe *tokens)
{
	const char *base = base_folder();
	int length = snprintf(tokens->folder, sizeof(tokens->folder),
			      "%s/weir-jobs-XXXXXX", base);

	if (length >= (int)sizeof(tokens->folder)) {
		errno = ENAMETOOLONG;
		die("TMPDIR");
	}
	if (!mkdtemp(tokens->folder))
		die(base);
	(void)snprintf(tokens->path, sizeof(tokens->path), "%s/fifo",
		       tokens->folder);
	to_remove = tokens;
	(void)atexit(remove_fifo);
	if (mkfifo(tokens->path, 0600))
		die(tokens->path);
	tokens->fd = open(tokens->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (tokens->fd < 0)
		die(tokens->path);
}

/*
 * Use a fifo as the pipe: without /proc a pipe cannot be opened again, but a
 * fifo can, by its path.
 */
static void open_ends(struct token_pipe *tokens, int ends[2])
{
	create_fifo(tokens);
	/* Each open finds the other end open, and does not wait. */
	ends[1] = open(tokens->path, O_WRONLY | O_CLOEXEC);
	ends[0] = ends[1] < 0 ? -1 : open(tokens->path, O_RDONLY | O_CLOEXEC);
	if (ends[0] < 0)
		die(tokens->path);
}

/*
 * The server's read end is opened again through /proc.  A dup would share the
 * file description of the clients, and so make their reads non-blocking.
 */
void pipe_make(struct token_pipe *tokens)
{
	char path[40];
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		die("pipe");
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", ends[0]);
	tokens->fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (tokens->fd < 0 && errno == ENOENT) {
		close(ends[0]);
		close(ends[1]);
		open_ends(tokens, ends);
	}
	if (tokens->fd < 0)
		die(path);
	tokens->reads = high_copy(ends[0]);
	tokens->writes = high_copy(ends[1]);
	if (tokens->reads < 0 || tokens->writes < 0)
		die("pipe");
	close(ends[0]);
	close(ends[1]);
	(void)snprintf(tokens->auth, sizeof(tokens->auth), "%d,%d",
		       tokens->reads, tokens->writes);
}

void pipe_make_fifo(struct token_pipe *tokens)
{
	create_fifo(tokens);
	tokens->reads = tokens->writes = -1;
	(void)snprintf(tokens->auth, sizeof(tokens->auth), "fifo:%s",
		       tokens->path);
}
