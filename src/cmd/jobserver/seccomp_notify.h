/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_JOBSERVER_SECCOMP_NOTIFY_H
#define WEIR_CMD_JOBSERVER_SECCOMP_NOTIFY_H

/* Answering the system calls that the filter stops. */
#include "cmd/jobserver/pool.h"

/* Answer one call.  A read of the empty pipe stays pending. */
void seccomp_notify_call(int listener, struct pool *pool);
/* Called when the pipe may have bytes again: answer pending reads. */
void seccomp_notify_pending(int listener, struct pool *pool);
/* Let all calls continue, until no process is left under the filter. */
void seccomp_notify_continue_all(int listener);

#endif /* WEIR_CMD_JOBSERVER_SECCOMP_NOTIFY_H */
