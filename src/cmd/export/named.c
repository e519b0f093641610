/* SPDX-License-Identifier: MIT */
/*
 * Source: the semaphores between the processes of this host.
 *
 * Their files have the present holders and waiters, and no counters.  A
 * semaphore between processes takes back the permits of a dead process, so
 * there are no leaked permits; and it is always FIFO.
 */
#include <errno.h>
#include <stdlib.h>

#include "cmd/export/sources.h"
#include "cmd/lib/names.h"
#include "cmd/lib/snapshot.h"

/* The sums over the entries of a snapshot. */
struct sums {
	int64_t waiters, waiting_permits;
	int64_t oldest_waiter, oldest_holder, newest_holder;
	bool is_held;
};

static int64_t larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static void count_waiter(struct sums *sums, const weir_named_entry *entry,
			 int64_t age)
{
	sums->waiters++;
	/* The weight comes from the file, which may be damaged. */
	if (entry->weight > 0 &&
	    entry->weight <= INT64_MAX - sums->waiting_permits)
		sums->waiting_permits += entry->weight;
	sums->oldest_waiter = larger(sums->oldest_waiter, age);
}

static void count_holder(struct sums *sums, int64_t age)
{
	sums->oldest_holder = larger(sums->oldest_holder, age);
	if (!sums->is_held || age < sums->newest_holder)
		sums->newest_holder = age;
	sums->is_held = true;
}

/*
 * A call of weir_named_wait_idle wants no permits and is no waiter here.  Of a
 * call that was granted and has not returned, the start of the hold is unknown.
 */
static void count_entry(struct sums *sums, const weir_named_entry *entry,
			int64_t now)
{
	switch (entry->role) {
	case WEIR_NAMED_HOLDS:
		count_holder(sums, snapshot_age(entry, now));
		break;
	case WEIR_NAMED_WAITS:
	case WEIR_NAMED_OVERSIZED:
		count_waiter(sums, entry, snapshot_age(entry, now));
		break;
	default:
		break;
	}
}

static void add(struct metrics *m, const char *name,
		const weir_named_info *info, const weir_named_entry *entries)
{
	uint32_t series = metrics_series(m, name, METRICS_FIFO, METRICS_HOST);
	struct sums sums = { .waiters = 0 };
	int64_t now = weir_now_ns();

	for (uint32_t i = 0; i < info->entries; i++)
		count_entry(&sums, &entries[i], now);
	metrics_add(m, METRICS_PERMITS, series, 0, info->capacity);
	metrics_add(m, METRICS_AVAILABLE, series, 0, info->free);
	metrics_add(m, METRICS_WAITERS, series, 0, sums.waiters);
	metrics_add(m, METRICS_WAITING_PERMITS, series, 0,
		    sums.waiting_permits);
	metrics_add(m, METRICS_OLDEST_WAITER, series, 0, sums.oldest_waiter);
	metrics_add(m, METRICS_OLDEST_HOLDER, series, 0, sums.oldest_holder);
	if (sums.is_held)
		metrics_add(m, METRICS_NEWEST_HOLDER, series, 0,
			    sums.newest_holder);
}

static void read_one(struct metrics *m, const char *name)
{
	weir_named_opts opts = { .flags = WEIR_NAMED_SHARED |
					  WEIR_NAMED_OBSERVER };
	weir_named_entry *entries;
	weir_named_info info;
	weir_named *sem;
	weir_err err = weir_named_open(name, &opts, &sem);

	if (err) {
		/* ENOENT: the semaphore was removed meanwhile. */
		if (err != WEIR_ESYSTEM || errno != ENOENT)
			m->unreadable[METRICS_HOST]++;
		return;
	}
	err = snapshot_read(sem, &info, &entries);
	if (err)
		m->unreadable[METRICS_HOST]++;
	else
		add(m, name, &info, entries);
	free(entries);
	(void)!weir_named_close_handle(sem);
}

bool source_named(struct metrics *m)
{
	char **names;
	int count = names_list(&names);

	if (count < 0)
		return false;
	m->is_read[METRICS_HOST] = true;
	for (int i = 0; i < count; i++)
		read_one(m, names[i]);
	free(names);
	return true;
}
