/* SPDX-License-Identifier: MIT */
/* weir ls: list the semaphores in the default folder or in a server. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/inspect/inspect.h"
#include "cmd/inspect/remote.h"
#include "cmd/lib/fail.h"
#include "cmd/lib/json.h"
#include "cmd/lib/names.h"
#include "cmd/lib/options.h"
#include "cmd/lib/remote.h"
#include "cmd/lib/snapshot.h"
#include "cmd/lib/text.h"

/* The width of the first column, NAME. */
#define COLUMNS 24
static size_t columns = COLUMNS;

static void print_name(const char *name)
{
	size_t used = text_columns(name);

	text_plain(stdout, name);
	printf("%*s ", used < columns ? (int)(columns - used) : 0, "");
}

static void print_semaphore(const char *name, const weir_named_info *info,
			    const weir_named_entry *entries, bool json)
{
	if (json) {
		snapshot_json(stdout, name, info, entries, weir_now_ns());
		return;
	}
	print_name(name);
	printf("%10lld %10lld %10lld %8u  %s\n", (long long)info->capacity,
	       (long long)info->free, (long long)info->held, info->waiters,
	       snapshot_locker(info, entries) ? "locked" :
	       info->closed ? "closed" : info->paused ? "paused" :
	       info->debt ? "shrinking" :
	       info->held || info->granted ? "busy" : "idle");
}

/* Print a semaphore that cannot be read. */
static void print_error(const char *name, const char *why, bool json)
{
	if (json) {
		json_begin(stdout, NULL);
		json_text(stdout, "name", name);
		json_text(stdout, "error", why);
		json_end(stdout);
		json_line(stdout);
		return;
	}
	print_name(name);
	text_plain(stdout, why);
	putchar('\n');
}

static void list_one(const char *name, bool json)
{
	char why[512] = "", room[REASON_ROOM];
	weir_named_opts opts = { .why = why, .why_size = sizeof(why),
				 .flags = WEIR_NAMED_SHARED |
					  WEIR_NAMED_OBSERVER };
	weir_named_entry *entries;
	weir_named_info info;
	weir_named *sem;
	weir_err err = weir_named_open(name, &opts, &sem);

	/* The semaphore was removed meanwhile. */
	if (err == WEIR_ESYSTEM && errno == ENOENT)
		return;
	if (err) {
		print_error(name, cmd_reason(err, errno, why, room), json);
		return;
	}
	err = snapshot_read(sem, &info, &entries);
	if (err)
		print_error(name, cmd_reason(err, errno, NULL, room), json);
	else
		print_semaphore(name, &info, entries, json);
	free(entries);
	(void)!weir_named_close_handle(sem);
}

static void print_header(void)
{
	print_name("NAME");
	printf("%10s %10s %10s %8s  %s\n", "CAPACITY", "FREE", "HELD",
	       "WAITING", "STATE");
}

struct remote_ls {
	bool json;
	bool whole;		/* names are URLs */
	bool any;		/* the header has been printed */
};

static void list_remote(const char *name, const char *url,
			const weir_named_info *info,
			const weir_named_entry *entries, const char *why,
			void *user)
{
	struct remote_ls *ls = user;
	const char *shown = ls->whole ? remote_display(url) : name;

	/* The names arrive one by one. */
	if (!ls->any && ls->whole)
		columns = text_columns(shown) - text_columns(name) + COLUMNS;
	if (!ls->any && !ls->json)
		print_header();
	ls->any = true;
	if (why)
		print_error(shown, why, ls->json);
	else
		print_semaphore(shown, info, entries, ls->json);
}

static void list_local(bool json)
{
	char **names;
	int count = names_list(&names);

	if (count < 0)
		names_fail("ls");
	for (int i = 0; i < count; i++)
		if (text_columns(names[i]) > columns)
			columns = text_columns(names[i]);
	if (count && !json)
		print_header();
	for (int i = 0; i < count; i++)
		list_one(names[i], json);
	free(names);
}

static int run(const struct cmd *self, int argc, char **argv)
{
	static const struct option longs[] = {
		OPTIONS_HELP, { "json", no_argument, NULL, 'j' }, OPTIONS_END
	};
	struct remote_ls ls = { .json = false };
	const char *url = NULL, *base = getenv("WEIR_URL");
	int option;

	while ((option = options_next(self, argc, argv, "", longs)) != -1) {
		if (option == 'j')
			ls.json = true;
		else
			options_name(self, optarg, &url);
	}
	options_rest(self, argc, argv, &url);
	if (url && !strstr(url, "://"))
		cmd_misuse(self, "ls: unexpected argument \"%s\"; use \"weir "
			   "stat\" for one semaphore", url);
	ls.whole = url;
	if (url)
		remote_refuse_password(url);
	else if (base && *base)
		url = base;
	if (url)
		remote_each(url, list_remote, &ls);
	else
		list_local(ls.json);
	cmd_flush();
	return EXIT_SUCCESS;
}

const struct cmd cmd_ls = {
	.name = "ls",
	.summary = "list semaphores",
	.help =
"usage: weir ls [URL] [--json]\n"
"\n"
"Lists the semaphores whose names have no \"/\"; or those in the server URL, by\n"
"default in $WEIR_URL.\n"
"\n"
"      --json   print JSON, one object per line\n"
"  -h, --help   print this text\n",
	.run = run,
};
