/* SPDX-License-Identifier: MIT */
/* weir release: ask a hold daemon to release its permits. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cmd/hold/hold.h"
#include "cmd/lib/fail.h"
#include "cmd/lib/options.h"
#include "cmd/lib/token.h"

/* Connect to the hold daemon of the token, or exit. */
static int connect_daemon(const char *token)
{
	char path[TOKEN_PATH_ROOM];
	weir_err err = token_path(token, path);
	bool gone;
	int fd;

	if (err)
		cmd_fail(token_name(token), err, NULL);
	fd = token_connect(path);
	gone = fd < 0 && (errno == ECONNREFUSED || errno == ENOENT);
	if (fd < 0 && errno == ECONNREFUSED)
		/* The hold daemon was killed, which released its permits. */
		(void)unlink(path);
	if (gone)
		cmd_die(EXIT_CLOSED, "release: this token holds nothing (any "
			"more)");
	if (fd < 0)
		cmd_fail(token_name(token), WEIR_ESYSTEM, NULL);
	return fd;
}

static int run(const struct cmd *self, int argc, char **argv)
{
	static const struct option longs[] = { OPTIONS_HELP, OPTIONS_END };
	const char *token = NULL;
	char answer = 0;
	int fd;

	while (options_next(self, argc, argv, "", longs) != -1)
		options_name(self, optarg, &token);
	options_required(self, argc, argv, &token, "token");
	if (!token_name(token))
		cmd_misuse(self, "release: \"%s\" is not a token", token);
	fd = connect_daemon(token);
	if (send(fd, token, TOKEN_DIGITS, MSG_NOSIGNAL) != TOKEN_DIGITS ||
	    read(fd, &answer, 1) != 1)
		cmd_die(EXIT_CLOSED, "release: who held for this token ended "
			"just now");
	if (answer != TOKEN_RELEASED)
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
