/* SPDX-License-Identifier: MIT */
/* From the snapshot of a semaphore that has a name to samples. */
#include "cmd/export/sums.h"

#include "cmd/lib/snapshot.h"

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
 * Count one entry.  A call of weir_named_wait_idle wants no permits and is no
 * waiter here.  A call that was granted and has not returned is no holder here,
 * because the start of the hold is unknown.
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

void sums_make(struct sums *sums, const weir_named_info *info,
	       const weir_named_entry *entries)
{
	int64_t now = weir_now_ns();

	*sums = (struct sums){ .permits = info->capacity,
			       .available = info->free };
	for (uint32_t i = 0; i < info->entries; i++)
		count_entry(sums, &entries[i], now);
}

void sums_add(struct metrics *m, uint32_t series, const struct sums *sums)
{
	metrics_add(m, METRICS_PERMITS, series, 0, sums->permits);
	metrics_add(m, METRICS_AVAILABLE, series, 0, sums->available);
	metrics_add(m, METRICS_WAITERS, series, 0, sums->waiters);
	metrics_add(m, METRICS_WAITING_PERMITS, series, 0,
		    sums->waiting_permits);
	metrics_add(m, METRICS_OLDEST_WAITER, series, 0, sums->oldest_waiter);
	metrics_add(m, METRICS_OLDEST_HOLDER, series, 0, sums->oldest_holder);
	if (sums->is_held)
		metrics_add(m, METRICS_NEWEST_HOLDER, series, 0,
			    sums->newest_holder);
}
