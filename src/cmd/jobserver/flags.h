/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_JOBSERVER_FLAGS_H
#define WEIR_CMD_JOBSERVER_FLAGS_H

/* The number of jobs and the job server, in MAKEFLAGS and in arguments. */
#include <stdbool.h>
#include <stdint.h>

/* Returns true if this value of MAKEFLAGS, or null, has a job server. */
bool flags_have_server(const char *flags);
/*
 * Returns the value of MAKEFLAGS for our job server.  `old` is the value so
 * far, or null; the job server and the number of jobs in it are replaced.  The
 * caller frees the result.
 */
char *flags_with(const char *old, int64_t jobs, const char *auth);
/*
 * Remove -j from the arguments of a make or a ninja, in place.  Returns the
 * last number that was given; 0 if -j has no number; -1 if -j was not given.
 */
int64_t flags_remove_jobs(char **argv);

#endif /* WEIR_CMD_JOBSERVER_FLAGS_H */
