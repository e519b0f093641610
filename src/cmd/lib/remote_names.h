/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_LIB_REMOTE_NAMES_H
#define WEIR_CMD_LIB_REMOTE_NAMES_H

/* All semaphores of a server. */
#include "weir/cluster.h"

/*
 * For each semaphore below the URL of a server: open it, call `read`, then
 * `done` with its name and its URL, and with null or the reason why it cannot be
 * read, and close it.  A semaphore that was removed meanwhile is left out.  Exits
 * with a message if the error concerns the server.
 *
 * Returns the number of semaphores after the first `max` ones, which are not
 * opened.
 */
typedef weir_err remote_read_fn(weir_cluster *c, void *user);
typedef void remote_done_fn(const char *name, const char *url, const char *why,
			    void *user);
size_t remote_names_each(const char *url, size_t max, remote_read_fn *read,
			 remote_done_fn *done, void *user);

#endif /* WEIR_CMD_LIB_REMOTE_NAMES_H */
