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

	/* Without the folder of names there is no hold daemon of a URL. */
	gone = err == WEIR_ESYSTEM && errno == ENOENT;
	if (err && !gone)
		cmd_fail(token_name(token), err, NULL);
	fd = err ? -1 : token_connect(path);
	gone = gone || (fd < 0 && (errno == ECONNREFUSED || errno == ENOENT));
	if (!err && fd < 0 && errno == ECONNREFUSED)
		/* The hold daemon was killed: its permits are free already. */
		(void)unlink(path);
	if (gone)
		cmd_die(EXIT_CLOSED, "%s: this token holds no permit (any "
			"more)", token_name(token));
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
	options_required(self, argc, argv, &token, "TOKEN");
	if (!token_name(token))
		cmd_misuse(self, "release: \"%s\" is not a token", token);
	fd = connect_daemon(token);
	if (send(fd, token, TOKEN_DIGITS, MSG_NOSIGNAL) != TOKEN_DIGITS ||
	    read(fd, &answer, 1) != 1)
		cmd_die(EXIT_CLOSED, "%s: the hold daemon ended before it "
			"answered", token_name(token));
	if (answer == TOKEN_UNCONFIRMED)
		cmd_die(EXIT_CLOSED, "%s: the server did not confirm the "
			"release; the permit is free at the end of its lease at "
			"the latest", token_name(token));
	if (answer != TOKEN_RELEASED)
		cmd_die(EXIT_LOST, "%s: the permit was lost before the release",
			token_name(token));
	return EXIT_SUCCESS;
}

const struct cmd cmd_release = {
	.name = "release",
	.summary = "release the permit of a weir hold",
	.help =
"usage: weir release TOKEN\n"
"\n"
"Releases the permit of the \"weir hold\" that printed TOKEN.  Exits when the\n"
"permit is released; 69 if it was released before, or if a server does not\n"
"confirm the release.\n"
"\n"
"  -h, --help   print this text\n",
	.run = run,
};
