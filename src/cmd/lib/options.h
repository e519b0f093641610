/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_LIB_OPTIONS_H
#define WEIR_CMD_LIB_OPTIONS_H

/* Parsing of options and their values.  All errors exit with EXIT_MISUSE. */
#include <getopt.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/lib/command.h"

/* The first and the last element of the array of long options. */
#define OPTIONS_HELP { "help", no_argument, NULL, 'h' }
#define OPTIONS_END { NULL, 0, NULL, 0 }

/*
 * Works as getopt_long, but prints the messages of weir.  Handles --help.
 *
 * Returns 1 for an argument that is not an option, with the argument in optarg.
 * Returns -1 after "--" or the last argument; argv[optind] is then the first
 * argument that was not examined.
 */
int options_next(const struct cmd *self, int argc, char **argv,
		 const char *shorts, const struct option *longs);
/*
 * Returns the value of an option as a number in [min, max].  `what` is the name
 * of the option, such as "-n".
 */
int64_t options_count(const struct cmd *self, const char *what,
		      const char *text, int64_t min, int64_t max);
/* Returns the value of an option as a duration in nanoseconds. */
int64_t options_duration(const struct cmd *self, const char *what,
			 const char *text);
/* Returns $WEIR_TIMEOUT in nanoseconds, or `otherwise` if it is not set. */
int64_t options_env_timeout(const struct cmd *self, int64_t otherwise);

/*
 * Functions for subcommands that take options and one name.
 *
 * options_name stores an argument in *name; a second name is an error.
 * options_rest does the same for all arguments from optind on.
 * options_required does that too, and requires that a name was given; `what` is
 * the kind of name, for the message.
 */
void options_name(const struct cmd *self, const char *text, const char **name);
void options_rest(const struct cmd *self, int argc, char **argv,
		  const char **name);
void options_required(const struct cmd *self, int argc, char **argv,
		      const char **name, const char *what);

#endif /* WEIR_CMD_LIB_OPTIONS_H */
