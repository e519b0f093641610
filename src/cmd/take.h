/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_TAKE_H
#define WEIR_CMD_TAKE_H

/* Taking permits on the command line: what run and hold have in common. */
#include "cmd/cmd.h"
#include "cmd/job.h"

struct take {
	const char *name;
	const char *label;
	int64_t capacity;	/* -1: it has to be there */
	int64_t weight;
	int64_t timeout_ns;	/* WEIR_FOREVER: none */
	int impatient;		/* -E: instead of 75 and 124; -1: those */
	bool try;
	bool quiet;		/* run -q: silent also when it is not its turn */
	bool timed;		/* -t was given */
	bool nested;
	bool shared;
};

#define TAKE_INIT                                                              \
	{ .capacity = -1, .weight = 1, .impatient = -1,                        \
	  .timeout_ns = WEIR_FOREVER }

/* Its options, for those of the subcommand; values are below 300. */
enum { TAKE_NESTED = 256, TAKE_TRY, TAKE_SHARED };
#define TAKE_SHORTS "n:w:t:E:l:"
#define TAKE_LONGS                                                             \
	{ "capacity", required_argument, NULL, 'n' },                          \
	{ "weight", required_argument, NULL, 'w' },                            \
	{ "timeout", required_argument, NULL, 't' },                           \
	{ "try", no_argument, NULL, TAKE_TRY },                                \
	{ "nested", no_argument, NULL, TAKE_NESTED },                          \
	{ "exit-code", required_argument, NULL, 'E' },                         \
	{ "label", required_argument, NULL, 'l' },                             \
	{ "shared", no_argument, NULL, TAKE_SHARED }

/* One option that cmd_option found; false: it is none of these. */
bool take_option(const struct cmd *self, struct take *take, int option);
/* When all were seen: is it possible? */
void take_check(const struct cmd *self, struct take *take);

/* Open or make it. */
weir_named *take_open(const struct take *take);
/*
 * Take the permits.  Signals that end a wait are let in for that time; *told
 * is the one that came, or 0.  If one came and OK is returned as well, the
 * permits are there and not wanted.
 */
weir_err take_permits(const struct take *take, weir_named *sem,
		      const struct signals *signals, int *told);
/* Why there were none, in a line; the exit status.  Uses errno. */
int take_refused(const struct take *take, weir_named *sem, weir_err err);

#endif /* WEIR_CMD_TAKE_H */
