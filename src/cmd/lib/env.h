/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_LIB_ENV_H
#define WEIR_CMD_LIB_ENV_H

/*
 * The environment of a job, which lists the permits under which the job runs.
 */
#include <stdbool.h>
#include <stdint.h>

#include "cmd/lib/command.h"

/*
 * Exit if this process runs under a permit of the semaphore: the subcommand
 * would wait for itself.
 */
void env_refuse_held(const struct cmd *self, const char *name);
/*
 * Set WEIR_HELD, WEIR_TOKEN, WEIR_WEIGHT and WEIR_WAITED_MS, and make WEIR_DIR
 * absolute.
 */
void env_export(const char *name, const char *token, int64_t weight,
		int64_t waited_ns);

#endif /* WEIR_CMD_LIB_ENV_H */
