/* SPDX-License-Identifier: MIT */
/* weir wait: until nobody holds, or until so many are free. */
#include <stdlib.h>

#include "cmd/job.h"
#include "weir/ctx.h"

enum { OPT_IDLE = 256, OPT_FREE, OPT_SHARED, OPT_NESTED };

static const struct option longs[] = {
	CMD_HELP,
	{ "idle", no_argument, NULL, OPT_IDLE },
	{ "free", required_argument, NULL, OPT_FREE },
	{ "timeout", required_argument, NULL, 't' },
	{ "exit-code", required_argument, NULL, 'E' },
	{ "nested", no_argument, NULL, OPT_NESTED },
	{ "shared", no_argument, NULL, OPT_SHARED },
	CMD_OPTIONS_END
};

weir_err cmd_wait_idle(weir_named *sem, int64_t timeout_ns)
{
	weir_named_info info;
	weir_ctx ctx;
	weir_err err = weir_named_stat(sem, &info, NULL, 0);

	/* A time that is over before the wait ends no more than a wait. */
	if (err || !(info.held || info.granted))
		return err;
	err = weir_ctx_init(&ctx, NULL, timeout_ns == WEIR_FOREVER ?
			    WEIR_FOREVER : weir_deadline_after(timeout_ns));
	if (err)
		return err;
	err = weir_named_wait_idle(sem, &ctx);
	/* Nothing is below it, so nothing can be in the way. */
	(void)!weir_ctx_destroy(&ctx);
	return err;
}

/* Its turn comes, and goes to the next. */
static weir_err wait_free(weir_named *sem, int64_t n, int64_t timeout_ns)
{
	weir_err err = weir_named_acquire_for(sem, n, timeout_ns);

	if (!err)
		weir_named_release(sem, n);
	return err;
}

static int run(const struct cmd *self, int argc, char **argv)
{
	const char *name = NULL, *given = getenv("WEIR_TIMEOUT");
	weir_named_opts opts = { .label = "weir wait" };
	int64_t free_wanted = -1, timeout_ns = WEIR_FOREVER;
	int option, impatient = EXIT_TIMEOUT;
	bool idle = false, timed = false, nested = false;
	weir_named *sem;
	weir_err err;

	while ((option = cmd_option(self, argc, argv, "t:E:", longs)) != -1) {
		if (option == 1)
			cmd_take_name(self, optarg, &name);
		else if (option == 't') {
			timeout_ns = cmd_duration(self, "-t", optarg);
			timed = true;
		} else if (option == 'E')
			impatient = (int)cmd_count(self, "-E", optarg, 0, 255);
		else if (option == OPT_IDLE)
			idle = true;
		else if (option == OPT_NESTED)
			nested = true;
		else if (option == OPT_SHARED)
			opts.flags |= WEIR_NAMED_SHARED;
		else
			free_wanted = cmd_count(self, "--free", optarg, 0,
						WEIR_SEM_MAX);
	}
	for (; optind < argc; optind++)
		cmd_take_name(self, argv[optind], &name);
	if (!name)
		cmd_misuse(self, "wait: which semaphore?");
	if (idle == (free_wanted >= 0))
		cmd_misuse(self, "wait: for what? --idle, or --free N");
	if (!nested && held_has(name))
		cmd_misuse(self, "wait: this runs under %s already, and would "
			   "wait for itself; --nested if that is meant", name);
	if (!timed && given && *given)
		timeout_ns = cmd_duration(self, "WEIR_TIMEOUT", given);
	sem = cmd_open(name, &opts);
	err = idle ? cmd_wait_idle(sem, timeout_ns) :
		     wait_free(sem, free_wanted, timeout_ns);
	if (err == WEIR_ETIMEDOUT) {
		char holder[HOLDER_ROOM], time[DURATION_ROOM];
		const char *who = wait_holder(sem, holder);

		cmd_say("%s: not within %s%s%s", name,
			duration_text(timeout_ns, time), *who ? "; " : "", who);
		return impatient;
	}
	if (err)
		cmd_fail(name, err, NULL);
	return EXIT_SUCCESS;
}

const struct cmd cmd_wait = {
	.name = "wait",
	.summary = "wait until nobody holds, or until permits are free",
	.help =
"usage: weir wait NAME --idle | --free N [-t TIME]\n"
"\n"
"      --idle           until everything that was taken is back\n"
"      --free=N         until N permits are free; stands in the queue for it,\n"
"                       and those who come later wait behind it\n"
"  -t, --timeout=TIME   no longer than this (else $WEIR_TIMEOUT); 124 then\n"
"  -E, --exit-code=N    N instead of 124\n"
"      --nested         also under a NAME that is in $WEIR_HELD already\n"
"      --shared         for a semaphore that other users may use as well\n"
"  -h, --help           this text\n",
	.run = run,
};
