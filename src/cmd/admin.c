/* SPDX-License-Identifier: MIT */
/* weir resize, close and rm. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/job.h"

enum { OPT_DRAIN = 256, OPT_SHARED };

#define SHARED_LONG { "shared", no_argument, NULL, OPT_SHARED }

static int run_resize(const struct cmd *self, int argc, char **argv)
{
	static const struct option longs[] = { CMD_HELP, SHARED_LONG,
					       CMD_OPTIONS_END };
	const char *words[2] = { NULL, NULL };
	weir_named_opts opts = { .label = "weir resize" };
	int64_t debt, capacity;
	int option, count = 0;
	weir_named *sem;
	weir_err err;

	while ((option = cmd_option(self, argc, argv, "", longs)) != -1) {
		if (option == OPT_SHARED)
			opts.flags |= WEIR_NAMED_SHARED;
		else if (count < 2)
			words[count++] = optarg;
		else
			cmd_misuse(self, "resize: \"%s\" is too much", optarg);
	}
	for (; optind < argc && count < 2; optind++)
		words[count++] = argv[optind];
	if (count < 2 || optind < argc)
		cmd_misuse(self, "resize: a name and a number");
	capacity = cmd_count(self, "capacity", words[1], 0, WEIR_SEM_MAX);
	sem = cmd_open(words[0], &opts);
	err = weir_named_resize(sem, capacity, &debt);
	if (err)
		cmd_fail(words[0], err, NULL);
	if (debt)
		cmd_say("%s: %lld more than that are out still; none is given "
			"until they are back", words[0], (long long)debt);
	return EXIT_SUCCESS;
}

static int run_close(const struct cmd *self, int argc, char **argv)
{
	static const struct option longs[] = {
		CMD_HELP, SHARED_LONG,
		{ "drain", required_argument, NULL, OPT_DRAIN },
		CMD_OPTIONS_END
	};
	weir_named_opts opts = { .label = "weir close" };
	const char *name = NULL;
	int64_t drain_ns = -1;
	weir_named *sem;
	weir_err err;
	int option;

	while ((option = cmd_option(self, argc, argv, "", longs)) != -1) {
		if (option == OPT_SHARED)
			opts.flags |= WEIR_NAMED_SHARED;
		else if (option == OPT_DRAIN)
			drain_ns = cmd_duration(self, "--drain", optarg);
		else
			cmd_take_name(self, optarg, &name);
	}
	for (; optind < argc; optind++)
		cmd_take_name(self, argv[optind], &name);
	if (!name)
		cmd_misuse(self, "close: which semaphore?");
	sem = cmd_open(name, &opts);
	weir_named_close(sem, WEIR_CLOSE_NOW);
	if (drain_ns < 0)
		return EXIT_SUCCESS;
	err = cmd_wait_idle(sem, drain_ns);
	if (err == WEIR_ETIMEDOUT)
		return cmd_busy(name, sem, EXIT_TIMEOUT);
	if (err)
		cmd_fail(name, err, NULL);
	return EXIT_SUCCESS;
}

/* Whether somebody else has permits, or asks for some. */
static bool is_used(const weir_named_info *info,
		    const weir_named_entry *entries)
{
	for (uint32_t i = 0; i < info->entries; i++)
		if (!entries[i].mine && entries[i].role != WEIR_NAMED_IDLE)
			return true;
	return false;
}

/*
 * Take all that there are, so that nobody can get one, and then look who else
 * is there: with a capacity of 0 there are none to take, but what was out when
 * it was made smaller may be out still.
 */
static weir_err take_all(weir_named *sem, bool *used)
{
	weir_named_entry *entries;
	weir_named_info info;
	weir_err err = weir_named_stat(sem, &info, NULL, 0);

	*used = false;
	if (!err && !info.closed)
		err = weir_named_try_acquire(sem, info.capacity);
	if (err == WEIR_EAGAIN)
		*used = true;
	if (err)
		return *used ? WEIR_OK : err;
	err = cmd_look(sem, &info, &entries);
	if (!err)
		*used = is_used(&info, entries);
	free(entries);
	return err;
}

static int run_rm(const struct cmd *self, int argc, char **argv)
{
	static const struct option longs[] = {
		CMD_HELP, SHARED_LONG, { "force", no_argument, NULL, 'f' },
		CMD_OPTIONS_END
	};
	weir_named_opts opts = { .label = "weir rm" };
	const char *name = NULL;
	bool force = false, used;
	weir_named *sem;
	weir_err err;
	int option;

	while ((option = cmd_option(self, argc, argv, "f", longs)) != -1) {
		if (option == OPT_SHARED)
			opts.flags |= WEIR_NAMED_SHARED;
		else if (option == 'f')
			force = true;
		else
			cmd_take_name(self, optarg, &name);
	}
	for (; optind < argc; optind++)
		cmd_take_name(self, argv[optind], &name);
	if (!name)
		cmd_misuse(self, "rm: which semaphore?");
	if (force) {
		err = weir_named_unlink(name);
		if (err && !(err == WEIR_ESYSTEM && errno == ENOENT))
			cmd_fail(name, err, NULL);
		return EXIT_SUCCESS;
	}
	sem = cmd_open(name, &opts);
	err = take_all(sem, &used);
	if (err)
		cmd_fail(name, err, NULL);
	if (used)
		return cmd_busy(name, sem, EXIT_BUSY);
	err = weir_named_unlink_handle(sem);
	if (err && errno != ESTALE)
		cmd_fail(name, err, NULL);
	/* Last, for this cannot be undone: who came meanwhile is refused. */
	weir_named_close(sem, WEIR_CLOSE_NOW);
	return EXIT_SUCCESS;
}

const struct cmd cmd_resize = {
	.name = "resize",
	.summary = "change the capacity, now",
	.help =
"usage: weir resize NAME N\n"
"\n"
"Gives the semaphore NAME a capacity of N, at once.  If more than that are out,\n"
"none is given until enough are back.\n"
"\n"
"      --shared   for a semaphore that other users may use as well\n"
"  -h, --help     this text\n",
	.run = run_resize,
};

const struct cmd cmd_close = {
	.name = "close",
	.summary = "grant nothing any more",
	.help =
"usage: weir close NAME [--drain TIME]\n"
"\n"
"Everybody who waits, or comes, is refused (69); what runs goes on.  \"weir open\"\n"
"opens it again.\n"
"\n"
"      --drain=TIME   wait until all that runs has ended; 124 if it takes longer\n"
"      --shared       for a semaphore that other users may use as well\n"
"  -h, --help         this text\n",
	.run = run_close,
};

const struct cmd cmd_rm = {
	.name = "rm",
	.summary = "remove a semaphore that nobody uses",
	.help =
"usage: weir rm NAME [-f]\n"
"\n"
"Removes the semaphore NAME; 75 if permits are out or somebody waits.\n"
"\n"
"  -f, --force    take the name away whatever it is; those who have it go on\n"
"                 among themselves, and the next to come makes another\n"
"      --shared   for a semaphore that other users may use as well\n"
"  -h, --help     this text\n",
	.run = run_rm,
};
