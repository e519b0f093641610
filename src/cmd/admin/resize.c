/* SPDX-License-Identifier: MIT */
/* weir resize: change the capacity of a semaphore. */
#include <stdlib.h>

#include "cmd/admin/admin.h"
#include "cmd/admin/remote.h"
#include "cmd/lib/fail.h"
#include "cmd/lib/options.h"
#include "cmd/lib/remote.h"
#include "cmd/lib/semaphore.h"

#define DIGITS "0123456789"

enum { OPT_SHARED = 256 };

/*
 * A negative N looks like an option.  Exits with the message of a number that is
 * out of range.
 */
static _Noreturn void refuse_negative(const struct cmd *self, char **argv)
{
	while (argv[0][0] != '-' || argv[0][1] < '0' || argv[0][1] > '9')
		argv++;
	(void)options_count(self, "capacity", argv[0], 0, WEIR_SEM_MAX);
	/* -0 */
	cmd_misuse(self, "resize: unknown option %s", argv[0]);
}

static int run(const struct cmd *self, int argc, char **argv)
{
	static const struct option longs[] = {
		OPTIONS_HELP, { "shared", no_argument, NULL, OPT_SHARED },
		OPTIONS_END
	};
	const char *words[2] = { NULL, NULL };
	weir_named_opts opts = { .label = "weir resize" };
	int64_t debt, capacity;
	int option, count = 0;
	weir_named *sem;
	weir_err err;

	while ((option = options_next(self, argc, argv, DIGITS, longs)) != -1) {
		if (option == OPT_SHARED)
			opts.flags |= WEIR_NAMED_SHARED;
		else if (option >= '0' && option <= '9')
			refuse_negative(self, argv + 1);
		else
			options_name(self, optarg, &words[count++ > 0]);
	}
	for (; optind < argc; optind++)
		options_name(self, argv[optind], &words[count++ > 0]);
	if (count < 2)
		cmd_misuse(self, "resize: NAME and N are required");
	capacity = options_count(self, "capacity", words[1], 0, WEIR_SEM_MAX);
	if (remote_url(words[0])) {
		remote_refuse_password(words[0]);
		return remote_resize(remote_url(words[0]), capacity);
	}
	sem = semaphore_open(words[0], &opts);
	err = weir_named_resize(sem, capacity, &debt);
	if (err)
		cmd_fail(words[0], err, NULL);
	if (debt)
		cmd_message("%s: %lld held above the new capacity; nothing is "
			    "granted until that many are released", words[0],
			    (long long)debt);
	return EXIT_SUCCESS;
}

const struct cmd cmd_resize = {
	.name = "resize",
	.summary = "change the capacity of a semaphore",
	.help =
"usage: weir resize NAME N\n"
"\n"
"Sets the capacity of the semaphore NAME to N.  If more than N permits are held,\n"
"nothing is granted until enough of them are released.\n"
"\n"
"      --shared   allow a semaphore that other users can use\n"
"  -h, --help     print this text\n",
	.run = run,
};
