/* SPDX-License-Identifier: MIT */
/* weir stat: the holders and waiters of a semaphore. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "cmd/inspect/inspect.h"
#include "cmd/inspect/remote.h"
#include "cmd/lib/describe_holder.h"
#include "cmd/lib/duration.h"
#include "cmd/lib/fail.h"
#include "cmd/lib/options.h"
#include "cmd/lib/remote.h"
#include "cmd/lib/semaphore.h"
#include "cmd/lib/snapshot.h"
#include "cmd/lib/text.h"

static void print_summary(FILE *out, const char *name,
			  const weir_named_info *info,
			  const weir_named_entry *locker)
{
	text_plain(out, name);
	fprintf(out, ": %lld of %lld free, %u waiting", (long long)info->free,
		(long long)info->capacity, info->waiters);
	if (info->debt)
		fprintf(out, ", debt %lld", (long long)info->debt);
	if (info->closed)
		fputs(", closed", out);
	if (info->paused)
		fputs(", paused", out);
	if (info->renamed)
		fputs(", name removed", out);
	if (locker) {
		char room[HOLDER_ROOM];

		fputs(", ", out);
		text_plain(out, describe_locker(locker, room));
	}
	putc('\n', out);
}

static void print_table(FILE *out, const char *name,
			const weir_named_info *info,
			const weir_named_entry *entries, int64_t now)
{
	print_summary(out, name, info, snapshot_locker(info, entries));
	for (uint32_t i = 0; i < info->entries; i++) {
		const weir_named_entry *entry = &entries[i];
		char place[16] = "", age[DURATION_ROOM];

		if (!i)
			fprintf(out, "%-8s %5s %8s %8s %9s  %s\n", "ROLE",
				"PLACE", "PID", "WEIGHT", "SINCE", "LABEL");
		if (entry->place)
			(void)snprintf(place, sizeof(place), "%u",
				       entry->place);
		fprintf(out, "%-8s %5s %8d %8lld %9s  ",
			entry->dead ? "dying" : snapshot_role(entry), place,
			entry->pid, (long long)entry->weight,
			duration_text(snapshot_age(entry, now), age));
		text_plain(out, entry->label);
		putc('\n', out);
	}
}

static int run(const struct cmd *self, int argc, char **argv)
{
	static const struct option longs[] = {
		OPTIONS_HELP, { "json", no_argument, NULL, 'j' },
		{ "shared", no_argument, NULL, 's' }, OPTIONS_END
	};
	weir_named_opts opts = { .flags = WEIR_NAMED_OBSERVER };
	weir_named_entry *entries;
	weir_named_info info;
	const char *name = NULL;
	bool json = false;
	int option;

	while ((option = options_next(self, argc, argv, "", longs)) != -1) {
		if (option == 'j')
			json = true;
		else if (option == 's')
			opts.flags |= WEIR_NAMED_SHARED;
		else
			options_name(self, optarg, &name);
	}
	options_required(self, argc, argv, &name, "NAME");
	if (remote_url(name)) {
		remote_refuse_password(name);
		remote_snapshot(remote_url(name), &info, &entries);
		name = remote_display(remote_url(name));
	} else {
		weir_named *sem = semaphore_open(name, &opts);
		weir_err err = snapshot_settle(sem, &info, &entries);

		if (err)
			cmd_fail(name, err, NULL);
	}
	(json ? snapshot_json : print_table)(stdout, name, &info, entries,
					     weir_now_ns());
	free(entries);
	cmd_flush();
	return EXIT_SUCCESS;
}

const struct cmd cmd_stat = {
	.name = "stat",
	.summary = "show the holders and waiters of a semaphore",
	.help =
"usage: weir stat NAME [--json] [--shared]\n"
"\n"
"Shows the semaphore NAME: its capacity, the free permits, the holders, and the\n"
"queue in order.\n"
"\n"
"      --json     print one JSON object on one line\n"
"      --shared   allow a semaphore that other users can use\n"
"  -h, --help     print this text\n",
	.run = run,
};
