/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_LIB_SNAPSHOT_H
#define WEIR_CMD_LIB_SNAPSHOT_H

/* A snapshot of a semaphore: counts, holders and waiters. */
#include <stdint.h>
#include <stdio.h>

#include "weir/named.h"

/*
 * Read a snapshot.  *entries has info->entries elements; the caller frees it,
 * also after an error.  If sem is not an observer, info->participants includes
 * the caller's own handle.
 */
weir_err snapshot_read(weir_named *sem, weir_named_info *info,
		       weir_named_entry **entries);
/*
 * As snapshot_read.  If a process has the internal lock, wait for some
 * milliseconds until it has dropped the lock: it may have been preempted.
 */
weir_err snapshot_settle(weir_named *sem, weir_named_info *info,
			 weir_named_entry **entries);
/*
 * Returns the process that has the internal lock, so that others wait; null if
 * there is none.
 */
const weir_named_entry *snapshot_locker(const weir_named_info *info,
					const weir_named_entry *entries);
/* "holds", "granted", "waits", "oversized", "idle" or "locks". */
const char *snapshot_role(const weir_named_entry *entry);
/* Returns the age of an entry in nanoseconds; 0 if it is not known. */
int64_t snapshot_age(const weir_named_entry *entry, int64_t now);
/* Write a snapshot as one JSON object on one line. */
void snapshot_json(FILE *out, const char *name, const weir_named_info *info,
		   const weir_named_entry *entries, int64_t now);

#endif /* WEIR_CMD_LIB_SNAPSHOT_H */
