/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_JOBSERVER_PIPE_H
#define WEIR_CMD_JOBSERVER_PIPE_H

/* The pipe or fifo of the tokens. */
#include <limits.h>

struct token_pipe {
	int fd;			/* the server's own read end; non-blocking */
	int reads, writes;	/* inherited by the clients; fifo: -1 */
	char folder[PATH_MAX];	/* of the fifo; "": a pipe */
	char path[PATH_MAX + 8];
	char auth[PATH_MAX + 16];	/* the value of --jobserver-auth */
};

/*
 * Create the pipe or the fifo.  Both functions exit with a message on error.
 * The fifo is removed at exit.
 */
void pipe_make(struct token_pipe *tokens);
void pipe_make_fifo(struct token_pipe *tokens);

#endif /* WEIR_CMD_JOBSERVER_PIPE_H */
