/* SPDX-License-Identifier: MIT */
/* weir stat: who holds, who waits, for how long. */
#include <errno.h>
#include <stdlib.h>

#include "cmd/cmd.h"

static const char *const roles[] = {
	[WEIR_NAMED_HOLDS] = "holds",
	[WEIR_NAMED_GRANTED] = "granted",
	[WEIR_NAMED_WAITS] = "waits",
	[WEIR_NAMED_OVERSIZED] = "oversized",
	[WEIR_NAMED_IDLE] = "idle",
};

int64_t stat_age(const weir_named_entry *entry, int64_t now)
{
	/* From the file, which may be damaged. */
	bool known = entry->since_ns > 0 && entry->since_ns < now;

	return known ? now - entry->since_ns : 0;
}

void stat_json(FILE *out, const char *name, const weir_named_info *info,
	       const weir_named_entry *entries, int64_t now)
{
	json_begin(out, NULL);
	json_text(out, "name", name);
	json_int(out, "capacity", info->capacity);
	json_int(out, "free", info->free);
	json_int(out, "held", info->held);
	json_int(out, "granted", info->granted);
	json_int(out, "debt", info->debt);
	json_int(out, "waiting", info->waiters);
	json_int(out, "waiting_permits", info->waiting_permits);
	json_int(out, "participants", info->participants);
	json_text(out, "policy",
		  info->policy == WEIR_NAMED_STRICT ? "strict" : "fast");
	json_bool(out, "closed", info->closed);
	json_bool(out, "renamed", info->renamed);
	json_list(out, "entries");
	for (uint32_t i = 0; entries && i < info->entries; i++) {
		const weir_named_entry *entry = &entries[i];

		json_begin(out, NULL);
		json_text(out, "role", roles[entry->role]);
		json_int(out, "place", entry->place);
		json_int(out, "pid", entry->pid);
		json_int(out, "pid_namespace", (int64_t)entry->pid_namespace);
		json_int(out, "id", (int64_t)entry->id);
		json_int(out, "weight", entry->weight);
		json_int(out, "age_ms", stat_age(entry, now) / 1000000);
		json_bool(out, "dead", entry->dead);
		json_text(out, "label", entry->label);
		json_end(out);
	}
	json_list_end(out);
	json_end(out);
	json_line(out);
}

static void summary(FILE *out, const char *name, const weir_named_info *info)
{
	text_plain(out, name);
	fprintf(out, ": %lld of %lld free, %u waiting", (long long)info->free,
		(long long)info->capacity, info->waiters);
	if (info->debt)
		fprintf(out, ", %lld to be collected", (long long)info->debt);
	if (info->closed)
		fputs(", closed", out);
	if (info->renamed)
		fputs(", its name is gone", out);
	putc('\n', out);
}

void stat_table(FILE *out, const char *name, const weir_named_info *info,
		const weir_named_entry *entries, int64_t now)
{
	summary(out, name, info);
	for (uint32_t i = 0; entries && i < info->entries; i++) {
		const weir_named_entry *entry = &entries[i];
		char place[16] = "", age[DURATION_ROOM];

		if (!i)
			fprintf(out, "%-8s %5s %8s %8s %9s  %s\n", "ROLE",
				"PLACE", "PID", "WEIGHT", "SINCE", "LABEL");
		if (entry->place)
			(void)snprintf(place, sizeof(place), "%u",
				       entry->place);
		fprintf(out, "%-8s %5s %8d %8lld %9s  ",
			entry->dead ? "dying" : roles[entry->role], place,
			entry->pid, (long long)entry->weight,
			duration_text(stat_age(entry, now), age));
		text_plain(out, entry->label);
		putc('\n', out);
	}
}

static int run(const struct cmd *self, int argc, char **argv)
{
	static const struct option longs[] = {
		CMD_HELP, { "json", no_argument, NULL, 'j' },
		{ "shared", no_argument, NULL, 's' }, CMD_OPTIONS_END
	};
	weir_named_opts opts = { .label = "weir stat" };
	weir_named_entry *entries;
	weir_named_info info;
	const char *name = NULL;
	bool json = false;
	weir_named *sem;
	weir_err err;
	int option;

	while ((option = cmd_option(self, argc, argv, "", longs)) != -1) {
		if (option == 'j')
			json = true;
		else if (option == 's')
			opts.flags |= WEIR_NAMED_SHARED;
		else
			cmd_take_name(self, optarg, &name);
	}
	for (; optind < argc; optind++)
		cmd_take_name(self, argv[optind], &name);
	if (!name)
		cmd_misuse(self, "stat: which semaphore?");
	sem = cmd_open(name, &opts);
	err = cmd_look(sem, &info, &entries);
	if (err)
		cmd_fail(name, err, NULL);
	/* This one is not a guest worth mentioning. */
	info.participants--;
	(json ? stat_json : stat_table)(stdout, name, &info, entries,
					weir_now_ns());
	free(entries);
	cmd_flush();
	return EXIT_SUCCESS;
}

const struct cmd cmd_stat = {
	.name = "stat",
	.summary = "who holds a semaphore, who waits, for how long",
	.help =
"usage: weir stat NAME [--json] [--shared]\n"
"\n"
"Shows the semaphore NAME: its capacity, what is free, and everybody at it:\n"
"holders first, then the queue in order.\n"
"\n"
"      --json     one object on one line\n"
"      --shared   for a semaphore that other users may use as well\n"
"  -h, --help     this text\n",
	.run = run,
};
