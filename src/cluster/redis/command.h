/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CLUSTER_REDIS_COMMAND_H
#define WEIR_CLUSTER_REDIS_COMMAND_H

/* A command of Redis, and its form in the protocol. */
#include <stddef.h>
#include <stdint.h>

#define COMMAND_ARGS 128

/* Arguments are NUL-terminated texts. */
struct command {
	const char *args[COMMAND_ARGS];
	int count;
};

/* Returns the size of a buffer that is sufficient for the command. */
size_t weir_cl_command_size_(const struct command *command);
/* Write the command.  Returns its end. */
char *weir_cl_command_write_(const struct command *command, char *to);
/* Write the digits of the number, at most 20.  Returns their end. */
char *weir_cl_decimal_(char *to, uint64_t number);

#endif /* WEIR_CLUSTER_REDIS_COMMAND_H */
