/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_LIB_PROCESS_H
#define WEIR_CMD_LIB_PROCESS_H

/* Exit statuses of processes, and their inherited descriptors. */

/* Returns the exit status of weir for a status of waitpid. */
int process_exit_status(int status);
/*
 * Close all descriptors from 3 on, except these two.  A process that outlives
 * the command which the user started calls this: it must not keep open the
 * pipes and locks that were inherited from the user's shell.
 */
void process_close_others(int one, int other);

#endif /* WEIR_CMD_LIB_PROCESS_H */
