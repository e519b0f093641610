/* SPDX-License-Identifier: MIT */
/* weir(1): which subcommand it is, and help. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"

/* A new subcommand is a line here, and one in cmd.h. */
static const struct cmd *const commands[] = {
	&cmd_run,
	&cmd_hold,
	&cmd_release,
	&cmd_wait,
	&cmd_ls,
	&cmd_stat,
	&cmd_watch,
	&cmd_resize,
	&cmd_close,
	&cmd_open_,
	&cmd_rm,
	&cmd_doctor,
	&cmd_jobserver,
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void help(FILE *out)
{
	fputs("usage: weir COMMAND ...\n"
	      "Run commands under limits that hold, whatever dies.\n\n", out);
	for (size_t i = 0; i < COMMANDS; i++)
		fprintf(out, "  %-10s %s\n", commands[i]->name,
			commands[i]->summary);
	fputs("\n"
	      "  weir help COMMAND   what it does, its options\n"
	      "  weir --version      which weir this is\n\n"
	      "A name without \"/\" stands in $WEIR_DIR, else in /run/weir if that is\n"
	      "there, else in a folder of this user in /dev/shm; one with \"/\" is a path.\n"
	      "Times are 250ms, 10s, 5m, 2h; a bare number is seconds.\n", out);
}

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
		cmd_misuse(NULL, "there is no command \"%s\"; is it \"%s\"?",
			   name, near);
	cmd_misuse(NULL, "there is no command \"%s\"", name);
}

/*
 * A program that was started without standard streams would get its own files
 * in their place, and write messages into them.  What fills the places can do
 * what a closed stream can, and is closed for commands that are run.
 */
static void fill_streams(void)
{
	static const int modes[] = { O_WRONLY, O_RDONLY, O_RDWR };

	for (int fd = 0; fd < 3; fd++)
		if (fcntl(fd, F_GETFD) < 0 &&
		    open("/dev/null", modes[fd] | O_CLOEXEC) != fd)
			exit(EXIT_WEIR);
}

static int show_help(int argc, char **argv)
{
	if (argc < 1)
		help(stdout);
	else
		fputs(find(argv[0])->help, stdout);
	cmd_flush();
	return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	const struct cmd *command;

	fill_streams();
	if (argc < 2) {
		help(stderr);
		return EXIT_MISUSE;
	}
	argc--;
	argv++;
	if (!strcmp(argv[0], "help") || !strcmp(argv[0], "--help") ||
	    !strcmp(argv[0], "-h"))
		return show_help(argc - 1, argv + 1);
	if (!strcmp(argv[0], "--version") || !strcmp(argv[0], "-V")) {
		printf("weir %s\n", weir_version());
		cmd_flush();
		return EXIT_SUCCESS;
	}
	command = find(argv[0]);
	return command->run(command, argc, argv);
}
