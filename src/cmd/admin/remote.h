/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_ADMIN_REMOTE_H
#define WEIR_CMD_ADMIN_REMOTE_H

/* Administration of semaphores between machines.  Each returns a status. */
#include <stdbool.h>
#include <stdint.h>

#include "cmd/lib/command.h"

int remote_resize(const char *url, int64_t capacity);
int remote_pause(const char *url, bool pause);
/* drain_ns: how long to wait until no permit is held; -1: not at all. */
int remote_close(const char *url, int64_t drain_ns);
int remote_rm(const char *url);
/*
 * Create the semaphore (capacity >= 0), or replace it if it is closed.  nested:
 * allow that for a name in $WEIR_HELD.
 */
int remote_open_semaphore(const struct cmd *self, const char *name,
			  int64_t capacity, int64_t timeout_ns, bool nested);

#endif /* WEIR_CMD_ADMIN_REMOTE_H */
