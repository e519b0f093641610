/* SPDX-License-Identifier: MIT */
/* weir dump: write the registry of a process to a file. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cmd/diag/diag.h"
#include "cmd/diag/json.h"
#include "cmd/diag/source.h"
#include "cmd/lib/fail.h"
#include "cmd/lib/options.h"

/* Store the build IDs: a later reader may have other files at these paths. */
static void find_build_ids(struct modules *modules)
{
	for (uint32_t i = 0; i < modules->count; i++) {
		struct module *module = &modules->list[i];
		char path[MODULE_PATH + 64];

		if (*module->build_id)
			continue;
		(void)snprintf(path, sizeof(path), "%s%s", modules->root,
			       module->path);
		modules_build_id(path, module->build_id);
	}
}

static int run(const struct cmd *self, int argc, char **argv)
{
	static const struct option longs[] = {
		OPTIONS_HELP, { "json", no_argument, NULL, 'j' }, OPTIONS_END
	};
	const char *what = NULL;
	static struct diag diag;
	bool json = false;
	int option;

	while ((option = options_next(self, argc, argv, "", longs)) != -1) {
		if (option == 'j')
			json = true;
		else
			options_name(self, optarg, &what);
	}
	options_required(self, argc, argv, &what, "PID");
	if (!json && isatty(STDOUT_FILENO))
		cmd_misuse(self, "dump: standard output is a terminal; "
			   "redirect it to a file");
	diag_open(&diag, what);
	if (json) {
		diag_read(&diag);
		(void)diag_json(stdout, &diag, NULL);
	} else {
		find_build_ids(&diag.modules);
		diag_dump_write(&diag);
	}
	cmd_flush();
	diag_tell_others(&diag);
	diag_close(&diag);
	return EXIT_SUCCESS;
}

const struct cmd cmd_dump = {
	.name = "dump",
	.summary = "save the holders and waiters of a process to a file",
	.help =
"usage: weir dump PID|FILE [--json] > FILE\n"
"\n"
"Writes the registry of a process to standard output: its watched semaphores,\n"
"their holders and waiters.  \"weir explain\" and \"weir top\" read the file.\n"
"The process is not stopped and does not notice.\n"
"\n"
"      --json   print one JSON object on one line, as \"weir explain --json\"\n"
"  -h, --help   print this text\n",
	.run = run,
};
