/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_RUN_H
#define WEIR_CMD_RUN_H

/* `weir run`: what the wrapper and the guardian know of each other. */
#include "cmd/take.h"

struct run_opts {
	struct take take;
	char **command;
	int64_t kill_after_ns;	/* -1: no TERM before the KILL */
	bool keep;		/* --orphan keep */
	bool had_children;	/* before it began */
};

enum run_phase { RUN_WAITS, RUN_GRANTED };

/* What wrapper and guardian see of each other: memory that both have. */
struct run_board {
	_Atomic int phase;	/* the guardian's */
	_Atomic int drawing;	/* the wrapper writes its line just now */
	_Atomic int drawn;	/* ... and has */
	_Atomic pid_t job;	/* signalled only if it is our child */
	_Atomic int outlives;	/* the job keeps its permits without anybody */
};

/* guard.c: the guardian, from its fork to the exit status. */
int guard(const struct run_opts *opts, const struct signals *signals,
	  struct run_board *board, pid_t wrapper, pid_t group);

/* progress.c: the line on the terminal while the guardian waits. */
void progress_draw(const struct run_opts *opts, struct run_board *board,
		   pid_t guardian, int64_t since);
/* By the guardian, when its wait is over; takes the line away.  Keeps errno. */
void progress_end(struct run_board *board);

#endif /* WEIR_CMD_RUN_H */
