/* SPDX-License-Identifier: MIT */
/* weir release: ask who holds for a token to give it back. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cmd/token.h"

static int run(const struct cmd *self, int argc, char **argv)
{
	static const struct option longs[] = { CMD_HELP, CMD_OPTIONS_END };
	char path[TOKEN_PATH_ROOM], answer = 0;
	const char *token = NULL;
	bool gone;
	weir_err err;
	int fd;

	while (cmd_option(self, argc, argv, "", longs) != -1)
		cmd_take_name(self, optarg, &token);
	for (; optind < argc; optind++)
		cmd_take_name(self, argv[optind], &token);
	if (!token)
		cmd_misuse(self, "release: which token?");
	if (!token_name(token))
		cmd_misuse(self, "release: \"%s\" is not a token", token);
	err = token_path(token, path);
	if (err)
		cmd_fail(token_name(token), err, NULL);
	fd = token_socket(path, false);
	gone = fd < 0 && (errno == ECONNREFUSED || errno == ENOENT);
	if (fd < 0 && errno == ECONNREFUSED)
		/* Who held was killed, and the permit is back since then. */
		(void)unlink(path);
	if (gone)
		cmd_die(EXIT_CLOSED, "release: this token holds nothing (any "
			"more)");
	if (fd < 0)
		cmd_fail(token_name(token), WEIR_ESYSTEM, NULL);
	if (send(fd, token, TOKEN_DIGITS, MSG_NOSIGNAL) != TOKEN_DIGITS ||
	    read(fd, &answer, 1) != 1)
		cmd_die(EXIT_CLOSED, "release: who held for this token ended "
			"just now");
	if (answer != 'k')
		cmd_die(EXIT_LOST, "release: the permit was lost before");
	return EXIT_SUCCESS;
}

const struct cmd cmd_release = {
	.name = "release",
	.summary = "give back what \"weir hold\" took",
	.help =
"usage: weir release TOKEN\n"
"\n"
"Gives back what \"weir hold\" took when it printed TOKEN; when this ends, it is\n"
"back.  69 if it was back before.\n"
"\n"
"  -h, --help   this text\n",
	.run = run,
};
