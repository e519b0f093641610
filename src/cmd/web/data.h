/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_WEB_DATA_H
#define WEIR_CMD_WEB_DATA_H

/* The state of the processes as JSON. */
#include <stdbool.h>
#include <stdio.h>

struct data_sources {
	char **list;	/* process IDs and files; it ends with null */
	bool all;	/* all processes of this user, and the named semaphores */
};

/*
 * Write one JSON object:
 *
 *     weir       the version
 *     now_ns     CLOCK_MONOTONIC, in nanoseconds
 *     processes  a list of objects as `weir explain --json` prints them; each is
 *                in an object with "what" (its process ID, its file or "named
 *                semaphores") and "model"
 *     failed     a list of the sources that cannot be read: "what", "why", and
 *                "ended": the process does not exist
 *
 * A page_source's function; `user` is the struct data_sources.
 */
bool data_write(FILE *out, void *user);

#endif /* WEIR_CMD_WEB_DATA_H */
