/* SPDX-License-Identifier: MIT */
/* States of processes, from /proc. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/lib/process_state.h"

#define LINE_ROOM 512

/* Read the first line of a file.  Returns false if there is none. */
static bool read_line(const char *path, char line[LINE_ROOM])
{
	FILE *file = fopen(path, "re");
	bool got = file && fgets(line, LINE_ROOM, file);

	if (file)
		fclose(file);
	return got;
}

bool process_read(pid_t pid, struct process *process)
{
	char path[64], line[LINE_ROOM], *name, *after;
	size_t length;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (!read_line(path, line))
		return false;
	/* The name of the program may contain any character, also ')'. */
	name = strchr(line, '(');
	after = strrchr(line, ')');
	if (!name || !after || after < name || strlen(after) < 5)
		return false;
	length = (size_t)(after - name - 1);
	if (length >= sizeof(process->name))
		length = sizeof(process->name) - 1;
	memcpy(process->name, name + 1, length);
	process->name[length] = 0;
	process->pid = pid;
	process->state = after[2];
	process->parent = (pid_t)strtol(after + 4, NULL, 10);
	return true;
}

/* Threads that have ended are not listed, except the first one. */
static bool has_other_thread(pid_t pid)
{
	struct dirent *entry;
	bool found = false;
	char path[48];
	DIR *folder;

	(void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	folder = opendir(path);
	if (!folder)
		return false;
	while (!found && (entry = readdir(folder))) {
		long thread = strtol(entry->d_name, NULL, 10);

		found = thread > 0 && thread != pid;
	}
	(void)closedir(folder);
	return found;
}

bool process_has_ended(pid_t pid)
{
	struct process first;

	return !process_read(pid, &first) ||
	       ((first.state == 'Z' || first.state == 'X') &&
		!has_other_thread(pid));
}

bool process_is_here(const weir_named_entry *entry)
{
	static struct stat own;

	return (own.st_ino || !stat("/proc/self/ns/pid", &own)) &&
	       entry->pid_namespace == (uint64_t)own.st_ino;
}

/*
 * The hierarchies of control groups that can freeze a process, and the files that
 * show whether a group is frozen, by itself or by a parent.
 */
static const struct freezer {
	const char *of;		/* in /proc/PID/cgroup, before the path */
	const char *mount;
	const char *file;
	const char *line;	/* of the file, in a frozen group */
} freezers[] = {
	{ ":", "/sys/fs/cgroup", "cgroup.events", "frozen 1\n" },
	/* Version 2 on a system that uses version 1 for its controllers. */
	{ ":", "/sys/fs/cgroup/unified", "cgroup.events", "frozen 1\n" },
	{ "freezer:", "/sys/fs/cgroup/freezer", "freezer.state", "FROZEN\n" },
};

static bool has_line(const char *path, const char *wanted)
{
	FILE *file = fopen(path, "re");
	char line[LINE_ROOM];
	bool found = false;

	while (file && !found && fgets(line, sizeof(line), file))
		found = !strcmp(line, wanted);
	if (file)
		fclose(file);
	return found;
}

/* `membership` is a line of /proc/PID/cgroup: "NUMBER:CONTROLLERS:PATH". */
static bool is_frozen_in(const struct freezer *freezer, const char *membership)
{
	const char *group = strchr(membership, ':');
	size_t length = strlen(freezer->of);
	char path[LINE_ROOM + 64];

	if (!group || strncmp(group + 1, freezer->of, length) != 0)
		return false;
	(void)snprintf(path, sizeof(path), "%s%s/%s", freezer->mount,
		       group + 1 + length, freezer->file);
	return has_line(path, freezer->line);
}

/* Returns true if a control group of the process is frozen. */
static bool is_frozen(pid_t pid)
{
	char path[64], line[LINE_ROOM];
	bool frozen = false;
	FILE *groups;

	(void)snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	groups = fopen(path, "re");
	while (groups && !frozen && fgets(line, sizeof(line), groups)) {
		line[strcspn(line, "\n")] = 0;
		for (size_t i = 0; i < sizeof(freezers) / sizeof(*freezers); i++)
			frozen = frozen || is_frozen_in(&freezers[i], line);
	}
	if (groups)
		fclose(groups);
	return frozen;
}

const char *process_obstacle(const struct process *process)
{
	if (process->state == 't')
		return "stopped by a debugger";
	if (process->state == 'T')
		return "stopped";
	return is_frozen(process->pid) ? "frozen" : NULL;
}

const char *process_obstacle_of(const weir_named_entry *entry)
{
	struct process process;

	if (!process_is_here(entry) || !process_read(entry->pid, &process))
		return NULL;
	return process_obstacle(&process);
}
