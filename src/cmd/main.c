/* SPDX-License-Identifier: MIT */
/* weir(1): the table of subcommands, and help. */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/admin/admin.h"
#include "cmd/diag/diag.h"
#include "cmd/export/export.h"
#include "cmd/hold/hold.h"
#include "cmd/inspect/inspect.h"
#include "cmd/jobserver/jobserver.h"
#include "cmd/lib/bus.h"
#include "cmd/lib/fail.h"
#include "cmd/lib/full.h"
#include "cmd/lib/signals.h"
#include "cmd/lib/text.h"
#include "cmd/posix/posix.h"
#include "cmd/run/run.h"
#include "cmd/watch/watch.h"
#include "cmd/web/web.h"

/* The subcommands, in the order of `weir --help`. */
static const struct cmd *const commands[] = {
	&cmd_run,
	&cmd_hold,
	&cmd_release,
	&cmd_wait,
	&cmd_ls,
	&cmd_stat,
	&cmd_watch,
	&cmd_explain,
	&cmd_dump,
	&cmd_top,
	&cmd_web,
	&cmd_export,
	&cmd_resize,
	&cmd_pause,
	&cmd_resume,
	&cmd_close,
	&cmd_open,
	&cmd_rm,
	&cmd_doctor,
	&cmd_jobserver,
	&cmd_posix,
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void help(FILE *out)
{
	fputs(
"usage: weir COMMAND ...\n"
"Run commands under limits that hold even if processes are killed.\n\n", out);
	for (size_t i = 0; i < COMMANDS; i++)
		fprintf(out, "  %-10s %s\n", commands[i]->name,
			commands[i]->summary);
	fputs(
"\n"
"  weir help COMMAND   describe a command and its options\n"
"  weir --version      print the version\n\n"
"A semaphore's NAME with \"://\" is the URL of one between machines, such as\n"
"redis://host/builds.  A NAME with a \"/\" is a path.  Without one, it is in the\n"
"server $WEIR_URL if that is set.  Otherwise it is in the folder $WEIR_DIR if\n"
"that is set, else in /run/weir if that exists, else in a folder of the user in\n"
"/dev/shm.  A TIME is 250ms, 10s, 5m or 2h; a number alone is in seconds.\n", out);
}

/* Returns the subcommand, or exits with a spelling suggestion. */
static const struct cmd *find(const char *name)
{
	const char *names[COMMANDS], *near;

	for (size_t i = 0; i < COMMANDS; i++) {
		if (!strcmp(commands[i]->name, name))
			return commands[i];
		names[i] = commands[i]->name;
	}
	near = text_nearest(name, names, COMMANDS);
	if (near)
		cmd_misuse(NULL, "%s: unknown command; did you mean %s?", name,
			   near);
	cmd_misuse(NULL, "%s: unknown command", text_visible(name));
}

/* Exit if there are more than `most` arguments after `word`. */
static void refuse_more(const char *word, int most, int argc, char **argv)
{
	if (argc > most)
		cmd_misuse(NULL, "%s: unexpected argument \"%s\"", word,
			   argv[most]);
}

/*
 * Open /dev/null for standard streams that are closed.  Otherwise a file that
 * is opened later would get the number of a standard stream, and messages would
 * be written into it.  Input and output are opened in the opposite mode, so
 * that using them fails as with a closed stream.  They are close-on-exec, so
 * the streams are closed in a job as well.
 */
static void open_streams(void)
{
	static const int modes[] = { O_WRONLY, O_RDONLY, O_RDWR };

	for (int fd = 0; fd < 3; fd++)
		if (fcntl(fd, F_GETFD) < 0 &&
		    open("/dev/null", modes[fd] | O_CLOEXEC) != fd)
			exit(EXIT_WEIR);
}

static bool is_help(const char *word)
{
	return !strcmp(word, "help") || !strcmp(word, "--help") ||
	       !strcmp(word, "-h");
}

static int show_help(int argc, char **argv)
{
	refuse_more("help", 1, argc, argv);
	if (argc < 1 || is_help(argv[0]))
		help(stdout);
	else
		fputs(find(argv[0])->help, stdout);
	cmd_flush();
	return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	const struct cmd *command;

	signals_save_mask();
	if (argc < 2 || strcmp(argv[1], cmd_run.name) != 0)
		full_exec(argv);
	open_streams();
	bus_install();
	if (argc < 2) {
		help(stderr);
		return EXIT_MISUSE;
	}
	argc--;
	argv++;
	if (is_help(argv[0]))
		return show_help(argc - 1, argv + 1);
	if (!strcmp(argv[0], "--version") || !strcmp(argv[0], "-V")) {
		refuse_more(argv[0], 0, argc - 1, argv + 1);
		printf("weir %s\n", weir_version());
		cmd_flush();
		return EXIT_SUCCESS;
	}
	command = find(argv[0]);
	return command->run(command, argc, argv);
}
