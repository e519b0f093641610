/* SPDX-License-Identifier: MIT */
/* weir open: a semaphore that is there and open. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "cmd/job.h"

enum { OPT_SHARED = 256, OPT_FAST };

/* Who may use it: those who may now. */
static uint32_t mode_of(const char *name, uint32_t otherwise)
{
	char path[PATH_MAX];
	struct stat info;

	return weir_named_path(name, path, sizeof(path)) ||
			       stat(path, &info) || !(info.st_mode & 0666) ?
		       otherwise : info.st_mode & 0666;
}

/*
 * A closed one stays closed: another takes its name, when everything of the old
 * one is back, or there would be more out than the limit.
 */
static int open_again(const char *name, weir_named *old, int64_t timeout_ns,
		      weir_named_opts *opts)
{
	weir_named_info info;
	weir_named *sem;
	weir_err err;

	/* One that was closed to be drained might give more. */
	weir_named_close(old, WEIR_CLOSE_NOW);
	err = cmd_wait_idle(old, timeout_ns);
	if (err == WEIR_ETIMEDOUT)
		return cmd_busy(name, old, EXIT_TIMEOUT);
	if (!err)
		err = weir_named_stat(old, &info, NULL, 0);
	if (err)
		cmd_fail(name, err, NULL);
	if (opts->capacity < 0)
		opts->capacity = info.capacity;
	opts->policy = info.policy;
	opts->mode = mode_of(name, opts->mode);
	err = weir_named_unlink_handle(old);
	if (err && errno != ESTALE)
		cmd_fail(name, err, NULL);
	opts->flags |= WEIR_NAMED_CREATE;
	sem = cmd_open_or_make(name, opts);
	(void)!weir_named_close_handle(sem);
	return EXIT_SUCCESS;
}

/*
 * One that has to be there.  Another open may be between taking the old name
 * away and making the new one; that takes microseconds.
 */
static weir_named *open_existing(const char *name, const weir_named_opts *opts)
{
	static const struct timespec pause = { 0, 2000000 };
	weir_named *sem;

	for (int i = 0; i < 25; i++) {
		weir_err err = weir_named_open(name, opts, &sem);

		if (!err)
			return sem;
		if (err != WEIR_ESYSTEM || errno != ENOENT)
			break;
		(void)nanosleep(&pause, NULL);
	}
	/* Says why not. */
	return cmd_open_or_make(name, opts);
}

static int run_open(const struct cmd *self, int argc, char **argv)
{
	static const struct option longs[] = {
		CMD_HELP,
		{ "capacity", required_argument, NULL, 'n' },
		{ "timeout", required_argument, NULL, 't' },
		{ "fast", no_argument, NULL, OPT_FAST },
		{ "shared", no_argument, NULL, OPT_SHARED },
		CMD_OPTIONS_END
	};
	weir_named_opts opts = { .capacity = -1, .label = "weir open",
				 .policy = WEIR_NAMED_STRICT };
	int64_t timeout_ns = WEIR_FOREVER, wanted;
	const char *name = NULL;
	weir_named *sem;
	int option;

	while ((option = cmd_option(self, argc, argv, "n:t:", longs)) != -1) {
		if (option == 'n')
			opts.capacity = cmd_count(self, "-n", optarg, 0,
						  WEIR_SEM_MAX);
		else if (option == 't')
			timeout_ns = cmd_duration(self, "-t", optarg);
		else if (option == OPT_FAST)
			opts.policy = WEIR_NAMED_FAST;
		else if (option == OPT_SHARED)
			opts.flags |= WEIR_NAMED_SHARED;
		else
			cmd_take_name(self, optarg, &name);
	}
	for (; optind < argc; optind++)
		cmd_take_name(self, argv[optind], &name);
	if (!name)
		cmd_misuse(self, "open: which semaphore?");
	if (opts.flags & WEIR_NAMED_SHARED)
		opts.mode = 0666;
	wanted = opts.capacity;
	if (wanted >= 0)
		opts.flags |= WEIR_NAMED_CREATE;
	else
		opts.capacity = 0;
	sem = wanted < 0 ? open_existing(name, &opts) :
			   cmd_open_or_make(name, &opts);
	opts.capacity = wanted;
	return weir_named_is_closed(sem) ?
		       open_again(name, sem, timeout_ns, &opts) : EXIT_SUCCESS;
}

const struct cmd cmd_open_ = {
	.name = "open",
	.summary = "make a semaphore, or open a closed one again",
	.help =
"usage: weir open NAME [-n N] [-t TIME]\n"
"\n"
"Makes the semaphore NAME if it is not there.  One that was closed is replaced by\n"
"a new one, as soon as all that ran under the old one has ended.  An open one\n"
"stays as it is.\n"
"\n"
"  -n, --capacity=N     with N permits; needed to make one, else as it was\n"
"  -t, --timeout=TIME   wait no longer than this for the old one; 124 then\n"
"      --fast           if it is made: permits of the dead are free at once, not\n"
"                       when the last of them is gone\n"
"      --shared         other users may use it as well\n"
"  -h, --help           this text\n",
	.run = run_open,
};
