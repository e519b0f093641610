/* SPDX-License-Identifier: MIT */
/* weir top: a live table of the watched objects. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cmd/diag/diag.h"
#include "cmd/diag/json.h"
#include "cmd/diag/top.h"
#include "cmd/lib/fail.h"
#include "cmd/lib/options.h"

#define INTERVAL_NS INT64_C(1000000000)
#define INTERVAL_MIN_NS INT64_C(50000000)

enum { OPT_ONCE = 256 };

struct top {
	struct rows rows;
	int64_t interval_ns;
	bool once, json;
};

static void print_table(struct rows *rows)
{
	char line[ROWS_LINE], why[DIAG_WHY];
	int status;

	if (!rows_sample(rows, why, &status))
		cmd_die(status, "%s", why);
	rows_order(rows);
	rows_line(NULL, line);
	puts(line);
	for (uint32_t i = 0; i < rows->count; i++) {
		rows_line(&rows->list[i], line);
		puts(line);
	}
	if (!rows->count && !rows->what)
		cmd_message("top: " ROWS_NONE "; \"weir ls\" lists those "
			    "between processes");
}

static void print_json(const char *what)
{
	static struct diag diag;
	pid_t *pids;
	uint32_t count;

	if (what) {
		diag_open(&diag, what);
		diag_read(&diag);
		(void)diag_json(stdout, &diag, NULL);
		diag_close(&diag);
		return;
	}
	if (!diag_has_proc())
		cmd_die(EXIT_WEIR, "top: " DIAG_NO_PROC);
	count = diag_processes(&pids);
	for (uint32_t i = 0; i < count; i++) {
		char pid[16];

		(void)snprintf(pid, sizeof(pid), "%d", (int)pids[i]);
		if (diag_try(&diag, pid) && diag_try_read(&diag))
			(void)diag_json(stdout, &diag, NULL);
		diag_close(&diag);
	}
	free(pids);
}

static void sleep_for(int64_t ns)
{
	struct timespec time = { ns / 1000000000, ns % 1000000000 };

	while (nanosleep(&time, &time) && errno == EINTR)
		;
}

static int print_all(struct top *top)
{
	for (;;) {
		if (top->json)
			print_json(top->rows.what);
		else
			print_table(&top->rows);
		cmd_flush();
		if (top->once)
			return EXIT_SUCCESS;
		sleep_for(top->interval_ns);
	}
}

static void parse_options(const struct cmd *self, struct top *top, int argc,
			  char **argv)
{
	static const struct option longs[] = {
		OPTIONS_HELP,
		{ "interval", required_argument, NULL, 'i' },
		{ "once", no_argument, NULL, OPT_ONCE },
		{ "json", no_argument, NULL, 'j' },
		OPTIONS_END
	};
	int option;

	while ((option = options_next(self, argc, argv, "i:", longs)) != -1) {
		if (option == 'i')
			top->interval_ns = options_duration(self, "--interval",
							    optarg);
		else if (option == OPT_ONCE)
			top->once = true;
		else if (option == 'j')
			top->json = true;
		else
			options_name(self, optarg, &top->rows.what);
	}
	options_rest(self, argc, argv, &top->rows.what);
	if (top->interval_ns < INTERVAL_MIN_NS)
		top->interval_ns = INTERVAL_MIN_NS;
}

static int run(const struct cmd *self, int argc, char **argv)
{
	static struct top top = { .interval_ns = INTERVAL_NS };

	parse_options(self, &top, argc, argv);
	if (!top.once && !top.json && isatty(STDIN_FILENO) &&
	    isatty(STDOUT_FILENO)) {
		const char *why = NULL;
		int status = top_screen(&top.rows, top.interval_ns, &why);

		if (status >= 0)
			return status;
		cmd_message("top: %s; printing tables instead", why);
	}
	return print_all(&top);
}

const struct cmd cmd_top = {
	.name = "top",
	.summary = "show the watched semaphores of processes live",
	.help =
"usage: weir top [PID|FILE] [--interval=TIME] [--once] [--json]\n"
"\n"
"Shows the watched semaphores of a process, or of all processes of this user:\n"
"free and held permits, waiters, the oldest wait and hold, acquires per second\n"
"and the verdict.  On a terminal:\n"
"\n"
"    q        quit; in the view of one object, back to the table\n"
"    s        sort by verdict, waiters, oldest wait, oldest hold, rate or name\n"
"    p        pause, continue\n"
"    up down  select an object, or scroll one; also page up, page down, home, end\n"
"    enter    show the holders and waiters of the selected object\n"
"\n"
"Otherwise it prints a table at each interval.\n"
"\n"
"  -i, --interval=TIME  update at this interval\n"
"      --once           print one table and exit\n"
"      --json           print one object per process and line, as\n"
"                       \"weir explain --json\"\n"
"  -h, --help           print this text\n",
	.run = run,
};
