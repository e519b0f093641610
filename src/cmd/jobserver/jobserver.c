/* SPDX-License-Identifier: MIT */
/* weir jobserver: a GNU make job server that recovers lost tokens. */
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/jobserver/flags.h"
#include "cmd/jobserver/jobserver.h"
#include "cmd/jobserver/ninja.h"
#include "cmd/jobserver/server.h"
#include "cmd/lib/fail.h"
#include "cmd/lib/memory.h"
#include "cmd/lib/options.h"

static int64_t cpus(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) ? 1 : CPU_COUNT(&set);
}

enum { OPT_STYLE = 256, OPT_PLAIN };

static const struct option longs[] = {
	OPTIONS_HELP,
	{ "capacity", required_argument, NULL, 'n' },
	{ "style", required_argument, NULL, OPT_STYLE },
	{ "plain", no_argument, NULL, OPT_PLAIN },
	{ "verbose", no_argument, NULL, 'v' },
	OPTIONS_END
};

/* Returns the arguments of the command. */
static char **parse_options(const struct cmd *self, struct server *server,
			    int argc, char **argv)
{
	const char *style = NULL;
	int option;

	while ((option = options_next(self, argc, argv, "n:v", longs)) != -1) {
		if (option == 'n')
			server->jobs = options_count(self, "-n", optarg, 1,
						     JOBS_MAX);
		else if (option == OPT_STYLE)
			style = optarg;
		else if (option == OPT_PLAIN)
			server->plain = true;
		else if (option == 'v')
			server->verbose = true;
		else {
			/* The command, without "--" before it. */
			optind--;
			break;
		}
	}
	if (optind >= argc)
		cmd_misuse(self, "jobserver: COMMAND is missing");
	if (style && strcmp(style, "pipe") && strcmp(style, "fifo"))
		cmd_misuse(self, "jobserver: --style: \"%s\" is neither pipe "
			   "nor fifo", style);
	argv += optind;
	server->fifo = style ? !strcmp(style, "fifo") : ninja_is(argv[0]);
	return argv;
}

/*
 * Let a ninja that takes no tokens keep its -j, at most the limit.  A make that
 * it starts takes no token for its first job, so the server has one token fewer
 * for each job of the ninja.  Returns the arguments with -j.
 */
static char **keep_jobs(struct server *server, char **argv, int64_t asked,
			const char *version)
{
	static char option[24];
	size_t count = 0;
	char **with;

	if (asked > 0 && asked < server->jobs)
		server->own_jobs = asked;
	else
		server->own_jobs = server->jobs;
	(void)snprintf(option, sizeof(option), "-j%lld",
		       (long long)server->own_jobs);
	while (argv[count])
		count++;
	with = memory_realloc(NULL, (count + 2) * sizeof(*with));
	with[0] = argv[0];
	with[1] = option;
	memcpy(with + 2, argv + 1, count * sizeof(*with));
	cmd_message("jobserver: %s %s does not support %s job servers%s; it "
		    "runs with %s and takes no tokens", argv[0],
		    *version ? version : "(unknown version)",
		    server->fifo ? "fifo" : "pipe",
		    server->fifo ? " (ninja 1.13 does)" : "", option);
	return with;
}

static int run(const struct cmd *self, int argc, char **argv)
{
	static struct server server;	/* read by an exit handler */
	char version[NINJA_VERSION_ROOM];
	int64_t asked;
	bool takes;

	argv = parse_options(self, &server, argc, argv);
	if (flags_have_server(getenv("MAKEFLAGS")) ||
	    flags_have_server(getenv("CARGO_MAKEFLAGS")))
		cmd_message("jobserver: %s: the outer job server does not "
			    "count these jobs", argv[0]);
	asked = flags_remove_jobs(argv);
	takes = !ninja_is(argv[0]) ||
		ninja_takes_tokens(argv[0], server.fifo, version);
	if (!server.jobs)
		server.jobs = asked > 0 && asked <= JOBS_MAX ? asked : cpus();
	else if (asked > server.jobs ||
		 (takes && asked > 0 && asked < server.jobs))
		cmd_message("jobserver: %s: -j%lld is ignored; the limit is "
			    "%lld jobs", argv[0], (long long)asked,
			    (long long)server.jobs);
	server.own_jobs = 1;
	if (!takes)
		argv = keep_jobs(&server, argv, asked, version);
	return server_run(&server, argv);
}

const struct cmd cmd_jobserver = {
	.name = "jobserver",
	.summary = "run make with a job server that recovers the tokens of killed jobs",
	.help =
"usage: weir jobserver [OPTION]... [--] COMMAND [ARGUMENT]...\n"
"\n"
"Runs COMMAND, a make or a program that starts makes, with a job server for N\n"
"jobs at a time.  Tokens that a client has not returned when it ends, even by\n"
"kill -9, are put back when its jobs have ended.\n"
"\n"
"  -n, --capacity=N  the number of jobs; default: COMMAND's -j, or one per CPU\n"
"      --style=pipe  for make 4.2 and later; the default\n"
"      --style=fifo  for make 4.4, ninja 1.13; the default for ninja\n"
"      --plain       without a seccomp filter: sudo works in jobs, but tokens are\n"
"                    put back only when no process has the pipe open for writing\n"
"  -v, --verbose     print a message when tokens are put back\n"
"  -h, --help        print this text\n"
"\n"
"Exit status: that of COMMAND, or 128 + its signal; 64 wrong usage; 125 weir\n"
"failed; 126 COMMAND cannot be run; 127 COMMAND is not found.\n",
	.run = run,
};
