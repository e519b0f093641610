/* SPDX-License-Identifier: MIT */
/*
 * Print a line for each change; or, if an interval was given, in each interval.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cmd/lib/describe_holder.h"
#include "cmd/lib/fail.h"
#include "cmd/lib/memory.h"
#include "cmd/lib/signals.h"
#include "cmd/lib/snapshot.h"
#include "cmd/lib/text.h"
#include "cmd/watch/lines.h"

/* The largest number of holders in a line. */
#define HOLDERS_MAX 4

/* The parts of a snapshot that are compared: all except its time. */
struct compared {
	int64_t counts[5];
	uint32_t sizes[4];
	bool closed, paused, renamed;
	weir_named_entry *entries;
};

static void store(struct compared *to, const struct watch *watch)
{
	const weir_named_info *info = &watch->info;
	size_t size = info->entries * sizeof(*to->entries);

	*to = (struct compared){
		.counts = { info->capacity, info->free, info->held,
			    info->granted, info->debt },
		.sizes = { info->waiters, info->oversized, info->participants,
			   info->entries },
		.closed = info->closed,
		.paused = info->paused,
		.renamed = info->renamed,
		.entries = memory_realloc(to->entries, size + 1),
	};
	memcpy(to->entries, watch->entries, size);
	/*
	 * Do not compare the times of leases: they are computed for each call
	 * and differ.  The ids are unique.
	 */
	for (uint32_t i = 0; watch->url && i < info->entries; i++)
		to->entries[i].since_ns = 0;
}

/*
 * The start of a hold is computed for each snapshot, with an error of
 * milliseconds.  A smaller difference than this is not a change.
 */
#define SINCE_ERROR_NS 50000000

static bool is_same_since(const weir_named_entry *a, const weir_named_entry *b)
{
	int64_t later_ns = a->since_ns - b->since_ns;

	if (a->role != WEIR_NAMED_HOLDS)
		return !later_ns;
	return later_ns < SINCE_ERROR_NS && later_ns > -SINCE_ERROR_NS;
}

static bool is_same_entry(const weir_named_entry *a, const weir_named_entry *b)
{
	return a->role == b->role && a->id == b->id &&
	       a->weight == b->weight && a->place == b->place &&
	       a->dead == b->dead && is_same_since(a, b);
}

static bool is_same(const struct compared *a, const struct compared *b)
{
	if (memcmp(a->counts, b->counts, sizeof(a->counts)) != 0 ||
	    memcmp(a->sizes, b->sizes, sizeof(a->sizes)) != 0 ||
	    a->closed != b->closed || a->paused != b->paused ||
	    a->renamed != b->renamed)
		return false;
	for (uint32_t i = 0; i < a->sizes[3]; i++)
		if (!is_same_entry(&a->entries[i], &b->entries[i]))
			return false;
	return true;
}

static void print_holders(const struct watch *watch)
{
	uint32_t shown = 0, more = 0;

	for (uint32_t i = 0; i < watch->info.entries; i++) {
		const weir_named_entry *entry = &watch->entries[i];

		if (entry->role != WEIR_NAMED_HOLDS &&
		    entry->role != WEIR_NAMED_GRANTED)
			continue;
		if (shown == HOLDERS_MAX) {
			more++;
			continue;
		}
		printf("%s%d", shown++ ? ", " : "; ", entry->pid);
		if (*entry->label) {
			putchar(' ');
			text_plain(stdout, entry->label);
		}
		if (entry->weight != 1)
			printf(" (%lld)", (long long)entry->weight);
	}
	if (more)
		printf(" and %u more", more);
}

static void print_line(const struct watch *watch)
{
	const weir_named_info *info = &watch->info;
	time_t now = time(NULL);
	struct tm local;
	char clock[16] = "";

	if (localtime_r(&now, &local))
		(void)strftime(clock, sizeof(clock), "%H:%M:%S", &local);
	printf("%s ", clock);
	text_plain(stdout, watch->name);
	printf(": %lld of %lld in use, %u waiting",
	       (long long)watch_used(info), (long long)info->capacity,
	       info->waiters);
	if (info->debt)
		printf(", debt %lld", (long long)info->debt);
	if (info->closed)
		fputs(", closed", stdout);
	if (info->paused)
		fputs(", paused", stdout);
	if (info->renamed)
		fputs(", name removed", stdout);
	if (snapshot_locker(info, watch->entries)) {
		char room[HOLDER_ROOM];

		fputs(", ", stdout);
		text_plain(stdout, describe_locker(watch->entries, room));
	}
	print_holders(watch);
	putchar('\n');
}

/* End the process as a write to a pipe without a reader does. */
static _Noreturn void end_without_reader(void)
{
	struct sigaction now;

	if (!sigaction(SIGPIPE, NULL, &now) && now.sa_handler != SIG_IGN)
		signals_end_by(SIGPIPE);
	cmd_die(EXIT_WEIR, "cannot write the output: %s", strerror(EPIPE));
}

/*
 * Sleep.  A line may not follow for a long time, so a write would not reveal
 * that the reader of the pipe has gone.
 */
static void sleep_for(int64_t ns)
{
	struct timespec time = { ns / 1000000000, ns % 1000000000 };
	struct pollfd output = { .fd = STDOUT_FILENO };

	/* Without events, only an error or a hang-up is reported. */
	if (ppoll(&output, 1, &time, NULL) > 0)
		end_without_reader();
}

int watch_lines(struct watch *watch)
{
	static struct compared last, now;
	int64_t lines = 0;

	for (;;) {
		struct compared swap = last;
		bool changed;

		watch_update(watch);
		store(&now, watch);
		changed = !lines || !is_same(&last, &now);
		last = now;
		now = swap;
		if (changed || watch->interval_given) {
			if (watch->json)
				snapshot_json(stdout, watch->name,
					      &watch->info, watch->entries,
					      watch->now_ns);
			else
				print_line(watch);
			cmd_flush();
			if (++lines == watch->count)
				return EXIT_SUCCESS;
		}
		sleep_for(watch->interval_ns);
	}
}
