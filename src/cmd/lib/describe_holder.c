/* SPDX-License-Identifier: MIT */
/* The holders of a semaphore, for messages. */
#include <stdio.h>
#include <stdlib.h>

#include "cmd/lib/describe_holder.h"
#include "cmd/lib/duration.h"
#include "cmd/lib/fail.h"
#include "cmd/lib/process_state.h"
#include "cmd/lib/snapshot.h"

const char *describe_locker(const weir_named_entry *locker,
			    char room[HOLDER_ROOM])
{
	const char *obstacle = process_obstacle_of(locker);
	int64_t age = snapshot_age(locker, weir_now_ns());
	char since[DURATION_ROOM] = "";

	if (age)
		(void)duration_text(age, since);
	(void)snprintf(room, HOLDER_ROOM, "locked by %s%spid %d%s%s%s%s%s",
		       locker->label, *locker->label ? ", " : "", locker->pid,
		       process_is_here(locker) ? "" :
						 " of another PID namespace",
		       obstacle ? ", which is " : "",
		       obstacle ? obstacle : "", age ? ", for " : "", since);
	return room;
}

const char *describe_oldest(const weir_named_info *info,
			    const weir_named_entry *entries,
			    char room[HOLDER_ROOM])
{
	const weir_named_entry *oldest = NULL;
	char others[32] = "";
	unsigned holders = 0;

	(void)snprintf(room, HOLDER_ROOM, "%s", info->paused ? "paused" : "");
	for (uint32_t i = 0; i < info->entries; i++)
		if (entries[i].role <= WEIR_NAMED_GRANTED) {
			holders++;
			if (!oldest || entries[i].since_ns < oldest->since_ns)
				oldest = &entries[i];
		}
	if (holders > 1)
		(void)snprintf(others, sizeof(others), " and %u more",
			       holders - 1);
	if (oldest) {
		int64_t since = snapshot_age(oldest, weir_now_ns());
		char age[DURATION_ROOM];

		(void)snprintf(room, HOLDER_ROOM,
			       "%sheld by %s%spid %d for %s%s",
			       info->paused ? "paused; " : "", oldest->label,
			       *oldest->label ? ", " : "", oldest->pid,
			       duration_text(since, age), others);
	}
	return room;
}

const char *describe_holder(weir_named *sem, char room[HOLDER_ROOM])
{
	const weir_named_entry *locker;
	weir_named_entry *entries;
	weir_named_info info;

	room[0] = 0;
	if (snapshot_read(sem, &info, &entries)) {
		free(entries);
		return room;
	}
	locker = snapshot_locker(&info, entries);
	/* A process that runs here leaves the lock at once. */
	if (locker && (process_obstacle_of(locker) || !process_is_here(locker)))
		describe_locker(locker, room);
	else
		describe_oldest(&info, entries, room);
	free(entries);
	return room;
}

int describe_in_use(const char *name, weir_named *sem, int status)
{
	char room[HOLDER_ROOM];
	const char *holder = describe_holder(sem, room);

	cmd_message("%s: in use%s%s", name, *holder ? "; " : "", holder);
	return status;
}
