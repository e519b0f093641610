/* SPDX-License-Identifier: MIT */
/* Snapshots of a semaphore, and their JSON form. */
#include <stdlib.h>
#include <time.h>

#include "cmd/lib/snapshot.h"

#include "cmd/lib/json.h"
#include "cmd/lib/memory.h"

weir_err snapshot_read(weir_named *sem, weir_named_info *info,
		       weir_named_entry **entries)
{
	uint32_t room = 16;

	*entries = NULL;
	for (;;) {
		weir_err err;

		*entries = memory_realloc(*entries, room * sizeof(**entries));
		err = weir_named_stat(sem, info, *entries, room);
		if (err)
			return err;
		if (info->entries <= room)
			break;
		room = info->entries + 16;
	}
	return WEIR_OK;
}

/* All tries together take longer than a preempted process waits for a CPU. */
#define SETTLE_TRIES 10
#define SETTLE_NS 3000000

weir_err snapshot_settle(weir_named *sem, weir_named_info *info,
			 weir_named_entry **entries)
{
	static const struct timespec pause = { 0, SETTLE_NS };
	weir_err err = snapshot_read(sem, info, entries);

	for (int i = 0; i < SETTLE_TRIES && !err &&
			snapshot_locker(info, *entries); i++) {
		(void)nanosleep(&pause, NULL);
		free(*entries);
		err = snapshot_read(sem, info, entries);
	}
	return err;
}

const weir_named_entry *snapshot_locker(const weir_named_info *info,
					const weir_named_entry *entries)
{
	return info->entries && entries[0].role == WEIR_NAMED_LOCKS ?
		       &entries[0] : NULL;
}

const char *snapshot_role(const weir_named_entry *entry)
{
	static const char *const roles[] = {
		[WEIR_NAMED_HOLDS] = "holds",
		[WEIR_NAMED_GRANTED] = "granted",
		[WEIR_NAMED_WAITS] = "waits",
		[WEIR_NAMED_OVERSIZED] = "oversized",
		[WEIR_NAMED_IDLE] = "idle",
		[WEIR_NAMED_LOCKS] = "locks",
	};

	return roles[entry->role];
}

int64_t snapshot_age(const weir_named_entry *entry, int64_t now)
{
	/* The time comes from the file, which may be damaged. */
	bool known = entry->since_ns > 0 && entry->since_ns < now;

	return known ? now - entry->since_ns : 0;
}

void snapshot_json(FILE *out, const char *name, const weir_named_info *info,
		   const weir_named_entry *entries, int64_t now)
{
	json_begin(out, NULL);
	json_text(out, "name", name);
	json_int(out, "capacity", info->capacity);
	json_int(out, "free", info->free);
	json_int(out, "held", info->held);
	json_int(out, "granted", info->granted);
	json_int(out, "debt", info->debt);
	json_int(out, "waiting", info->waiters);
	json_int(out, "waiting_permits", info->waiting_permits);
	json_int(out, "participants", info->participants);
	json_text(out, "policy",
		  info->policy == WEIR_NAMED_STRICT ? "strict" : "fast");
	json_bool(out, "closed", info->closed);
	json_bool(out, "paused", info->paused);
	json_bool(out, "renamed", info->renamed);
	json_bool(out, "inconsistent", info->inconsistent);
	json_list(out, "entries");
	for (uint32_t i = 0; i < info->entries; i++) {
		const weir_named_entry *entry = &entries[i];

		json_begin(out, NULL);
		json_text(out, "role", snapshot_role(entry));
		json_int(out, "place", entry->place);
		json_int(out, "pid", entry->pid);
		json_int(out, "pid_namespace", (int64_t)entry->pid_namespace);
		json_int(out, "id", (int64_t)entry->id);
		json_int(out, "weight", entry->weight);
		json_int(out, "age_ms", snapshot_age(entry, now) / 1000000);
		json_bool(out, "dead", entry->dead);
		json_text(out, "label", entry->label);
		json_end(out);
	}
	json_list_end(out);
	json_end(out);
	json_line(out);
}
