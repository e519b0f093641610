/* SPDX-License-Identifier: MIT */
/*
 * weir watch: a semaphore as it goes on.
 *
 * Nobody is told when a semaphore changes, which would cost its users; so it is
 * looked at again and again.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/watch.h"

#define LOOK_NS 500000000	/* on a screen; ages are in seconds */
#define SPIN_LINES_NS 100000000	/* for lines, which show changes alone */
#define SPIN_MIN_NS 10000000

int64_t watch_age(const struct watch *watch, const weir_named_entry *entry)
{
	return stat_age(entry, watch->now_ns);
}

/* Who has the name now, if the one that we know has lost it. */
static void follow(struct watch *watch)
{
	weir_named *other;

	if (weir_named_open(watch->name, &watch->opts, &other))
		return;
	if (weir_named_close_handle(watch->sem))
		cmd_die(EXIT_WEIR, "%s: cannot be left", watch->name);
	watch->sem = other;
	watch_look(watch);
}

void watch_look(struct watch *watch)
{
	bool was_renamed = watch->info.renamed;
	weir_err err;

	free(watch->entries);
	err = cmd_look(watch->sem, &watch->info, &watch->entries);
	if (err) {
		int errnum = errno;

		if (watch->leave)
			watch->leave();
		errno = errnum;
		cmd_fail(watch->name, err, NULL);
	}
	watch->now_ns = weir_now_ns();
	/* We are not worth mentioning. */
	watch->info.participants--;
	/* One look at it without its name is shown. */
	if (was_renamed && watch->info.renamed)
		follow(watch);
}

enum { LINES = 256 };

static int run(const struct cmd *self, int argc, char **argv)
{
	static const struct option longs[] = {
		CMD_HELP,
		{ "interval", required_argument, NULL, 'i' },
		{ "count", required_argument, NULL, 'c' },
		{ "json", no_argument, NULL, 'j' },
		{ "lines", no_argument, NULL, LINES },
		{ "shared", no_argument, NULL, 's' },
		CMD_OPTIONS_END
	};
	static struct watch watch;
	bool lines = !isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO);
	int option;

	while ((option = cmd_option(self, argc, argv, "i:c:", longs)) != -1) {
		if (option == 'i') {
			watch.interval_ns = cmd_duration(self, "--interval",
							 optarg);
			watch.interval_given = true;
		} else if (option == 'c')
			watch.count = cmd_count(self, "--count", optarg, 1,
						INT64_MAX);
		else if (option == 'j')
			watch.json = lines = true;
		else if (option == LINES)
			lines = true;
		else if (option == 's')
			watch.opts.flags |= WEIR_NAMED_SHARED;
		else
			cmd_take_name(self, optarg, &watch.name);
	}
	for (; optind < argc; optind++)
		cmd_take_name(self, argv[optind], &watch.name);
	if (!watch.name)
		cmd_misuse(self, "watch: which semaphore?");
	if (!watch.interval_given)
		watch.interval_ns = lines ? SPIN_LINES_NS : LOOK_NS;
	if (watch.interval_ns < SPIN_MIN_NS)
		watch.interval_ns = SPIN_MIN_NS;
	watch.sem = cmd_open(watch.name, &watch.opts);
	if (!lines) {
		const char *why = NULL;
		int status = watch_screen(&watch, &why);

		if (status >= 0)
			return status;
		cmd_say("watch: lines instead of a screen: %s", why);
	}
	return watch_lines(&watch);
}

const struct cmd cmd_watch = {
	.name = "watch",
	.summary = "a semaphore as it goes on, on the terminal or in lines",
	.help =
"usage: weir watch NAME [--interval=TIME] [--lines | --json] [--count=N]\n"
"\n"
"Shows the semaphore NAME and what happens at it.  On a terminal: how much is in\n"
"use, also over time, who holds permits, and the queue in order.\n"
"\n"
"    q        quit\n"
"    p        pause, and go on\n"
"    s        sort holders by age, weight, process, label\n"
"    up down  move through long lists; also page up, page down, home\n"
"\n"
"Elsewhere, a line whenever something has changed.\n"
"\n"
"  -i, --interval=TIME  look this often; without a screen, print a line each time\n"
"      --lines          lines also on a terminal\n"
"      --json           one object per line, as \"weir stat --json\" prints\n"
"  -c, --count=N        end after N lines\n"
"      --shared         for a semaphore that other users may use as well\n"
"  -h, --help           this text\n",
	.run = run,
};
