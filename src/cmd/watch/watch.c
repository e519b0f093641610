/* SPDX-License-Identifier: MIT */
/* weir watch: show a semaphore continuously. */
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

#include "cmd/lib/fail.h"
#include "cmd/lib/options.h"
#include "cmd/lib/remote.h"
#include "cmd/lib/semaphore.h"
#include "cmd/watch/lines.h"
#include "cmd/watch/screen.h"
#include "cmd/watch/state.h"
#include "cmd/watch/watch.h"

/* Polling intervals.  Lines are printed for changes only. */
#define SCREEN_INTERVAL_NS 500000000
#define LINES_INTERVAL_NS 100000000
#define REMOTE_INTERVAL_NS 500000000
#define INTERVAL_MIN_NS 10000000

enum { OPT_LINES = 256 };

static const struct option longs[] = {
	OPTIONS_HELP,
	{ "interval", required_argument, NULL, 'i' },
	{ "count", required_argument, NULL, 'c' },
	{ "json", no_argument, NULL, 'j' },
	{ "lines", no_argument, NULL, OPT_LINES },
	{ "shared", no_argument, NULL, 's' },
	OPTIONS_END
};

/* *lines is set to true if an option requests lines. */
static void parse_options(const struct cmd *self, struct watch *watch,
			  bool *lines, int argc, char **argv)
{
	int option;

	while ((option = options_next(self, argc, argv, "i:c:", longs)) != -1) {
		if (option == 'i') {
			watch->interval_ns = options_duration(self,
							      "--interval",
							      optarg);
			watch->interval_given = true;
		} else if (option == 'c') {
			watch->count = options_count(self, "--count", optarg,
						     1, INT64_MAX);
			*lines = true;
		} else if (option == 'j')
			watch->json = *lines = true;
		else if (option == OPT_LINES)
			*lines = true;
		else if (option == 's')
			watch->opts.flags |= WEIR_NAMED_SHARED;
		else
			options_name(self, optarg, &watch->name);
	}
	watch->opts.flags |= WEIR_NAMED_OBSERVER;
	options_required(self, argc, argv, &watch->name, "NAME");
}

static void open_remote(struct watch *watch)
{
	weir_cluster_opts opts = { .label = "weir watch" };

	remote_refuse_password(watch->name);
	watch->url = remote_url(watch->name);
	watch->name = remote_display(watch->url);
	watch->cluster = remote_open(watch->url, &opts);
}

static int run(const struct cmd *self, int argc, char **argv)
{
	static struct watch watch;
	bool lines = !isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO);

	parse_options(self, &watch, &lines, argc, argv);
	if (!watch.interval_given)
		watch.interval_ns = remote_url(watch.name) ?
					    REMOTE_INTERVAL_NS :
				    lines ? LINES_INTERVAL_NS :
					    SCREEN_INTERVAL_NS;
	if (watch.interval_ns < INTERVAL_MIN_NS)
		watch.interval_ns = INTERVAL_MIN_NS;
	if (remote_url(watch.name))
		open_remote(&watch);
	else
		watch.sem = semaphore_open(watch.name, &watch.opts);
	if (!lines) {
		const char *why = NULL;
		int status = watch_screen(&watch, &why);

		if (status >= 0)
			return status;
		cmd_message("watch: %s; printing lines instead", why);
	}
	return watch_lines(&watch);
}

const struct cmd cmd_watch = {
	.name = "watch",
	.summary = "show a semaphore live",
	.help =
"usage: weir watch NAME [--interval=TIME] [--lines] [--json] [--count=N]\n"
"\n"
"Shows the semaphore NAME and its changes.  On a terminal: the permits in use,\n"
"now and over time, the holders, and the queue in order.\n"
"\n"
"    q        quit\n"
"    p        pause, continue\n"
"    s        sort the holders by age, weight, process or label\n"
"    up down  scroll; also page up, page down, home\n"
"\n"
"Otherwise, a line for each change.\n"
"\n"
"  -i, --interval=TIME  update at this interval; as lines, print one each time\n"
"      --lines          print lines on a terminal, too\n"
"      --json           as --lines, with one object per line, as \"weir stat\n"
"                       --json\"\n"
"  -c, --count=N        exit after N lines\n"
"      --shared         allow a semaphore that other users can use\n"
"  -h, --help           print this text\n",
	.run = run,
};
