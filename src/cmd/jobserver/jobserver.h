/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_JOBSERVER_JOBSERVER_H
#define WEIR_CMD_JOBSERVER_JOBSERVER_H

/*
 * weir jobserver.  docs/design/jobserver.md describes the mechanism.
 *
 *     jobserver.c       options
 *     server.c          starting the command, and the event loop
 *     pipe.c            the pipe or fifo of the tokens
 *     pool.c            which client has how many tokens
 *     orphans.c         the orphans among our children
 *     flags.c           MAKEFLAGS, and the -j of a make
 *     ninja.c           which ninja takes tokens
 *     filter.c          the seccomp filter of the command
 *     seccomp_notify.c  answering the system calls that the filter stops
 *     pass.c            passing a descriptor between processes
 */
#include "cmd/lib/command.h"

extern const struct cmd cmd_jobserver;

#endif /* WEIR_CMD_JOBSERVER_JOBSERVER_H */
