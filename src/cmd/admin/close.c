/* SPDX-License-Identifier: MIT */
/* weir close: close a semaphore, and optionally wait until it is idle. */
#include <stdbool.h>
#include <stdlib.h>

#include "cmd/admin/admin.h"
#include "cmd/admin/remote.h"
#include "cmd/lib/describe_holder.h"
#include "cmd/lib/env.h"
#include "cmd/lib/fail.h"
#include "cmd/lib/options.h"
#include "cmd/lib/remote.h"
#include "cmd/lib/semaphore.h"

enum { OPT_DRAIN = 256, OPT_SHARED, OPT_NESTED };

static int run(const struct cmd *self, int argc, char **argv)
{
	static const struct option longs[] = {
		OPTIONS_HELP, { "shared", no_argument, NULL, OPT_SHARED },
		{ "drain", required_argument, NULL, OPT_DRAIN },
		{ "nested", no_argument, NULL, OPT_NESTED },
		OPTIONS_END
	};
	weir_named_opts opts = { .label = "weir close" };
	const char *name = NULL;
	int64_t drain_ns = -1;
	bool nested = false;
	weir_named *sem;
	weir_err err;
	int option;

	while ((option = options_next(self, argc, argv, "", longs)) != -1) {
		if (option == OPT_SHARED)
			opts.flags |= WEIR_NAMED_SHARED;
		else if (option == OPT_NESTED)
			nested = true;
		else if (option == OPT_DRAIN)
			drain_ns = options_duration(self, "--drain", optarg);
		else
			options_name(self, optarg, &name);
	}
	options_required(self, argc, argv, &name, "NAME");
	if (drain_ns >= 0 && !nested)
		env_refuse_held(self, name);
	if (remote_url(name)) {
		remote_refuse_password(name);
		return remote_close(remote_url(name), drain_ns);
	}
	sem = semaphore_open(name, &opts);
	weir_named_close(sem, WEIR_CLOSE_NOW);
	if (drain_ns < 0)
		return EXIT_SUCCESS;
	err = semaphore_wait_idle(sem, drain_ns);
	if (err == WEIR_ETIMEDOUT)
		return describe_in_use(name, sem, EXIT_TIMEOUT);
	if (err)
		cmd_fail(name, err, NULL);
	return EXIT_SUCCESS;
}

const struct cmd cmd_close = {
	.name = "close",
	.summary = "refuse all further requests",
	.help =
"usage: weir close NAME [--drain TIME]\n"
"\n"
"Closes the semaphore NAME: waiting and later requests are refused (69).  Jobs\n"
"that hold permits continue.  \"weir open\" opens it again.\n"
"\n"
"      --drain=TIME   wait until no permit is held; 124 after TIME\n"
"      --nested       allow --drain for a NAME that is in $WEIR_HELD\n"
"      --shared       allow a semaphore that other users can use\n"
"  -h, --help         print this text\n",
	.run = run,
};
