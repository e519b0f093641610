/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_JOBSERVER_ORPHANS_H
#define WEIR_CMD_JOBSERVER_ORPHANS_H

/* The orphans among our children: processes that were reparented to us. */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Record the existing children.  Called before the command is started. */
void orphans_init(void);
/*
 * Returns the number of orphans: all children except the command and the
 * recorded children.  A zombie counts; its own children are counted after it
 * has been reaped.
 */
int64_t orphans_count(void);
/*
 * Reap all zombies.  Returns true if the command is among them, with its status
 * in *status.
 */
bool orphans_reap(pid_t command, int *status);

#endif /* WEIR_CMD_JOBSERVER_ORPHANS_H */
