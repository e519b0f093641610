/* SPDX-License-Identifier: MIT */
/* The options of subcommands that acquire permits: run and hold. */
#include <string.h>

#include "cmd/lib/acquire_opts.h"
#include "cmd/lib/env.h"
#include "cmd/lib/fail.h"
#include "weir/named.h"

bool acquire_opts_set(const struct cmd *self, struct acquire_opts *opts,
		      int option)
{
	switch (option) {
	case 'n':
		opts->capacity = options_count(self, "-n", optarg, 1,
					       WEIR_SEM_MAX);
		return true;
	case 'w':
		opts->weight = options_count(self, "-w", optarg, 1,
					     WEIR_SEM_MAX);
		return true;
	case 't':
		opts->timeout_ns = options_duration(self, "-t", optarg);
		opts->timed = true;
		return true;
	case 'E':
		opts->busy_status = (int)options_count(self, "-E", optarg, 0,
						       255);
		return true;
	case 'l':
		opts->label = optarg;
		return true;
	case ACQUIRE_TRY:
		opts->try = true;
		return true;
	case ACQUIRE_NESTED:
		opts->nested = true;
		return true;
	case ACQUIRE_SHARED:
		opts->shared = true;
		return true;
	default:
		return false;
	}
}

void acquire_opts_check(const struct cmd *self, struct acquire_opts *opts)
{
	if (!opts->name)
		cmd_misuse(self, "%s: NAME is missing", self->name);
	if (opts->try && opts->timed)
		cmd_misuse(self, "%s: -t and --try exclude each other",
			   self->name);
	if (!opts->timed)
		opts->timeout_ns = options_env_timeout(self, opts->timeout_ns);
	if (opts->label && strlen(opts->label) > WEIR_NAMED_LABEL_MAX)
		cmd_misuse(self, "%s: --label: longer than %d bytes",
			   self->name, WEIR_NAMED_LABEL_MAX);
	if (!opts->nested)
		env_refuse_held(self, opts->name);
}

bool acquire_opts_exceed(const struct acquire_opts *opts)
{
	return opts->capacity >= 0 && opts->weight > opts->capacity;
}

void acquire_opts_refuse(const struct acquire_opts *opts, const char *name)
{
	cmd_die(EXIT_MISUSE, "%s: a weight of %lld exceeds the capacity, %lld "
		"(-n)", name, (long long)opts->weight,
		(long long)opts->capacity);
}
