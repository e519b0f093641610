/* SPDX-License-Identifier: MIT */
/* The orphans among our children: processes that were reparented to us. */
#include <sys/wait.h>

#include "cmd/jobserver/orphans.h"
#include "cmd/lib/children.h"

/*
 * Children that existed before the command: a script may have ended with "exec
 * weir".
 */
static struct children former;

void orphans_init(void)
{
	children_find(&former);
}

/*
 * Returns the index of pid in the list; list->count if pid is not in the list.
 */
static size_t index_of(const struct children *list, pid_t pid)
{
	size_t i = 0;

	while (i < list->count && list->pids[i] != pid)
		i++;
	return i;
}

int64_t orphans_count(void)
{
	static struct children list;
	int64_t count = -1;	/* the command is not an orphan */

	children_find(&list);
	for (size_t i = 0; i < list.count; i++)
		count += index_of(&former, list.pids[i]) == former.count;
	return count;
}

bool orphans_reap(pid_t command, int *status)
{
	bool ended = false;
	int one;
	pid_t pid;

	while ((pid = waitpid(-1, &one, WNOHANG)) > 0) {
		size_t index = index_of(&former, pid);

		if (index < former.count)
			former.pids[index] = former.pids[--former.count];
		if (pid == command) {
			*status = one;
			ended = true;
		}
	}
	return ended;
}
