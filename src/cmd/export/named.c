/* SPDX-License-Identifier: MIT */
/*
 * Source: the semaphores between the processes of this host.
 *
 * Their files have the present holders and waiters, and count only rare events.
 * A semaphore between processes takes back the permits of a dead process, so
 * there are no leaked permits; and it is always FIFO.
 */
#include <errno.h>
#include <stdlib.h>

#include "cmd/diag/source.h"
#include "cmd/export/model.h"
#include "cmd/export/sources.h"
#include "cmd/lib/names.h"
#include "cmd/lib/snapshot.h"

/*
 * Above these limits no verdict is computed: its snapshot waits for processes
 * that are inside the lock of a semaphore, and every user who may write to the
 * folder can make such semaphores.
 */
#define LOCKED_MAX 8
#define ENTRIES_MAX 20000

/* The sums over all semaphores. */
struct all {
	uint64_t waiters, locked, entries;
};

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

/* The counts come from the file, which may be damaged. */
static int64_t limit(uint64_t count)
{
	return count > INT64_MAX ? INT64_MAX : (int64_t)count;
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

static void add(struct metrics *m, struct all *all, const char *name,
		const weir_named_info *info, const weir_named_entry *entries)
{
	uint32_t series = metrics_series(m, name, METRICS_FIFO, METRICS_HOST);
	struct sums sums = { .waiters = 0 };
	int64_t now = weir_now_ns();

	for (uint32_t i = 0; i < info->entries; i++)
		count_entry(&sums, &entries[i], now);
	all->waiters += (uint64_t)sums.waiters;
	all->locked += snapshot_locker(info, entries) != NULL;
	all->entries += info->entries;
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
	metrics_add(m, METRICS_MISUSE, series, METRICS_OVER_RELEASE,
		    limit(info->misuses));
	metrics_add(m, METRICS_RECLAIMED, series, 0, limit(info->reclaimed));
}

static void read_one(struct metrics *m, struct all *all, const char *name)
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
		add(m, all, name, &info, entries);
	free(entries);
	(void)!weir_named_close_handle(sem);
}

/*
 * Add the deadlocked requests: requests of processes that hold permits of one
 * semaphore and wait for another.  Requires: m has the host's semaphores only.
 */
static void add_deadlocked(struct metrics *m, const struct all *all)
{
	uint32_t count = m->series_count;
	struct diag diag;

	if (all->locked > LOCKED_MAX || all->entries > ENTRIES_MAX)
		return;
	diag_open_named(&diag);
	if (all->waiters && !diag_try_read(&diag)) {
		diag_close(&diag);
		return;
	}
	for (uint32_t i = 0; i < count; i++)
		metrics_add(m, METRICS_DEADLOCKED, i, 0, 0);
	for (uint32_t i = 0; i < diag.model.used.objects; i++) {
		const struct dg_object *object = &diag.model.objects[i];
		int64_t n = model_deadlocked(&diag.model, object);

		if (n)
			metrics_add(m, METRICS_DEADLOCKED,
				    metrics_series(m, object->name,
						   METRICS_FIFO, METRICS_HOST),
				    0, n);
	}
	diag_close(&diag);
}

bool source_named(struct metrics *m)
{
	struct all all = { 0, 0, 0 };
	char **names;
	int count = names_list(&names);

	if (count < 0)
		return false;
	m->is_read[METRICS_HOST] = true;
	for (int i = 0; i < count; i++)
		read_one(m, &all, names[i]);
	free(names);
	add_deadlocked(m, &all);
	return true;
}
