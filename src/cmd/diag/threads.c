/* SPDX-License-Identifier: MIT */
/*
 * The threads of a living process, from /proc: their names, and whether they exist.
 * The thread IDs in the registry are those of the process's own PID namespace, so
 * nothing is known of the threads of a process in another one.  There the process may
 * have the same ID.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cmd/diag/source.h"

/* Flags of a thread in /proc/PID/stat, and a bit of a set of signals. */
#define PF_EXITING 4ul
#define SIGKILL_BIT (1ull << 8)

/*
 * The age that the registry has for a thread differs from the real one by this:
 * its clock may be coarse, and the scale of a counter is not exact.
 */
#define AGE_ERROR_NS INT64_C(1000000000)
#define AGE_ERROR_PART 100

/* The fields of /proc/PID/task/TID/stat that are used. */
struct stat_line {
	char state;
	unsigned long flags;
	unsigned long long start;	/* ticks since the system was booted */
};

/* Returns 0, or an errno. */
static int read_stat(pid_t pid, uint32_t tid, struct stat_line *line)
{
	char path[64], text[1024] = "";
	const char *after;
	FILE *file;
	int errnum = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%u/stat", (int)pid,
		       tid);
	file = fopen(path, "re");
	if (!file)
		return errno;
	errno = 0;
	if (!fgets(text, sizeof(text), file))
		errnum = errno ? errno : EIO;
	(void)fclose(file);
	if (errnum)
		return errnum;
	/* The name of the thread may contain any character, also ')'. */
	after = strrchr(text, ')');
	if (!after ||
	    sscanf(after, ") %c %*d %*d %*d %*d %*d %lu %*u %*u %*u %*u %*u "
		   "%*u %*d %*d %*d %*d %*d %*d %llu", &line->state,
		   &line->flags, &line->start) != 3)
		return EIO;
	return 0;
}

static bool has_ended(const struct stat_line *line)
{
	return line->state == 'Z' || line->state == 'X';
}

/* Returns true if SIGKILL is pending for the thread, or that is not known. */
static bool is_killed(pid_t pid, uint32_t tid)
{
	unsigned long long pending = SIGKILL_BIT;
	char path[64], line[256];
	FILE *status;

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%u/status", (int)pid,
		       tid);
	status = fopen(path, "re");
	while (status && fgets(line, sizeof(line), status))
		if (!strncmp(line, "SigPnd:", 7))
			pending = strtoull(line + 7, NULL, 16);
	if (status)
		(void)fclose(status);
	return pending & SIGKILL_BIT;
}

/*
 * Returns true if the thread began after the context, which is `age_ns` old.  The
 * start of the thread includes the time in which the system was suspended, as does
 * CLOCK_BOOTTIME; age_ns does not, so it is too low, if anything.
 */
static bool is_younger(const struct stat_line *line, int64_t age_ns)
{
	long per_s = sysconf(_SC_CLK_TCK);
	struct timespec now;
	double thread_ns;

	if (age_ns < 0 || per_s <= 0 || clock_gettime(CLOCK_BOOTTIME, &now))
		return false;
	thread_ns = (double)now.tv_sec * 1e9 + (double)now.tv_nsec -
		    (double)line->start * (1e9 / (double)per_s);
	return thread_ns + (double)AGE_ERROR_NS +
		       (double)age_ns / AGE_ERROR_PART < (double)age_ns;
}

static bool knows_threads(const struct diag *diag)
{
	return diag->pid && !diag->apart &&
	       diag->header.pid == (uint32_t)diag->pid;
}

/*
 * While a process ends, its threads end one after the other, and the permits that
 * they hold are not leaked.  So the thread through which the process is read must
 * live, without a SIGKILL that it has yet to notice.
 */
bool diag_has_gone(void *user, uint32_t tid, int64_t age_ns)
{
	const struct diag *diag = user;
	struct stat_line line;
	int errnum;

	if (!knows_threads(diag))
		return false;
	errnum = read_stat(diag->pid, tid, &line);
	if (errnum ? errnum != ENOENT && errnum != ESRCH :
		     !has_ended(&line) && !is_younger(&line, age_ns))
		return false;
	return !read_stat(diag->pid, (uint32_t)diag->thread, &line) &&
	       !has_ended(&line) && !(line.flags & PF_EXITING) &&
	       !is_killed(diag->pid, (uint32_t)diag->thread);
}

/*
 * The registry has the names that the threads had at their first call.  Read the
 * present names of a living process.
 */
void diag_name_threads(struct diag *diag)
{
	for (uint32_t i = 0; i < diag->model.used.contexts; i++) {
		struct dg_context *context = &diag->model.contexts[i];
		char path[64], name[32] = "";
		FILE *comm;

		if (!knows_threads(diag) || context->kind != RG_THREAD ||
		    context->ended)
			continue;
		(void)snprintf(path, sizeof(path), "/proc/%d/task/%u/comm",
			       (int)diag->pid, context->tid);
		comm = fopen(path, "re");
		if (!comm)
			continue;
		if (fgets(name, sizeof(name), comm)) {
			name[strcspn(name, "\n")] = '\0';
			weir_diag_clean_(context->name, sizeof(context->name),
					 name, sizeof(name));
		}
		(void)fclose(comm);
	}
}
