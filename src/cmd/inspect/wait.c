/* SPDX-License-Identifier: MIT */
/* weir wait: wait until no permit is held, or until N permits are free. */
#include <stdbool.h>
#include <stdlib.h>

#include "cmd/inspect/inspect.h"
#include "cmd/inspect/remote.h"
#include "cmd/lib/describe_holder.h"
#include "cmd/lib/duration.h"
#include "cmd/lib/env.h"
#include "cmd/lib/fail.h"
#include "cmd/lib/options.h"
#include "cmd/lib/remote.h"
#include "cmd/lib/semaphore.h"

enum { OPT_IDLE = 256, OPT_FREE, OPT_SHARED, OPT_NESTED };

static const struct option longs[] = {
	OPTIONS_HELP,
	{ "idle", no_argument, NULL, OPT_IDLE },
	{ "free", required_argument, NULL, OPT_FREE },
	{ "timeout", required_argument, NULL, 't' },
	{ "exit-code", required_argument, NULL, 'E' },
	{ "nested", no_argument, NULL, OPT_NESTED },
	{ "shared", no_argument, NULL, OPT_SHARED },
	OPTIONS_END
};

/* Acquire the permits and release them at once. */
static weir_err wait_free(weir_named *sem, int64_t n, int64_t timeout_ns)
{
	weir_err err = weir_named_acquire_for(sem, n, timeout_ns);

	if (!err)
		weir_named_release(sem, n);
	return err;
}

struct wait_opts {
	const char *name;
	int64_t free_wanted;	/* --free; -1: not given */
	int64_t timeout_ns;
	int timeout_status;	/* -E */
	bool idle, timed, nested;
	weir_named_opts open;
};

static void set_option(const struct cmd *self, struct wait_opts *opts,
		       int option)
{
	switch (option) {
	case 't':
		opts->timeout_ns = options_duration(self, "-t", optarg);
		opts->timed = true;
		break;
	case 'E':
		opts->timeout_status = (int)options_count(self, "-E", optarg,
							  0, 255);
		break;
	case OPT_IDLE:
		opts->idle = true;
		break;
	case OPT_FREE:
		opts->free_wanted = options_count(self, "--free", optarg, 0,
						  WEIR_SEM_MAX);
		break;
	case OPT_NESTED:
		opts->nested = true;
		break;
	case OPT_SHARED:
		opts->open.flags |= WEIR_NAMED_SHARED;
		break;
	default:
		options_name(self, optarg, &opts->name);
	}
}

static void parse_options(const struct cmd *self, struct wait_opts *opts,
			  int argc, char **argv)
{
	int option;

	while ((option = options_next(self, argc, argv, "t:E:", longs)) != -1)
		set_option(self, opts, option);
	options_required(self, argc, argv, &opts->name, "NAME");
	if (opts->idle && opts->free_wanted >= 0)
		cmd_misuse(self, "wait: --idle and --free exclude each other");
	if (!opts->idle && opts->free_wanted < 0)
		cmd_misuse(self, "wait: either --idle or --free N is required");
	if (!opts->nested)
		env_refuse_held(self, opts->name);
	if (!opts->timed)
		opts->timeout_ns = options_env_timeout(self, opts->timeout_ns);
}

static void print_timeout(const struct wait_opts *opts, weir_named *sem)
{
	char room[HOLDER_ROOM], time[DURATION_ROOM];
	const char *holder = describe_holder(sem, room);

	cmd_message("%s: timed out after %s%s%s", opts->name,
		    duration_text(opts->timeout_ns, time),
		    *holder ? "; " : "", holder);
}

static int run(const struct cmd *self, int argc, char **argv)
{
	struct wait_opts opts = { .free_wanted = -1,
				  .timeout_ns = WEIR_FOREVER,
				  .timeout_status = EXIT_TIMEOUT,
				  .open = { .label = "weir wait" } };
	weir_named *sem;
	weir_err err;

	parse_options(self, &opts, argc, argv);
	if (remote_url(opts.name)) {
		remote_refuse_password(opts.name);
		return remote_wait(remote_url(opts.name), opts.free_wanted,
				   opts.timeout_ns, opts.timeout_status);
	}
	sem = semaphore_open(opts.name, &opts.open);
	err = opts.idle ? semaphore_wait_idle(sem, opts.timeout_ns) :
			  wait_free(sem, opts.free_wanted, opts.timeout_ns);
	if (err == WEIR_ETIMEDOUT) {
		print_timeout(&opts, sem);
		return opts.timeout_status;
	}
	if (err == WEIR_ETOOBIG) {
		semaphore_print_too_big(opts.name, sem, "--free",
					opts.free_wanted);
		return EXIT_MISUSE;
	}
	if (err)
		cmd_fail(opts.name, err, NULL);
	return EXIT_SUCCESS;
}

const struct cmd cmd_wait = {
	.name = "wait",
	.summary = "wait until a semaphore is idle, or until permits are free",
	.help =
"usage: weir wait NAME --idle | --free N [-t TIME]\n"
"\n"
"Waits until the semaphore NAME is idle, or has free permits.\n"
"\n"
"      --idle           wait until no permit is held\n"
"      --free=N         wait until N permits are free; the request waits in the\n"
"                       queue, and later requests wait behind it\n"
"  -t, --timeout=TIME   wait at most TIME (default: $WEIR_TIMEOUT); 124 then\n"
"  -E, --exit-code=N    exit with N instead of 124\n"
"      --nested         allow a NAME that is in $WEIR_HELD\n"
"      --shared         allow a semaphore that other users can use\n"
"  -h, --help           print this text\n",
	.run = run,
};
