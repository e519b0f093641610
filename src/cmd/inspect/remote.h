/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_INSPECT_REMOTE_H
#define WEIR_CMD_INSPECT_REMOTE_H

/* Examining semaphores between machines. */
#include <stdint.h>

#include "weir/named.h"

/*
 * Read a snapshot in the form of a local semaphore, or exit with a message.
 * The caller frees the entries.
 */
void remote_snapshot(const char *url, weir_named_info *info,
		     weir_named_entry **entries);
/* Print the findings about the engine.  Returns the exit status. */
int remote_doctor(const char *url);
/*
 * Wait until no permit is held (free_wanted < 0), or until free_wanted permits
 * are free.  Returns the exit status.
 */
int remote_wait(const char *url, int64_t free_wanted, int64_t timeout_ns,
		int timeout_status);
/*
 * Call fn for each semaphore below the URL of a server: its name, its URL and a
 * snapshot; or the reason why it cannot be read.
 */
typedef void remote_each_fn(const char *name, const char *url,
			    const weir_named_info *info,
			    const weir_named_entry *entries, const char *why,
			    void *user);
void remote_each(const char *url, remote_each_fn *fn, void *user);

#endif /* WEIR_CMD_INSPECT_REMOTE_H */
