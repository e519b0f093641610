/* SPDX-License-Identifier: MIT */
/*
 * weir explain: the holders, the waiters, and whether the waits can ever end.
 */
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/diag/diag.h"
#include "cmd/diag/json.h"
#include "cmd/diag/source.h"
#include "cmd/lib/fail.h"
#include "cmd/lib/options.h"
#include "cmd/lib/remote.h"
#include "cmd/lib/text.h"
#include "diag/text.h"
#include "weir/named.h"

/* The exit status if contexts can never proceed. */
#define EXIT_STUCK 1

static void flush(struct dg_text *text)
{
	fwrite(text->to, 1, text->used, stdout);
	text->used = 0;
}

static uint32_t print_report(struct diag *diag, const char *only)
{
	char room[4096];
	struct dg_text text = {
		.to = room, .size = sizeof(room), .flush = flush,
		.site = symbols_name, .site_user = &diag->modules,
	};
	uint32_t shown = weir_diag_report_(&text, &diag->model, only);

	flush(&text);
	return shown;
}

/*
 * The same for the semaphores of a server.  A request that waits for a semaphore
 * may be part of a deadlock with others.
 */
static void explain_server(const struct diag *diag, uint32_t shown)
{
	/* The server is the part before the name; options may follow the name. */
	const char *name = diag->name + strcspn(diag->name, "?");

	while (name > diag->name && *name != '/')
		name--;
	if (!diag->is_server && diag->model.used.waits)
		cmd_message("other semaphores of the server were not read; "
			    "\"weir explain %.*s/\" reads all of them",
			    (int)(name - diag->name), diag->name);
	if (diag->unreadable)
		cmd_message("%s: %u semaphore%s cannot be read; \"weir ls %s\" "
			    "shows why", diag->name, diag->unreadable,
			    diag->unreadable == 1 ? "" : "s", diag->name);
	else if (!shown)
		cmd_message("%s: the server has no semaphore", diag->name);
}

/*
 * Print a message about named semaphores that the report lacks.  If there is none
 * at all, then a user who looks for those inside a process omitted its PID.
 */
static void explain_names(const struct diag *diag, uint32_t shown)
{
	char folder[PATH_MAX];

	if (weir_named_path(NULL, folder, sizeof(folder)))
		(void)snprintf(folder, sizeof(folder), "the folder of names");
	if (diag->unreadable)
		cmd_message("%s: %u semaphore%s cannot be read; \"weir ls\" "
			    "shows why", folder, diag->unreadable,
			    diag->unreadable == 1 ? "" : "s");
	else if (!shown)
		cmd_message("no semaphore in %s; \"weir explain PID\" shows "
			    "those inside a process, and \"weir top\" lists "
			    "them", folder);
}

/*
 * Returns the name that the model has for the name that the program has given: it
 * is cut, and has no control characters.
 */
static const char *shown_name(const struct dg_model *model, const char *given)
{
	static char shown[RG_NAME];

	for (uint32_t i = 0; i < model->used.objects; i++)
		if (!strcmp(model->objects[i].name, given))
			return given;
	weir_diag_clean_(shown, sizeof(shown), given,
			 strnlen(given, RG_NAME - 1));
	return shown;
}

/* Open what the arguments name. */
static void open_source(struct diag *diag, const char *what, const char *only)
{
	const char *base = getenv("WEIR_URL");

	if (what && strstr(what, "://")) {
		remote_refuse_password(what);
		diag_open_remote(diag, what, only);
	} else if (what) {
		diag_open(diag, what);
	} else if (base && *base) {
		diag_open_remote(diag, base, true);
	} else {
		diag_open_named(diag);
	}
}

static int run(const struct cmd *self, int argc, char **argv)
{
	static const struct option longs[] = {
		OPTIONS_HELP, { "json", no_argument, NULL, 'j' }, OPTIONS_END
	};
	const char *what = NULL, *only = NULL, *given;
	static struct diag diag;
	enum dg_verdict gravest;
	bool json = false;
	uint32_t shown;
	int option;

	while ((option = options_next(self, argc, argv, "", longs)) != -1) {
		if (option == 'j')
			json = true;
		else if (!what)
			what = optarg;
		else
			options_name(self, optarg, &only);
	}
	if (optind < argc && !what)
		what = argv[optind++];
	options_rest(self, argc, argv, &only);
	open_source(&diag, what, only);
	diag_read(&diag);
	given = only;
	if (given)
		only = shown_name(&diag.model, given);
	shown = json ? diag_json(stdout, &diag, only) :
		       print_report(&diag, only);
	cmd_flush();
	if (given && !shown)
		cmd_die(EXIT_CLOSED, "%s: no watched object has the name %s",
			diag.name, text_visible(given));
	if (diag.is_named && !json)
		(diag.url ? explain_server : explain_names)(&diag, shown);
	diag_tell_others(&diag);
	gravest = weir_diag_gravest_(&diag.model, only);
	diag_close(&diag);
	return gravest >= DG_UNSATISFIABLE ? EXIT_STUCK : EXIT_SUCCESS;
}

const struct cmd cmd_explain = {
	.name = "explain",
	.summary = "show who holds what in a process, and find deadlocks",
	.help =
"usage: weir explain PID|FILE|URL [NAME] [--json]\n"
"       weir explain [--json]\n"
"\n"
"Shows the watched semaphores of a process: holders and waiters with their call\n"
"sites, and the verdict: whether the waits can end, and what would help.  FILE\n"
"is a dump (weir dump) or a core file.  The process is not stopped and does not\n"
"notice.\n"
"\n"
"URL is a semaphore between machines, or a server (redis://HOST/), of which all\n"
"semaphores are read.  Without arguments, the server $WEIR_URL, or the named\n"
"semaphores of all processes.\n"
"\n"
"      --json   print one JSON object on one line\n"
"  -h, --help   print this text\n"
"\n"
"Exit status: 0, or 1 if some context can never proceed or permits have leaked;\n"
"with NAME, only the objects with that name and their waiters count.\n",
	.run = run,
};
