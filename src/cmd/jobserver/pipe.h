/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_JOBSERVER_PIPE_H
#define WEIR_CMD_JOBSERVER_PIPE_H

/* The pipe or fifo of the tokens. */

struct token_pipe {
	int fd;			/* the server's own read end; non-blocking */
	int reads, writes;	/* inherited by the clients; fifo: -1 */
	char folder[64], path[80];	/* of the fifo; "": a pipe */
	char auth[96];		/* the value of --jobserver-auth */
};

/*
 * Create the pipe or the fifo.  Both functions exit with a message on error.
 * The fifo is removed at exit.
 */
void pipe_make(struct token_pipe *tokens);
void pipe_make_fifo(struct token_pipe *tokens);

#endif /* WEIR_CMD_JOBSERVER_PIPE_H */
