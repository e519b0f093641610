/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_DIAG_KIN_H
#define WEIR_CMD_DIAG_KIN_H

/* Facts from /proc about processes that hold or wait. */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Returns the parent of a process; 0 if it is not known. */
pid_t kin_parent(pid_t pid);
/* Returns the number of threads of a process; 0 if it is not known. */
unsigned kin_threads(pid_t pid);
/*
 * Returns true if the process only waits for this child: it has no other child,
 * and it is a `weir` command or inside wait(2).
 */
bool kin_awaits(pid_t pid, pid_t child);
/* Returns the inode of the PID namespace of this process. */
uint64_t kin_namespace(void);

#endif /* WEIR_CMD_DIAG_KIN_H */
