/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_LIB_DESCRIBE_HOLDER_H
#define WEIR_CMD_LIB_DESCRIBE_HOLDER_H

/* The holders of a semaphore, for messages. */
#include "weir/named.h"

#define HOLDER_ROOM 224

/*
 * Returns "locked by LABEL, pid 12, which is stopped, for 3s".  `locker` is the
 * process that has the internal lock, so that others wait.
 */
const char *describe_locker(const weir_named_entry *locker,
			    char room[HOLDER_ROOM]);
/*
 * Returns why a request is not granted: "held by LABEL, pid 12 for 3s and 2
 * more", with "paused; " before it if the semaphore is paused; "paused" or ""
 * if no permit is held.
 */
const char *describe_oldest(const weir_named_info *info,
			    const weir_named_entry *entries,
			    char room[HOLDER_ROOM]);
/*
 * As describe_oldest; or as describe_locker, if a process was stopped inside
 * the internal lock.
 */
const char *describe_holder(weir_named *sem, char room[HOLDER_ROOM]);
/* Print that the semaphore is in use, and the holder.  Returns status. */
int describe_in_use(const char *name, weir_named *sem, int status);

#endif /* WEIR_CMD_LIB_DESCRIBE_HOLDER_H */
