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

void children_add(pid_t pid, void *arg)
{
	struct children *list = arg;

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

/* Call found for the children with pids from `from` to below `to`. */
static void scan(pid_t from, pid_t to, void (*found)(pid_t pid, void *arg),
		 void *arg)
{
	for (pid_t pid = from; pid < to; pid++)
		if (children_has(pid))
			found(pid, arg);
}

bool children_exist(void)
{
	siginfo_t info;

	return !waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT);
}

bool children_each(void (*found)(pid_t pid, void *arg), void *arg)
{
	struct dirent *entry;
	DIR *all;

	if (!children_exist())
		return true;
	all = is_proc_usable() ? opendir("/proc") : NULL;
	if (!all) {
		/* Most children have higher pids than their parent. */
		scan(getpid() + 1, PID_LIMIT, found, arg);
		scan(2, getpid(), found, arg);
		return false;
	}
	while ((entry = readdir(all))) {
		char *end;
		long pid = strtol(entry->d_name, &end, 10);

		if (!*end && pid > 1 && pid < PID_LIMIT &&
		    children_has((pid_t)pid))
			found((pid_t)pid, arg);
	}
	closedir(all);
	return true;
}

void children_find(struct children *list)
{
	list->count = 0;
	(void)children_each(children_add, list);
}
