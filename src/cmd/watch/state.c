/* SPDX-License-Identifier: MIT */
/*
 * Snapshots of the watched semaphore.
 *
 * A semaphore does not announce its changes, because that would slow down its
 * users.  So it is polled, also in a server.
 */
#include <errno.h>
#include <stdlib.h>

#include "cmd/lib/fail.h"
#include "cmd/lib/remote_snapshot.h"
#include "cmd/lib/snapshot.h"
#include "cmd/watch/state.h"

int64_t watch_age(const struct watch *watch, const weir_named_entry *entry)
{
	return snapshot_age(entry, watch->now_ns);
}

int64_t watch_used(const weir_named_info *info)
{
	return info->held + info->granted;
}

/* Called if the semaphore has lost its name: open the one that has it now. */
static void follow_name(struct watch *watch)
{
	weir_named *other;

	if (weir_named_open(watch->name, &watch->opts, &other))
		return;
	if (weir_named_close_handle(watch->sem))
		cmd_die(EXIT_WEIR, "%s: cannot close the semaphore",
			watch->name);
	watch->sem = other;
	watch_update(watch);
}

/*
 * Read a snapshot from the engine.  A semaphore that was removed is shown as one
 * that has lost its name; a new one of this name appears in the same handle.
 */
static void update_remote(struct watch *watch)
{
	weir_named_entry *entries;
	weir_named_info info;
	weir_err err = remote_snapshot_read(watch->cluster, &info, &entries);

	if (err == WEIR_ESYSTEM && errno == ENOENT && watch->entries) {
		watch->info.renamed = true;
		watch->info.entries = 0;
		watch->info.held = watch->info.waiters = 0;
		watch->info.waiting_permits = 0;
		watch->info.free = watch->info.capacity;
		return;
	}
	if (err) {
		int errnum = errno;

		if (watch->restore)
			watch->restore();
		errno = errnum;
		remote_fail(watch->url, watch->cluster, err);
	}
	free(watch->entries);
	watch->entries = entries;
	watch->info = info;
}

void watch_update(struct watch *watch)
{
	bool was_renamed = watch->info.renamed;
	weir_err err;

	if (watch->url) {
		update_remote(watch);
		watch->now_ns = weir_now_ns();
		return;
	}
	free(watch->entries);
	err = snapshot_read(watch->sem, &watch->info, &watch->entries);
	if (err) {
		int errnum = errno;

		if (watch->restore)
			watch->restore();
		errno = errnum;
		cmd_fail(watch->name, err, NULL);
	}
	watch->now_ns = weir_now_ns();
	/* The first snapshot without the name is still shown. */
	if (was_renamed && watch->info.renamed)
		follow_name(watch);
}
