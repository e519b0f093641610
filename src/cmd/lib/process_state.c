/* SPDX-License-Identifier: MIT */
/* States of processes, from /proc. */
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

bool process_is_stopped(const struct process *process)
{
	return process->state == 'T' || process->state == 't';
}

bool process_is_here(const weir_named_entry *entry)
{
	static struct stat own;

	return (own.st_ino || !stat("/proc/self/ns/pid", &own)) &&
	       entry->pid_namespace == (uint64_t)own.st_ino;
}

/* Returns true if the control group of the process is frozen. */
static bool is_frozen(pid_t pid)
{
	char path[64], line[LINE_ROOM], file[LINE_ROOM + 64];
	bool frozen = false;
	FILE *events;

	(void)snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	/* The line of version 2 is "0::" and the path of the group. */
	if (!read_line(path, line) || strncmp(line, "0::", 3) != 0)
		return false;
	line[strcspn(line, "\n")] = 0;
	(void)snprintf(file, sizeof(file), "/sys/fs/cgroup%s/cgroup.events",
		       line + 3);
	events = fopen(file, "re");
	while (events && fgets(line, sizeof(line), events))
		frozen = frozen || !strcmp(line, "frozen 1\n");
	if (events)
		fclose(events);
	return frozen;
}

const char *process_obstacle(const weir_named_entry *entry)
{
	struct process process;

	if (!process_is_here(entry) || !process_read(entry->pid, &process))
		return NULL;
	if (process.state == 't')
		return "stopped by a debugger";
	if (process.state == 'T')
		return "stopped";
	return is_frozen(entry->pid) ? "frozen" : NULL;
}
