/* SPDX-License-Identifier: MIT */
/* Snapshots of semaphores between machines. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/lib/describe_holder.h"
#include "cmd/lib/memory.h"
#include "cmd/lib/remote_snapshot.h"

/* A waiter has no fencing token: a hash of its id identifies it. */
static uint64_t id_of(const weir_cluster_entry *entry)
{
	uint64_t hash = UINT64_C(14695981039346656037);

	for (const char *p = entry->id; *p; p++)
		hash = (hash ^ (unsigned char)*p) * UINT64_C(1099511628211);
	return hash >> 11;
}

static void convert(const weir_cluster_entry *from, int64_t now_ms,
		    weir_named_entry *to)
{
	static const weir_named_role roles[] = {
		[WEIR_CLUSTER_HOLDS] = WEIR_NAMED_HOLDS,
		[WEIR_CLUSTER_WAITS] = WEIR_NAMED_WAITS,
		[WEIR_CLUSTER_OVERSIZED] = WEIR_NAMED_OVERSIZED,
		[WEIR_CLUSTER_IDLE] = WEIR_NAMED_IDLE,
	};

	memset(to, 0, sizeof(*to));
	to->role = roles[from->role];
	to->pid = from->pid;
	to->id = from->fence ? from->fence : id_of(from);
	to->weight = from->weight;
	to->since_ns = weir_now_ns() - (now_ms - from->since_ms) * 1000000;
	to->place = from->place;
	to->mine = from->mine;
	(void)snprintf(to->label, sizeof(to->label), "%.24s: %.36s", from->host,
		       from->label);
}

weir_err remote_snapshot_leases(weir_cluster *c, weir_named_info *info,
				weir_named_entry **entries,
				weir_cluster_entry **leases)
{
	weir_cluster_entry *list = NULL;
	weir_cluster_info remote;
	uint32_t room = 0;
	weir_err err;

	*entries = NULL;
	*leases = NULL;
	while (!(err = remote_api.weir_cluster_stat(c, &remote, list, room)) &&
	       remote.entries > room && room < WEIR_CLUSTER_ENTRIES_MAX) {
		room = remote.entries < WEIR_CLUSTER_ENTRIES_MAX - 64 ?
		       remote.entries + 64 : WEIR_CLUSTER_ENTRIES_MAX;
		list = memory_realloc(list, room * sizeof(*list));
	}
	if (err) {
		free(list);
		return err;
	}
	memset(info, 0, sizeof(*info));
	info->capacity = remote.capacity;
	info->free = remote.free;
	info->held = remote.held;
	info->debt = remote.debt;
	info->waiting_permits = remote.waiting_permits;
	info->waiters = remote.waiters;
	info->oversized = remote.oversized;
	info->closed = remote.closed;
	info->paused = remote.paused;
	info->entries = remote.entries < room ? remote.entries : room;
	info->inconsistent = info->entries < remote.entries;
	*entries = memory_realloc(NULL, (info->entries + 1) *
				  sizeof(**entries));
	for (uint32_t i = 0; list && i < info->entries; i++)
		convert(&list[i], remote.now_ms, &(*entries)[i]);
	*leases = list;
	return WEIR_OK;
}

weir_err remote_snapshot_read(weir_cluster *c, weir_named_info *info,
			      weir_named_entry **entries)
{
	weir_cluster_entry *leases;
	weir_err err = remote_snapshot_leases(c, info, entries, &leases);

	free(leases);
	return err;
}

const char *remote_describe_holder(weir_cluster *c, char room[HOLDER_ROOM])
{
	weir_named_entry *entries;
	weir_named_info info;

	room[0] = 0;
	if (!remote_snapshot_read(c, &info, &entries))
		describe_oldest(&info, entries, room);
	free(entries);
	return room;
}
