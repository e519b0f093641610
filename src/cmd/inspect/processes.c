/* SPDX-License-Identifier: MIT */
/*
 * Stopped processes that belong to a participant.
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
static struct process *all;
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
		count += process_read((pid_t)pid, &all[count]);
	}
	closedir(folder);
}

static const struct process *find(pid_t pid)
{
	for (size_t i = 0; all && i < count; i++)
		if (all[i].pid == pid)
			return &all[i];
	return NULL;
}

/* The list may contain a cycle, because pids are reused: bound the walk. */
static bool descends(const struct process *process, pid_t from)
{
	for (size_t i = 0; process && i < count; i++) {
		if (process->parent == from)
			return true;
		process = find(process->parent);
	}
	return false;
}

void doctor_report_processes(const weir_named_entry *entry)
{
	const struct process *own, *wrapper;

	if (!process_is_here(entry))
		return;
	read_all();
	own = find(entry->pid);
	wrapper = own ? find(own->parent) : NULL;
	if (wrapper && process_is_stopped(wrapper) &&
	    !strcmp(wrapper->name, own->name))
		doctor_print("note: process %d (%s), the wrapper of process "
			     "%d, is stopped", wrapper->pid, wrapper->name,
			     entry->pid);
	for (size_t i = 0; i < count; i++)
		if (process_is_stopped(&all[i]) &&
		    descends(&all[i], entry->pid))
			doctor_print("note: process %d (%s), of the job of "
				     "process %d, is stopped", all[i].pid,
				     all[i].name, entry->pid);
}
