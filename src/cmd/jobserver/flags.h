/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_JOBSERVER_FLAGS_H
#define WEIR_CMD_JOBSERVER_FLAGS_H

/* The number of jobs and the job server, in MAKEFLAGS and in arguments. */
#include <stdint.h>

/*
 * The value of MAKEFLAGS for our job server.  old: the value so far, or null;
 * its job server and number of jobs are replaced.  The caller frees the result.
 */
char *flags_with(const char *old, int64_t jobs, const char *auth);
/*
 * Remove -j from the arguments of a make or a ninja, in place.  Returns the
 * last number that was given; 0: -j without a number; -1: no -j.
 */
int64_t flags_remove_jobs(char **argv);

#endif /* WEIR_CMD_JOBSERVER_FLAGS_H */
