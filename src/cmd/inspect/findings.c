/* SPDX-License-Identifier: MIT */
/* Findings about a semaphore that can be opened, and about old sockets. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cmd/inspect/doctor.h"
#include "cmd/lib/duration.h"
#include "cmd/lib/fail.h"
#include "cmd/lib/snapshot.h"
#include "cmd/lib/text.h"
#include "cmd/lib/token.h"

/* Returns true if the process is in our own PID namespace. */
static bool is_in_namespace(const weir_named_entry *entry)
{
	struct stat info;

	return !stat("/proc/self/ns/pid", &info) &&
	       entry->pid_namespace == (uint64_t)info.st_ino;
}

/* Returns true if the process is stopped: state T or t in /proc. */
static bool is_stopped(const weir_named_entry *entry)
{
	char path[64], line[512] = "", *after;
	FILE *stat;

	if (!is_in_namespace(entry))
		return false;
	(void)snprintf(path, sizeof(path), "/proc/%d/stat", entry->pid);
	stat = fopen(path, "re");
	if (!stat)
		return false;
	if (!fgets(line, sizeof(line), stat))
		line[0] = 0;
	fclose(stat);
	/* The name of the program may contain any character, also ')'. */
	after = strrchr(line, ')');
	return after && (after[2] == 'T' || after[2] == 't');
}

static void report_entry(const weir_named_info *info,
		      const weir_named_entry *entry)
{
	const char *label = *entry->label ? entry->label : "no label";
	char age[DURATION_ROOM];
	const char *since = duration_text(snapshot_age(entry, weir_now_ns()),
					  age);

	if (entry->dead) {
		printf("note: process %d (", entry->pid);
		text_plain(stdout, label);
		printf(") was killed; its descendants hold %lld until they "
		       "end\n", (long long)entry->weight);
	} else if (entry->role == WEIR_NAMED_OVERSIZED) {
		printf("note: process %d (", entry->pid);
		text_plain(stdout, label);
		printf(") waits for %lld, more than the capacity of %lld\n",
		       (long long)entry->weight, (long long)info->capacity);
	} else if (is_stopped(entry)) {
		printf("note: process %d (", entry->pid);
		text_plain(stdout, label);
		printf(") is stopped; it has %s %lld for %s\n",
		       entry->role == WEIR_NAMED_WAITS ? "waited for" : "held",
		       (long long)entry->weight, since);
	}
}

int doctor_report(const weir_named_info *info, const weir_named_entry *entries)
{
	/*
	 * The sum is unsigned, because the counts of a damaged file may
	 * overflow.
	 */
	int64_t rest = (int64_t)((uint64_t)info->capacity -
				 (uint64_t)info->free - (uint64_t)info->held -
				 (uint64_t)info->granted +
				 (uint64_t)info->debt);

	printf("ok: %lld of %lld free, %u waiting%s\n", (long long)info->free,
	       (long long)info->capacity, info->waiters,
	       info->closed ? ", closed" : info->paused ? ", paused" : "");
	for (uint32_t i = 0; i < info->entries; i++)
		report_entry(info, &entries[i]);
	if (!info->capacity)
		printf("note: the capacity is 0; nothing is granted until "
		       "\"weir resize\" raises it\n");
	if (info->paused)
		printf("note: paused; nothing is granted until \"weir resume\""
		       "\n");
	if (info->debt)
		printf("note: %lld must be released before any is granted\n",
		       (long long)info->debt);
	if (!rest)
		return EXIT_SUCCESS;
	printf("problem: %lld permits are neither free nor held\n",
	       (long long)rest);
	return EXIT_DAMAGED;
}

/* A hold daemon needs microseconds between bind and rename. */
#define NEW_SECONDS 60

static bool begins_with(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

/*
 * Returns true if the socket has no listener.  A new one without a listener may
 * belong to a hold daemon that has not called listen yet, so its age counts.
 */
static bool is_abandoned(const char *path, const char *file)
{
	struct stat info;
	int fd;

	if (!begins_with(file, TOKEN_PREFIX) && !begins_with(file, TOKEN_NEW))
		return false;
	if (begins_with(file, TOKEN_NEW) &&
	    (lstat(path, &info) || !S_ISSOCK(info.st_mode) ||
	     time(NULL) - info.st_mtime < NEW_SECONDS))
		return false;
	fd = token_connect(path);
	if (fd >= 0)
		close(fd);
	return fd < 0 && errno == ECONNREFUSED;
}

void doctor_remove_sockets(const char *name)
{
	char path[PATH_MAX], whole[TOKEN_PATH_ROOM];
	struct dirent *entry;
	char *slash;
	DIR *folder;

	if (weir_named_path(name, path, sizeof(path)))
		return;
	slash = name ? strrchr(path, '/') : NULL;
	if (slash)
		*slash = 0;
	folder = opendir(*path ? path : "/");
	while (folder && (entry = readdir(folder))) {
		(void)snprintf(whole, sizeof(whole), "%.3900s/%.200s", path,
			       entry->d_name);
		if (is_abandoned(whole, entry->d_name) && !unlink(whole))
			doctor_print("repaired: removed %s; its hold daemon "
				     "was killed", entry->d_name);
	}
	if (folder)
		closedir(folder);
}
