/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_WATCH_STATE_H
#define WEIR_CMD_WATCH_STATE_H

/* The options of weir watch, and the last snapshot of the semaphore. */
#include <stdbool.h>
#include <stdint.h>

#include "cmd/watch/history.h"
#include "weir/cluster.h"
#include "weir/named.h"

struct watch {
	const char *name;
	int64_t interval_ns;
	bool interval_given;
	int64_t count;		/* lines to print; 0: unlimited */
	bool json;
	weir_named_opts opts;
	weir_named *sem;
	const char *url;	/* null: a local semaphore */
	weir_cluster *cluster;	/* of a URL */
	/* The last snapshot, and its time. */
	weir_named_info info;
	weir_named_entry *entries;
	int64_t now_ns;
	struct history history;
	/* Called before an error message; null: nothing to restore. */
	void (*restore)(void);
};

/*
 * Read a new snapshot.  If the name belongs to another semaphore now, switch to
 * that one.  Exits with a message if the semaphore cannot be read.
 */
void watch_update(struct watch *watch);
/* Returns the age of an entry at the time of the snapshot. */
int64_t watch_age(const struct watch *watch, const weir_named_entry *entry);
/* Returns the number of permits in use: held or granted. */
int64_t watch_used(const weir_named_info *info);

#endif /* WEIR_CMD_WATCH_STATE_H */
