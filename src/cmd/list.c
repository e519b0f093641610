/* SPDX-License-Identifier: MIT */
/* weir ls: the semaphores in the folder of names. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"

#define SUFFIX ".weir"

static int is_semaphore(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name);

	return length > sizeof(SUFFIX) - 1 && entry->d_name[0] != '.' &&
	       !strcmp(entry->d_name + length - (sizeof(SUFFIX) - 1), SUFFIX);
}

/* Pointers, and behind them the texts: one piece of memory. */
int cmd_list(char ***names)
{
	char folder[PATH_MAX], *text;
	struct dirent **entries;
	const size_t each = sizeof(**names);
	size_t room = 0;
	int count;

	*names = NULL;
	if (weir_named_path(NULL, folder, sizeof(folder)))
		return errno == ENOENT ? 0 : -1;
	count = scandir(folder, &entries, is_semaphore, alphasort);
	if (count < 0)
		return errno == ENOENT ? 0 : -1;
	for (int i = 0; i < count; i++)
		room += strlen(entries[i]->d_name) + 1;
	/* In pointers, rounded up. */
	room = (size_t)count + 1 + room / each;
	*names = calloc(room, each);
	if (!*names)
		cmd_die(EXIT_WEIR, "out of memory");
	text = (char *)(*names + count);
	for (int i = 0; i < count; i++) {
		size_t length = strlen(entries[i]->d_name) -
				(sizeof(SUFFIX) - 1);

		(*names)[i] = text;
		memcpy(text, entries[i]->d_name, length);
		text[length] = 0;
		text += length + 1;
		free(entries[i]);
	}
	free(entries);
	return count;
}

static void show(const char *name, const weir_named_info *info,
		 const weir_named_entry *entries, bool json)
{
	if (json) {
		stat_json(stdout, name, info, entries, weir_now_ns());
		return;
	}
	text_plain(stdout, name);
	printf("%*s %10lld %10lld %10lld %8u  %s\n",
	       strlen(name) < 24 ? 24 - (int)strlen(name) : 0, "",
	       (long long)info->capacity, (long long)info->free,
	       (long long)info->held, info->waiters,
	       info->closed ? "closed" : info->debt ? "shrinking" :
	       info->held || info->granted ? "busy" : "idle");
}

static void show_refused(const char *name, const char *why, bool json)
{
	if (json) {
		json_begin(stdout, NULL);
		json_text(stdout, "name", name);
		json_text(stdout, "error", why);
		json_end(stdout);
		json_line(stdout);
		return;
	}
	text_plain(stdout, name);
	printf("%*s ", strlen(name) < 24 ? 24 - (int)strlen(name) : 0, "");
	text_plain(stdout, why);
	putchar('\n');
}

static void look(const char *name, bool json)
{
	char why[512] = "", room[REASON_ROOM];
	weir_named_opts opts = { .flags = WEIR_NAMED_SHARED, .why = why,
				 .why_size = sizeof(why) };
	weir_named_entry *entries;
	weir_named_info info;
	weir_named *sem;
	weir_err err = weir_named_open(name, &opts, &sem);

	/* Gone since it was found. */
	if (err == WEIR_ESYSTEM && errno == ENOENT)
		return;
	if (err) {
		show_refused(name, cmd_reason(err, errno, why, room), json);
		return;
	}
	err = cmd_look(sem, &info, &entries);
	info.participants--;
	if (err)
		show_refused(name, cmd_reason(err, errno, NULL, room), json);
	else
		show(name, &info, entries, json);
	free(entries);
	(void)!weir_named_close_handle(sem);
}

static int run(const struct cmd *self, int argc, char **argv)
{
	static const struct option longs[] = {
		CMD_HELP, { "json", no_argument, NULL, 'j' }, CMD_OPTIONS_END
	};
	bool json = false;
	int option, count;
	char **names;

	while ((option = cmd_option(self, argc, argv, "", longs)) != -1) {
		if (option != 'j')
			cmd_misuse(self, "ls: takes no name; \"weir stat %s\" "
				   "shows one", optarg);
		json = true;
	}
	count = cmd_list(&names);
	if (count < 0)
		cmd_fail("ls", WEIR_ESYSTEM, NULL);
	if (count && !json)
		printf("%-24s %10s %10s %10s %8s  %s\n", "NAME", "CAPACITY",
		       "FREE", "HELD", "WAITING", "STATE");
	for (int i = 0; i < count; i++)
		look(names[i], json);
	free(names);
	cmd_flush();
	return EXIT_SUCCESS;
}

const struct cmd cmd_ls = {
	.name = "ls",
	.summary = "the semaphores that there are",
	.help =
"usage: weir ls [--json]\n"
"\n"
"Lists the semaphores whose names have no \"/\".\n"
"\n"
"      --json   one object per line\n"
"  -h, --help   this text\n",
	.run = run,
};
