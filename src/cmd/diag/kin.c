/* SPDX-License-Identifier: MIT */
/* Facts from /proc about processes that hold or wait. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/diag/kin.h"
#include "cmd/lib/full.h"

/* Returns the value of a line of /proc/PID/status, such as "PPid:". */
static unsigned status_of(pid_t pid, const char *key)
{
	char path[48], line[256];
	unsigned value = 0;
	FILE *status;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	status = fopen(path, "re");
	if (!status)
		return 0;
	while (fgets(line, sizeof(line), status))
		if (!strncmp(line, key, strlen(key)))
			value = (unsigned)strtoul(line + strlen(key), NULL, 10);
	(void)fclose(status);
	return value;
}

pid_t kin_parent(pid_t pid)
{
	return (pid_t)status_of(pid, "PPid:");
}

unsigned kin_threads(pid_t pid)
{
	return status_of(pid, "Threads:");
}

/*
 * Returns true if the process executes this program or the other one of the
 * installation: `weir run` is the static one, `weir explain` the full one.
 */
static bool is_weir(pid_t pid)
{
	struct stat its;
	char path[48];

	(void)snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	return !stat(path, &its) && full_is_part(&its);
}

/* Returns true if the process has this child, and no other. */
static bool is_only_child(pid_t pid, pid_t child)
{
	char path[64], line[64] = "", only[32];
	FILE *children;

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/children",
		       (int)pid, (int)pid);
	(void)snprintf(only, sizeof(only), "%d", (int)child);
	children = fopen(path, "re");
	if (!children)
		return false;
	(void)!fgets(line, sizeof(line), children);
	(void)fclose(children);
	/* "12 13 14 " */
	return !strncmp(line, only, strlen(only)) &&
	       !strcmp(line + strlen(only), " ");
}

bool kin_awaits(pid_t pid, pid_t child)
{
	char path[48], where[64] = "";
	FILE *wchan;

	if (!is_only_child(pid, child))
		return false;
	if (is_weir(pid))
		return true;
	(void)snprintf(path, sizeof(path), "/proc/%d/wchan", (int)pid);
	wchan = fopen(path, "re");
	if (!wchan)
		return false;
	(void)!fgets(where, sizeof(where), wchan);
	(void)fclose(wchan);
	return !strcmp(where, "do_wait");
}

uint64_t kin_namespace(void)
{
	struct stat info;

	return stat("/proc/self/ns/pid", &info) ? 0 : info.st_ino;
}
