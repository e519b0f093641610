/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_LIB_BUS_H
#define WEIR_CMD_LIB_BUS_H

/*
 * SIGBUS: a process with write permission has truncated the file of a semaphore
 * that this process has mapped.
 */

/* Let SIGBUS print a message and end the process with EXIT_DAMAGED. */
void bus_install(void);
/* Let SIGBUS also set *flag, which may be in memory of several processes. */
void bus_set(_Atomic int *flag);

#endif /* WEIR_CMD_LIB_BUS_H */
