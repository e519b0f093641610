/* SPDX-License-Identifier: MIT */
/* weir pause and weir resume: stop granting permits, and grant them again. */
#include <stdlib.h>

#include "cmd/admin/admin.h"
#include "cmd/admin/remote.h"
#include "cmd/lib/fail.h"
#include "cmd/lib/options.h"
#include "cmd/lib/remote.h"
#include "cmd/lib/semaphore.h"

enum { OPT_SHARED = 256 };

static int change(const struct cmd *self, int argc, char **argv,
		  weir_err (*call)(weir_named *sem))
{
	static const struct option longs[] = {
		OPTIONS_HELP, { "shared", no_argument, NULL, OPT_SHARED },
		OPTIONS_END
	};
	bool pauses = call == weir_named_pause;
	weir_named_opts opts = { .label = pauses ? "weir pause" :
						   "weir resume" };
	const char *name = NULL;
	weir_named *sem;
	weir_err err;
	int option;

	while ((option = options_next(self, argc, argv, "", longs)) != -1) {
		if (option == OPT_SHARED)
			opts.flags |= WEIR_NAMED_SHARED;
		else
			options_name(self, optarg, &name);
	}
	options_required(self, argc, argv, &name, "NAME");
	if (remote_url(name)) {
		remote_refuse_password(name);
		return remote_pause(remote_url(name), pauses);
	}
	sem = semaphore_open(name, &opts);
	err = call(sem);
	if (err)
		cmd_fail(name, err, NULL);
	return EXIT_SUCCESS;
}

static int run_pause(const struct cmd *self, int argc, char **argv)
{
	return change(self, argc, argv, weir_named_pause);
}

static int run_resume(const struct cmd *self, int argc, char **argv)
{
	return change(self, argc, argv, weir_named_resume);
}

const struct cmd cmd_pause = {
	.name = "pause",
	.summary = "stop granting permits, and keep the queue",
	.help =
"usage: weir pause NAME\n"
"\n"
"Grants no permit of the semaphore NAME until \"weir resume NAME\".  Jobs that hold\n"
"permits continue.  Requests stay in the queue, and new ones join it.\n"
"\n"
"      --shared   allow a semaphore that other users can use\n"
"  -h, --help     print this text\n",
	.run = run_pause,
};

const struct cmd cmd_resume = {
	.name = "resume",
	.summary = "grant permits again after a pause",
	.help =
"usage: weir resume NAME\n"
"\n"
"Ends a \"weir pause\": permits of the semaphore NAME are granted to the queue, in\n"
"order.\n"
"\n"
"      --shared   allow a semaphore that other users can use\n"
"  -h, --help     print this text\n",
	.run = run_resume,
};
