/* SPDX-License-Identifier: MIT */
/*
 * The children of this process.  This process is a subreaper, so orphaned
 * descendants are among its children.
 *
 * A pid is listed only if waitid confirms that it is a child.  The kernel does
 * not reuse the pid until this process has reaped the child, so the pid may be
 * signalled safely.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/lib/children.h"

/* The kernel's upper bound of pids (PID_MAX_LIMIT). */
#define PID_LIMIT (1 << 22)

bool children_has(pid_t pid)
{
	siginfo_t info;

	info.si_pid = 0;
	return !waitid(P_PID, (id_t)pid, &info,
		       WEXITED | WNOHANG | WNOWAIT);
}

static void add_if_child(struct children *list, pid_t pid)
{
	if (pid <= 1 || !children_has(pid))
		return;
	if (list->count == list->room) {
		size_t room = list->room ? 2 * list->room : 16;
		pid_t *more = realloc(list->pids, room * sizeof(*more));

		/* The next call of children_find may find the rest. */
		if (!more)
			return;
		list->pids = more;
		list->room = room;
	}
	list->pids[list->count++] = pid;
}

/*
 * Returns true if /proc shows the pids of our own PID namespace.  NSpid then
 * has exactly one number, our pid.
 */
static bool is_proc_usable(void)
{
	FILE *status = fopen("/proc/self/status", "re");
	char line[256];
	bool usable = false;

	while (status && fgets(line, sizeof(line), status))
		if (!strncmp(line, "NSpid:", 6)) {
			char *end;

			usable = strtol(line + 6, &end, 10) == getpid() &&
				 *end == '\n';
		}
	if (status)
		fclose(status);
	return usable;
}

void children_find(struct children *list)
{
	DIR *all = is_proc_usable() ? opendir("/proc") : NULL;
	struct dirent *entry;

	list->count = 0;
	if (!all) {
		for (pid_t pid = 2; pid < PID_LIMIT; pid++)
			add_if_child(list, pid);
		return;
	}
	while ((entry = readdir(all))) {
		char *end;
		long pid = strtol(entry->d_name, &end, 10);

		if (!*end && pid < PID_LIMIT)
			add_if_child(list, (pid_t)pid);
	}
	closedir(all);
}
