/* SPDX-License-Identifier: MIT */
/*
 * weir doctor: report problems of semaphores, and repair them.
 *
 * Participants remove dead participants and repair the queue.  The doctor
 * repairs the rest: files that cannot be opened, and files that killed processes
 * have left.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/inspect/doctor.h"
#include "cmd/inspect/inspect.h"
#include "cmd/inspect/remote.h"
#include "cmd/lib/fail.h"
#include "cmd/lib/names.h"
#include "cmd/lib/options.h"
#include "cmd/lib/remote.h"
#include "cmd/lib/snapshot.h"
#include "cmd/lib/text.h"

void doctor_print(const char *format, ...)
{
	char line[3 * PATH_MAX];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	text_clean(line);
	puts(line);
}

typedef weir_err read_fn(weir_named *sem, weir_named_info *info,
			 weir_named_entry **entries);

/* Examine one semaphore.  Returns the exit status. */
static int examine(const char *name, read_fn *read)
{
	char why[512] = "";
	/* SHARED: also examine semaphores that other users may write to. */
	weir_named_opts opts = { .why = why, .why_size = sizeof(why),
				 .flags = WEIR_NAMED_SHARED |
					  WEIR_NAMED_OBSERVER };
	struct doctor_file file = { .exists = false };
	weir_named_entry *entries;
	weir_named_info info;
	weir_named *sem;
	weir_err err;
	int status;

	doctor_print("%s", text_visible(name));
	doctor_file_record(&file, name);
	err = weir_named_open(name, &opts, &sem);
	if (err) {
		status = doctor_repair(name, &file, err, errno, why);
	} else {
		err = read(sem, &info, &entries);
		if (err)
			status = doctor_repair(name, &file, err, errno, "");
		else
			status = doctor_report(&info, entries,
					       doctor_is_locked(&file) ?
						       file.path : NULL);
		free(entries);
		(void)!weir_named_close_handle(sem);
	}
	return status;
}

static int run(const struct cmd *self, int argc, char **argv)
{
	static const struct option longs[] = { OPTIONS_HELP, OPTIONS_END };
	const char *name = NULL;
	int status = EXIT_SUCCESS;

	while (options_next(self, argc, argv, "", longs) != -1)
		options_name(self, optarg, &name);
	options_rest(self, argc, argv, &name);
	if (remote_url(name)) {
		remote_refuse_password(name);
		return remote_doctor(remote_url(name));
	}
	if (name) {
		status = examine(name, snapshot_settle);
	} else {
		char **names;
		int count = names_list(&names);

		if (count < 0)
			names_fail("doctor");
		for (int i = 0; i < count; i++) {
			int one = examine(names[i], snapshot_read);

			status = one ? one : status;
		}
		free(names);
	}
	doctor_remove_abandoned(name);
	cmd_flush();
	return status;
}

const struct cmd cmd_doctor = {
	.name = "doctor",
	.summary = "find and repair problems of semaphores",
	.help =
"usage: weir doctor [NAME]\n"
"\n"
"Examines the semaphore NAME, or all semaphores without a \"/\" in their name.\n"
"Prints its findings and repairs what it can: a damaged file is moved away if no\n"
"process uses it, and files that killed processes have left are removed.  Exit\n"
"status: 0 no problem is left; else as for \"weir run\".\n"
"\n"
"  -h, --help   print this text\n",
	.run = run,
};
