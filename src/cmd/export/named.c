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
#include "cmd/export/sums.h"
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

/* The counts come from the file, which may be damaged. */
static int64_t limit(uint64_t count)
{
	return count > INT64_MAX ? INT64_MAX : (int64_t)count;
}

static void add(struct metrics *m, struct all *all, const char *name,
		const weir_named_info *info, const weir_named_entry *entries)
{
	uint32_t series = metrics_series(m, name, METRICS_FIFO, METRICS_HOST);
	struct sums sums;

	sums_make(&sums, info, entries);
	sums_add(m, series, &sums);
	all->waiters += (uint64_t)sums.waiters;
	all->locked += snapshot_locker(info, entries) != NULL;
	all->entries += info->entries;
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
