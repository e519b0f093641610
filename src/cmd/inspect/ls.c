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
#include "cmd/lib/memory.h"
#include "cmd/lib/names.h"
#include "cmd/lib/options.h"
#include "cmd/lib/remote.h"
#include "cmd/lib/snapshot.h"
#include "cmd/lib/text.h"

/* The width of the first column, NAME, and of those of permits. */
#define COLUMNS 24
#define DIGITS 10
static size_t columns = COLUMNS;
static int digits = DIGITS;

static void print_name(const char *name)
{
	size_t used = text_columns(name);

	text_plain(stdout, name);
	printf("%*s ", used < columns ? (int)(columns - used) : 0, "");
}

static const char *state_of(const weir_named_info *info,
			    const weir_named_entry *entries)
{
	return snapshot_locker(info, entries) ? "locked" :
	       info->closed ? "closed" : info->paused ? "paused" :
	       info->debt ? "shrinking" :
	       info->held || info->granted ? "busy" : "idle";
}

static void print_state(const char *name, const weir_named_info *info,
			const char *state)
{
	print_name(name);
	printf("%*lld %*lld %*lld %8u  %s\n", digits,
	       (long long)info->capacity, digits, (long long)info->free, digits,
	       (long long)info->held, info->waiters, state);
}

static void print_semaphore(const char *name, const weir_named_info *info,
			    const weir_named_entry *entries, bool json)
{
	if (json)
		snapshot_json(stdout, name, info, entries, weir_now_ns());
	else
		print_state(name, info, state_of(info, entries));
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

/*
 * A line that is printed when all semaphores have been read: the width of the
 * columns depends on all of them.
 */
struct row {
	const char *name;
	char *why;		/* why it cannot be read; null: it was read */
	weir_named_info info;
	const char *state;
};

static void widen(int64_t number)
{
	int wide = snprintf(NULL, 0, "%lld", (long long)number);

	if (wide > digits)
		digits = wide;
}

/*
 * Read a semaphore: print it as JSON, or fill in *row.  Returns false if there is
 * no row.
 */
static bool read_one(const char *name, bool json, struct row *row)
{
	char why[512] = "";
	weir_named_opts opts = { .why = why, .why_size = sizeof(why),
				 .flags = WEIR_NAMED_SHARED |
					  WEIR_NAMED_OBSERVER };
	weir_named_entry *entries = NULL;
	weir_named *sem = NULL;
	weir_err err = weir_named_open(name, &opts, &sem);

	/* The semaphore was removed meanwhile. */
	if (err == WEIR_ESYSTEM && errno == ENOENT)
		return false;
	*row = (struct row){ .name = name };
	if (!err)
		err = snapshot_read(sem, &row->info, &entries);
	if (err) {
		char room[REASON_ROOM];
		const char *text = cmd_reason(err, errno, why, room);

		if (json)
			print_error(name, text, true);
		else
			row->why = memory_strdup(text);
	} else if (json) {
		print_semaphore(name, &row->info, entries, true);
	} else {
		row->state = state_of(&row->info, entries);
		widen(row->info.capacity);
		widen(row->info.free);
		widen(row->info.held);
	}
	free(entries);
	if (sem)
		(void)!weir_named_close_handle(sem);
	return !json;
}

static void print_row(struct row *row)
{
	if (row->why)
		print_error(row->name, row->why, false);
	else
		print_state(row->name, &row->info, row->state);
	free(row->why);
}

static void print_header(void)
{
	print_name("NAME");
	printf("%*s %*s %*s %8s  %s\n", digits, "CAPACITY", digits, "FREE",
	       digits, "HELD", "WAITING", "STATE");
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
	struct row *rows;
	int used = 0, count = names_list(&names);

	if (count < 0)
		names_fail("ls");
	rows = memory_realloc(NULL, ((size_t)count + 1) * sizeof(*rows));
	for (int i = 0; i < count; i++) {
		if (text_columns(names[i]) > columns)
			columns = text_columns(names[i]);
		used += read_one(names[i], json, &rows[used]);
	}
	if (count && !json)
		print_header();
	for (int i = 0; i < used; i++)
		print_row(&rows[i]);
	free(rows);
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
