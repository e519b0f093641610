/* SPDX-License-Identifier: MIT */
/*
 * The registry of a living process.  Its mapping is found in /proc/PID/maps, and
 * is read through /proc/PID/fd/N.  If the process has closed the descriptor,
 * its memory is read (process_vm_readv).  The process is not stopped and does not
 * take part.
 *
 * A process that contains several copies of the library has several registries: the
 * first one is read, and the others are counted.  That of a copy which was unloaded is read
 * only if there is no other: the process may be in exit(3).  A process may have thousands of mappings
 * and descriptors with the name of a registry; only some of them are examined.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/diag/source.h"
#include "cmd/lib/fail.h"
#include "cmd/lib/memory.h"
#include "cmd/lib/process_state.h"

/*
 * Returns the ID of the process in its own PID namespace.  *apart: this is another
 * namespace than that of /proc.
 */
static uint32_t inner_pid(pid_t pid, bool *apart)
{
	char path[48], line[256];
	uint32_t inner = (uint32_t)pid;
	FILE *status;

	*apart = false;
	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	status = fopen(path, "re");
	if (!status)
		return inner;
	while (fgets(line, sizeof(line), status))
		if (!strncmp(line, "NSpid:", 6)) {
			const char *last = strrchr(line, '\t');

			/* A tab and an ID for each namespace. */
			*apart = last && last != strchr(line, '\t');
			if (last)
				inner = (uint32_t)strtoul(last, NULL, 10);
		}
	(void)fclose(status);
	return inner;
}

/* The most mappings and descriptors of a process that are examined. */
#define MAPPINGS_MAX 64u
#define DESCRIPTORS_MAX 262144u

/* Open the file of the mapping through a descriptor of the process. */
static int open_descriptor(struct diag *diag, uint64_t inode)
{
	char path[64];
	struct dirent *entry;
	int found = -1;
	DIR *folder;

	(void)snprintf(path, sizeof(path), "/proc/%d/fd", (int)diag->thread);
	folder = opendir(path);
	if (!folder)
		return -1;
	while (found < 0 && diag->descriptors < DESCRIPTORS_MAX &&
	       (entry = readdir(folder))) {
		char name[300], target[64] = "";
		struct stat info;
		ssize_t n;

		diag->descriptors++;
		(void)snprintf(name, sizeof(name), "/proc/%d/fd/%s",
			       (int)diag->thread, entry->d_name);
		n = readlink(name, target, sizeof(target) - 1);
		if (n < 0 || !strstr(target, "memfd:" RG_FILE_NAME))
			continue;
		found = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		if (found >= 0 && (fstat(found, &info) ||
				   info.st_ino != inode)) {
			(void)close(found);
			found = -1;
		}
	}
	(void)closedir(folder);
	return found;
}

/* The result of a search in the mappings of a process. */
enum found {
	FOUND,		/* its registry */
	UNLOADED,	/* one of a copy of the library that was unloaded */
	NONE,		/* no registry */
	HIDDEN,		/* nothing: the thread is ending or has ended */
	FAILED		/* they cannot be read: errno */
};

/*
 * Try one mapping.  The child of a fork may map its parent's registry; the
 * header has the PID of the process to which the registry belongs.
 */
static enum found try_mapping(struct diag *diag, uint64_t start, uint64_t inode,
			      uint32_t pid)
{
	enum found found = HIDDEN;
	struct rg_header header = { .pid = 0 };

	diag->address = start;
	diag->fd = open_descriptor(diag, inode);
	if (diag_read_bytes(diag, 0, &header, sizeof(header)))
		found = header.pid != pid ? NONE :
			header.unloaded ? UNLOADED : FOUND;
	if (found == FOUND)
		return found;
	if (diag->fd >= 0)
		(void)close(diag->fd);
	diag->fd = -1;
	return found;
}

/* Returns true if the mapping is another registry of the process than that of diag. */
static bool is_other(struct diag *diag, uint64_t start, uint64_t inode,
		     uint32_t pid)
{
	struct diag other = { .thread = diag->thread, .fd = -1,
			      .descriptors = diag->descriptors };
	bool is_registry = try_mapping(&other, start, inode, pid) == FOUND;

	diag->descriptors = other.descriptors;
	if (other.fd >= 0)
		(void)close(other.fd);
	return is_registry;
}

/* Returns true if the line of /proc/PID/maps may be that of a registry. */
static bool parse_mapping(const char *line, uint64_t *start, uint64_t *inode)
{
	static const char name[] = "/memfd:" RG_FILE_NAME;
	uint64_t offset;
	int path = 0;

	return sscanf(line, "%" SCNx64 "-%*x %*s %" SCNx64 " %*s %" SCNu64
		      " %n", start, &offset, inode, &path) >= 3 &&
	       path && !offset && !strncmp(line + path, name, sizeof(name) - 1);
}

/* Requires: errno is 0. */
static enum found find_registry(struct diag *diag, FILE *maps)
{
	uint32_t pid = inner_pid(diag->pid, &diag->apart);
	enum found found = HIDDEN;
	char line[4096 + 256];
	uint64_t first = 0, old_start = 0, old_inode = 0;
	bool hidden = false;

