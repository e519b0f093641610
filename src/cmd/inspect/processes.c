/* SPDX-License-Identifier: MIT */
/*
 * Stopped and frozen processes that belong to a participant.
 *
 * A participant of `weir run` is the guardian.  Its parent is the wrapper, and
 * its descendants are the job.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/inspect/doctor.h"
#include "cmd/lib/memory.h"
#include "cmd/lib/process_state.h"

/* All processes of this PID namespace, as of the first use. */
static struct known {
	struct process process;
	const char *obstacle;
} *all;
static size_t count;

static void read_all(void)
{
	DIR *folder = all ? NULL : opendir("/proc");
	struct dirent *entry;
	size_t room = 0;

	if (!folder)
		return;
	while ((entry = readdir(folder))) {
		char *end;
		long pid = strtol(entry->d_name, &end, 10);

		if (*end || pid <= 0)
			continue;
		if (count == room) {
			room = room ? 2 * room : 256;
			all = memory_realloc(all, room * sizeof(*all));
		}
		if (!process_read((pid_t)pid, &all[count].process))
			continue;
		all[count].obstacle = process_obstacle(&all[count].process);
		count++;
	}
	closedir(folder);
}

static const struct known *find(pid_t pid)
{
	for (size_t i = 0; all && i < count; i++)
		if (all[i].process.pid == pid)
			return &all[i];
	return NULL;
}

/*
 * Returns true if the process is a descendant of `from`.  The number of steps
 * is limited: the list may contain a cycle, because pids are reused.
 */
static bool descends(const struct known *known, pid_t from)
{
	for (size_t i = 0; known && i < count; i++) {
		if (known->process.parent == from)
			return true;
		known = find(known->process.parent);
	}
	return false;
}

/* `relation` is that of the process to the participant. */
static void report(const struct known *known, const char *relation,
		   const weir_named_entry *entry)
{
	doctor_print("note: process %d (%s), %s of process %d, is %s",
		     known->process.pid, known->process.name, relation,
		     entry->pid, known->obstacle);
}

void doctor_report_processes(const weir_named_entry *entry)
{
	const struct known *own, *wrapper;

	if (!process_is_here(entry))
		return;
	read_all();
	own = find(entry->pid);
	wrapper = own ? find(own->process.parent) : NULL;
	if (wrapper && wrapper->obstacle &&
	    !strcmp(wrapper->process.name, own->process.name))
		report(wrapper, "the wrapper", entry);
	for (size_t i = 0; all && i < count; i++)
		if (all[i].obstacle && descends(&all[i], entry->pid))
			report(&all[i], "of the job", entry);
}
