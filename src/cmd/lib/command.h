/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_LIB_COMMAND_H
#define WEIR_CMD_LIB_COMMAND_H

/*
 * A subcommand of weir(1): a struct cmd that is listed in the table of main.c.
 *
 * run() is called once, and the process exits with the status that it returns.
 * Memory that lives until the exit is not freed.  An error ends the process
 * through the functions of fail.h.
 */
struct cmd {
	const char *name;
	const char *summary;	/* half a line, for `weir --help` */
	const char *help;	/* the text of `weir help NAME` */
	/* argv[0] is the name of the subcommand. */
	int (*run)(const struct cmd *self, int argc, char **argv);
};

#endif /* WEIR_CMD_LIB_COMMAND_H */
