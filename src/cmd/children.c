/* SPDX-License-Identifier: MIT */
/*
 * The children of this process, which is a subreaper: also what others left.
 *
 * A number counts only if waitid says that it is a child of ours.  Until we
 * reap it, which nobody else can, it is nobody else's: it may be signalled.
 */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/job.h"

/* No kernel gives larger numbers to processes. */
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

		/* The rest is found the next time. */
		if (!more)
			return;
		list->pids = more;
		list->room = room;
	}
	list->pids[list->count++] = pid;
}

/*
 * Whether the numbers in /proc are those of our PID namespace: then our own
 * line of them has one.
 */
static bool proc_is_ours(void)
{
	FILE *status = fopen("/proc/self/status", "re");
	char line[256];
	bool ours = false;

	while (status && fgets(line, sizeof(line), status))
		if (!strncmp(line, "NSpid:", 6)) {
			char *end;

			ours = strtol(line + 6, &end, 10) == getpid() &&
			       *end == '\n';
		}
	if (status)
		fclose(status);
	return ours;
}

void children_find(struct children *list)
{
	DIR *all = proc_is_ours() ? opendir("/proc") : NULL;
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
