/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_INSPECT_DOCTOR_H
#define WEIR_CMD_INSPECT_DOCTOR_H

/* The parts of weir doctor. */
#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "weir/named.h"

/* Print a line.  Control characters of names and labels are replaced. */
void doctor_print(const char *format, ...)
	__attribute__((format(printf, 1, 2)));

/* processes.c */
/*
 * Report stopped and frozen processes that belong to a participant: its wrapper,
 * and its descendants.
 */
void doctor_report_processes(const weir_named_entry *entry);

/* findings.c */
/*
 * Report on a semaphore that could be opened.  `locked`: null, or the path of its
 * file, which doctor_is_locked has found locked.  Returns the exit status.
 */
int doctor_report(const weir_named_info *info, const weir_named_entry *entries,
		  const char *locked);
/*
 * Remove files of killed processes from the folder of the semaphore `name`;
 * null: from the default folder.
 */
void doctor_remove_abandoned(const char *name);

/* repair.c */
/* The identity of a semaphore's file, recorded before the open. */
struct doctor_file {
	char path[PATH_MAX];
	struct stat info;
	bool exists;
};
void doctor_file_record(struct doctor_file *file, const char *name);
/*
 * Returns true if another program has locked the file.  It can be read, but no
 * process can open the semaphore.
 */
bool doctor_is_locked(const struct doctor_file *file);
/*
 * Report why the semaphore cannot be opened, and repair its file if that is
 * possible.  Returns the exit status.
 */
int doctor_repair(const char *name, const struct doctor_file *file,
		  weir_err err, int errnum, const char *why);

#endif /* WEIR_CMD_INSPECT_DOCTOR_H */