	while (fgets(line, sizeof(line), maps)) {
		uint64_t start, inode;

		found = found == FOUND ? FOUND : NONE;
		if (!parse_mapping(line, &start, &inode))
			continue;
		if (diag->mappings++ == MAPPINGS_MAX)
			break;
		if (found == FOUND) {
			diag->others += inode != first &&
					is_other(diag, start, inode, pid);
			continue;
		}
		found = try_mapping(diag, start, inode, pid);
		first = inode;
		if (found == UNLOADED && !old_start) {
			old_start = start;
			old_inode = inode;
		}
		hidden |= found == HIDDEN;
	}
	if (found != FOUND && old_start) {
		diag->address = old_start;
		diag->fd = open_descriptor(diag, old_inode);
		return FOUND;
	}
	/* An older kernel refuses the read, not the open. */
	if (found == HIDDEN && !hidden && errno)
		return FAILED;
	return found == NONE && hidden ? HIDDEN : found;
}

bool diag_has_proc(void)
{
	return !access("/proc/self", F_OK);
}

static bool fail_open(struct diag *diag, int errnum)
{
	if (errnum == ENOENT && !diag_has_proc())
		return diag_fail(diag, EXIT_WEIR, "%s: " DIAG_NO_PROC,
				 diag->name);
	if (errnum == ENOENT || errnum == ESRCH)
		return diag_no_process(diag);
	if (errnum == EACCES || errnum == EPERM)
		return diag_fail(diag, EXIT_REFUSED, "%s: permission denied: "
				 "only the user of a process, unless it is not "
				 "dumpable, and root with CAP_SYS_PTRACE may "
				 "read its registry", diag->name);
	return diag_fail(diag, EXIT_WEIR, "%s: %s", diag->name,
			 strerror(errnum));
}

/* Read the mappings through a thread of the process. */
static enum found find_through(struct diag *diag, pid_t thread)
{
	enum found found;
	char path[48];
	FILE *maps;
	int errnum;

	diag->thread = thread;
	(void)snprintf(path, sizeof(path), "/proc/%d/maps", (int)thread);
	maps = fopen(path, "re");
	/* Some kernels refuse the open if the thread has ended. */
	if (!maps)
		return errno == ESRCH ? HIDDEN : FAILED;
	errno = 0;
	found = find_registry(diag, maps);
	errnum = errno;
	(void)fclose(maps);
	errno = errnum;
	return found;
}

/*
 * When the first thread has ended, /proc/PID has no mappings and no descriptors
 * any more, but /proc/TID of another thread has.
 */
static enum found find_through_others(struct diag *diag, pid_t pid)
{
	enum found found = HIDDEN;
	struct dirent *entry;
	int errnum = 0;
	char path[48];
	DIR *folder;

	(void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	folder = opendir(path);
	if (!folder)
		return HIDDEN;
	while (found == HIDDEN && (entry = readdir(folder))) {
		long thread = strtol(entry->d_name, NULL, 10);

		if (thread <= 0 || thread == pid)
			continue;
		found = find_through(diag, (pid_t)thread);
		errnum = errno;
		if (found == FAILED && errnum == ENOENT)
			found = HIDDEN;
	}
	(void)closedir(folder);
	errno = errnum;
	return found;
}

static bool find_pid(struct diag *diag, pid_t pid)
{
	enum found found;

	diag->pid = pid;
	found = find_through(diag, pid);
	if (found == HIDDEN)
		found = find_through_others(diag, pid);
	if (found == FOUND)
		return true;
	if (found == FAILED)
		return fail_open(diag, errno);
	if (found == HIDDEN && process_has_ended(pid))
		return diag_fail(diag, EXIT_CLOSED, "%s: the process has ended",
				 diag->name);
	return diag_fail(diag, EXIT_CLOSED, "%s: the process has no watched "
			 "semaphores: none has a name, or WEIR_DIAG=off is set, "
			 "or its libweir has no diagnostics", diag->name);
}

bool diag_pid_open(struct diag *diag, pid_t pid)
{
	if (!find_pid(diag, pid))
		return false;
	(void)snprintf(diag->modules.root, sizeof(diag->modules.root),
		       "/proc/%d/root", (int)diag->thread);
	modules_of_process(&diag->modules, diag->thread);
	return true;
}

uint32_t diag_processes(pid_t **list)
{
	DIR *folder = opendir("/proc");
	struct dirent *entry;
	uint32_t count = 0;

	*list = memory_realloc(NULL, sizeof(**list));
	if (!folder)
		return 0;
	while ((entry = readdir(folder))) {
		struct diag diag = { .name = entry->d_name, .fd = -1 };
		long pid = strtol(entry->d_name, NULL, 10);

		if (pid < 1 || !find_pid(&diag, (pid_t)pid))
			continue;
		if (diag.fd >= 0)
			(void)close(diag.fd);
		*list = memory_realloc(*list, (count + 1) * sizeof(**list));
		(*list)[count++] = (pid_t)pid;
	}
	(void)closedir(folder);
	return count;
}
