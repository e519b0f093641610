/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_LIB_PROCESS_STATE_H
#define WEIR_CMD_LIB_PROCESS_STATE_H

/* States of processes, from /proc. */
#include <stdbool.h>
#include <sys/types.h>

#include "weir/named.h"

struct process {
	pid_t pid, parent;
	char state;		/* as in proc(5) */
	char name[64];
};

/* Returns false if the process does not exist, or /proc is not usable. */
bool process_read(pid_t pid, struct process *process);
/*
 * Returns true if all threads of the process have ended, or it does not exist, or
 * /proc is not usable.  A zombie has ended.
 */
bool process_has_ended(pid_t pid);
/*
 * Returns the obstacle that keeps the process from running: "stopped", "stopped
 * by a debugger" or "frozen" (by its control group); null if it has none, or if
 * that is not known.
 */
const char *process_obstacle(const struct process *process);
/*
 * Returns true if the participant is a process of our own PID namespace, so
 * that its pid is valid here.
 */
bool process_is_here(const weir_named_entry *entry);
/* process_obstacle for the process of a participant; null if it is not here. */
const char *process_obstacle_of(const weir_named_entry *entry);

#endif /* WEIR_CMD_LIB_PROCESS_STATE_H */
