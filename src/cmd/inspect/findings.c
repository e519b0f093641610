/* SPDX-License-Identifier: MIT */
/* Findings about a semaphore that can be opened, and about abandoned files. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cmd/inspect/doctor.h"
#include "cmd/lib/describe_holder.h"
#include "cmd/lib/duration.h"
#include "cmd/lib/fail.h"
#include "cmd/lib/process_state.h"
#include "cmd/lib/snapshot.h"
#include "cmd/lib/text.h"
#include "cmd/lib/token.h"

static void report_entry(const weir_named_info *info,
		      const weir_named_entry *entry)
{
	const char *label = *entry->label ? entry->label : "no label";
	char age[DURATION_ROOM];
	const char *since = duration_text(snapshot_age(entry, weir_now_ns()),
					  age);
	const char *obstacle = process_obstacle_of(entry);

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
	} else if (obstacle) {
		printf("note: process %d (", entry->pid);
		text_plain(stdout, label);
		printf(") is %s; it has %s %lld for %s\n", obstacle,
		       entry->role == WEIR_NAMED_WAITS ? "waited for" : "held",
		       (long long)entry->weight, since);
	}
	doctor_report_processes(entry);
}

/* Report the process that has the internal lock, so that others wait. */
static int report_locker(const weir_named_entry *locker)
{
	char room[HOLDER_ROOM];

	doctor_print("problem: %s; others wait until it continues or ends",
		     describe_locker(locker, room));
	return EXIT_CLOSED;
}

int doctor_report(const weir_named_info *info, const weir_named_entry *entries,
		  const char *locked)
{
	const weir_named_entry *locker = snapshot_locker(info, entries);

	printf("%s%lld of %lld free, %u waiting%s\n",
	       locker || locked ? "" : "ok: ", (long long)info->free,
	       (long long)info->capacity, info->waiters,
	       info->closed ? ", closed" : info->paused ? ", paused" : "");
	for (uint32_t i = locker ? 1 : 0; i < info->entries; i++)
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
	if (locked)
		doctor_print("problem: %s is locked by another process; no "
			     "process can open it until that one unlocks it or "
			     "ends", locked);
	return locker ? report_locker(locker) :
	       locked ? EXIT_DAMAGED : EXIT_SUCCESS;
}

/*
 * Files beside the semaphores: docs/design/named-format.md.  A process needs
 * microseconds to lock a lent file, to rename a temporary one, and to listen on
 * a socket.
 */
#define LENT_PREFIX ".weir-lent-"
#define TEMP_PREFIX ".weir-temp-"
#define NEW_SECONDS 60

static bool begins_with(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

static bool is_locked(const char *path)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	bool locked = fd < 0 || fcntl(fd, F_OFD_GETLK, &lock) ||
		      lock.l_type != F_UNLCK;

	if (fd >= 0)
		close(fd);
	return locked;
}

/*
 * Returns true if no process uses the file.  A new file may belong to a process
 * that has not finished its preparations, so its age counts.
 */
static bool is_abandoned(const char *path, const char *file)
{
	struct stat info;
	bool old = !lstat(path, &info) &&
		   time(NULL) - info.st_mtime >= NEW_SECONDS;

	if (begins_with(file, TOKEN_PREFIX))
		return !token_has_listener(path);
	if (begins_with(file, TOKEN_NEW))
		return old && S_ISSOCK(info.st_mode) &&
		       !token_has_listener(path);
	if (begins_with(file, LENT_PREFIX))
		return old && S_ISREG(info.st_mode) && !is_locked(path);
	return begins_with(file, TEMP_PREFIX) && old && S_ISREG(info.st_mode);
}

void doctor_remove_abandoned(const char *name)
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
		if (entry->d_name[0] != '.')
			continue;
		(void)snprintf(whole, sizeof(whole), "%.3900s/%.200s", path,
			       entry->d_name);
		if (is_abandoned(whole, entry->d_name) && !unlink(whole))
			doctor_print("repaired: removed %s; %s was killed",
				     entry->d_name,
				     begins_with(entry->d_name, TOKEN_PREFIX) ?
				     "its hold daemon" : "its process");
	}
	if (folder)
		closedir(folder);
}
