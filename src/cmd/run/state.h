/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_RUN_STATE_H
#define WEIR_CMD_RUN_STATE_H

/* State that the wrapper and the guardian share. */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cmd/lib/acquire_opts.h"

struct run_opts {
	struct acquire_opts acquire;
	char **command;
	int64_t kill_after_ns;	/* -1: SIGKILL without SIGTERM before it */
	bool keep;		/* --orphan keep */
	bool had_children;	/* weir had children when it was started */
};

enum run_phase { RUN_WAITS, RUN_GRANTED };

/* Memory that is mapped by both processes. */
struct run_shared {
	_Atomic int phase;	/* of the guardian */
	_Atomic int drawing;	/* the wrapper is writing its line */
	_Atomic int drawn;	/* the line is on the terminal */
	_Atomic pid_t job;	/* signalled only if it is a child */
	_Atomic int outlives;	/* the job survives the guardian */
	_Atomic int damaged;	/* the guardian ended because of SIGBUS */
	/* For interrupt.c. */
	_Atomic int sent, taken;	/* counts of signals from processes */
	_Atomic int last_sent;		/* the last of these signals */
	_Atomic uint64_t from_terminal;	/* set of signals of the terminal */
	_Atomic int answered;		/* the wrapper has got SIG_STARTING */
	_Atomic int ended_job;		/* the signal that ended the job; or 0 */
};

#endif /* WEIR_CMD_RUN_STATE_H */
