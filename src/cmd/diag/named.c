/* SPDX-License-Identifier: MIT */
/* Source: the semaphores between the processes of this host. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/diag/named.h"
#include "cmd/lib/fail.h"
#include "cmd/lib/names.h"
#include "cmd/lib/snapshot.h"

/*
 * Read the semaphores, and count those that cannot be read.  A semaphore that has
 * been removed since its name was listed is not counted.
 */
static void read_names(char **names, int count, struct named_all *all,
		       uint32_t *unreadable)
{
	named_make(all, (size_t)count);
	*unreadable = 0;
	for (int i = 0; i < count; i++) {
		weir_named_opts opts = { .flags = WEIR_NAMED_SHARED |
						  WEIR_NAMED_OBSERVER };
		struct named_one *one = named_next(all, names[i]);
		weir_named *sem;
		weir_err err = weir_named_open(names[i], &opts, &sem);

		if (err) {
			if (err != WEIR_ESYSTEM || errno != ENOENT)
				(*unreadable)++;
			continue;
		}
		if (!snapshot_settle(sem, &one->info, &one->entries)) {
			named_add(all);
		} else {
			free(one->entries);
			(*unreadable)++;
		}
		(void)!weir_named_close_handle(sem);
	}
}

/* Fail because the folder of names cannot be read. */
static bool fail_folder(struct diag *diag, int errnum)
{
	char folder[PATH_MAX];

	if (weir_named_path(NULL, folder, sizeof(folder)))
		(void)snprintf(folder, sizeof(folder), "the folder of names");
	return diag_fail(diag, cmd_status(WEIR_ESYSTEM, errnum), "%s: %s",
			 folder, strerror(errnum));
}

bool diag_named_read(struct diag *diag)
{
	struct named_all before, now;
	char **names;
	int count;

	if (diag->url) {
		remote_read(diag);
		return true;
	}
	count = names_list(&names);
	if (count < 0)
		return fail_folder(diag, errno);
	read_names(names, count, &before, &diag->unreadable);
	read_names(names, count, &now, &diag->unreadable);
	named_model(diag, &before, &now);
	named_free(&before);
	named_free(&now);
	free(names);
	return true;
}
