/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_LIB_ACQUIRE_OPTS_H
#define WEIR_CMD_LIB_ACQUIRE_OPTS_H

/* The options of subcommands that acquire permits: run and hold. */
#include <stdbool.h>
#include <stdint.h>

#include "cmd/lib/options.h"
#include "weir/base.h"

struct acquire_opts {
	const char *name;
	const char *label;
	int64_t capacity;	/* -1: the semaphore must exist */
	int64_t weight;
	int64_t timeout_ns;	/* WEIR_FOREVER: none */
	int busy_status;	/* -E: instead of 75 and 124; -1: not given */
	bool try;
	bool quiet;		/* run -q: no message for 75 and 124 */
	bool timed;		/* -t was given */
	bool nested;
	bool shared;
};

#define ACQUIRE_OPTS_INIT                                                      \
	{ .capacity = -1, .weight = 1, .busy_status = -1,                      \
	  .timeout_ns = WEIR_FOREVER }

/*
 * Parts of the option lists of the subcommand.  The values of the subcommand's
 * own long options are 300 and above.
 */
enum { ACQUIRE_NESTED = 256, ACQUIRE_TRY, ACQUIRE_SHARED };
#define ACQUIRE_SHORTS "n:w:t:E:l:"
#define ACQUIRE_LONGS                                                          \
	{ "capacity", required_argument, NULL, 'n' },                          \
	{ "weight", required_argument, NULL, 'w' },                            \
	{ "timeout", required_argument, NULL, 't' },                           \
	{ "try", no_argument, NULL, ACQUIRE_TRY },                             \
	{ "nested", no_argument, NULL, ACQUIRE_NESTED },                       \
	{ "exit-code", required_argument, NULL, 'E' },                         \
	{ "label", required_argument, NULL, 'l' },                             \
	{ "shared", no_argument, NULL, ACQUIRE_SHARED }

/*
 * Store an option that options_next returned.  Returns false if it is not one
 * of ACQUIRE_LONGS.
 */
bool acquire_opts_set(const struct cmd *self, struct acquire_opts *opts,
		      int option);
/* Check the combination of options, after the last option. */
void acquire_opts_check(const struct cmd *self, struct acquire_opts *opts);
/*
 * Returns true if the weight exceeds the capacity of -n: a semaphore must not be
 * created for a request that it can never grant.  An existing semaphore may have
 * another capacity.
 */
bool acquire_opts_exceed(const struct acquire_opts *opts);
/* Exit because of that. */
_Noreturn void acquire_opts_refuse(const struct acquire_opts *opts,
				   const char *name);

#endif /* WEIR_CMD_LIB_ACQUIRE_OPTS_H */
