/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_JOBSERVER_SERVER_H
#define WEIR_CMD_JOBSERVER_SERVER_H

/* The job server: starting the command, and the event loop. */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cmd/jobserver/pipe.h"
#include "cmd/jobserver/pool.h"
#include "cmd/lib/signals.h"

/* The largest number of jobs: a pipe holds this many bytes by default. */
#define JOBS_MAX 32768

struct server {
	int64_t jobs;
	int64_t own_jobs;	/* jobs of the command that need no token */
	bool fifo, plain, verbose;	/* options */
	struct token_pipe tokens;
	struct pool pool;
	pid_t self, command;
	int listener;		/* of the filter; -1: there is no filter */
	int signals;		/* a signalfd */
	bool interrupted;	/* the terminal has sent SIGINT */
	struct signals mask;
};

/*
 * Run the command and return the exit status.
 * Requires: jobs, own_jobs and the options are set.
 */
int server_run(struct server *server, char **argv);

#endif /* WEIR_CMD_JOBSERVER_SERVER_H */
