/* SPDX-License-Identifier: MIT */
/*
 * The line on the terminal while `weir run` waits: position in the queue, time,
 * and holder.
 *
 * The wrapper writes the line.  The guardian erases it before the job starts.
 * The wrapper must not write the line again after that: the wrapper sets
 * `drawing` and then checks `phase`; the guardian sets `phase` and then waits
 * until `drawing` is clear.
 */
#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/lib/describe_holder.h"
#include "cmd/lib/duration.h"
#include "cmd/lib/snapshot.h"
#include "cmd/lib/text.h"
#include "cmd/run/progress.h"

#define LINE_ROOM 512
/* The longest wait of the guardian for a wrapper that is stopped. */
#define PATIENCE_NS INT64_C(100000000)

static weir_named *sem;

static uint64_t own_namespace(void)
{
	struct stat info;

	return stat("/proc/self/ns/pid", &info) ? 0 : (uint64_t)info.st_ino;
}

static const char *ending(uint32_t n)
{
	if (n / 10 % 10 == 1)
		return "th";
	return n % 10 == 1 ? "st" : n % 10 == 2 ? "nd" : n % 10 == 3 ? "rd" :
								       "th";
}

static size_t width(void)
{
	struct winsize size;

	/* A serial line has 0 columns: the width is not known. */
	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) || !size.ws_col)
		return 80;
	return size.ws_col < LINE_ROOM ? size.ws_col : LINE_ROOM - 1;
}

/* Returns true in the background, where weir must not write to the terminal. */
static bool in_background(void)
{
	pid_t front = tcgetpgrp(STDERR_FILENO);

	return front > 0 && front != getpgrp();
}

/*
 * Make the line.  Returns false if the guardian is neither in the queue nor kept
 * out of it by a process inside the lock of the semaphore.
 */
static bool line(const struct run_opts *opts, pid_t guardian, int64_t since,
		 char text[LINE_ROOM])
{
	char age[DURATION_ROOM], holder[HOLDER_ROOM];
	uint64_t here = own_namespace();
	weir_named_entry *entries;
	weir_named_info info;
	uint32_t place = 0;
	bool locked;

	if (snapshot_read(sem, &info, &entries)) {
		free(entries);
		return false;
	}
	for (uint32_t i = 0; i < info.entries; i++)
		if (entries[i].role == WEIR_NAMED_WAITS &&
		    entries[i].pid == guardian &&
		    entries[i].pid_namespace == here)
			place = entries[i].place;
	locked = snapshot_locker(&info, entries);
	free(entries);
	if (!place && !locked)
		return false;
	(void)duration_text(weir_now_ns() - since, age);
	if (place)
		(void)snprintf(text, LINE_ROOM, "weir: %s: %u%s of %u in the "
			       "queue, %s", opts->acquire.name, place,
			       ending(place), info.waiters, age);
	else
		(void)snprintf(text, LINE_ROOM, "weir: %s: waiting, %s",
			       opts->acquire.name, age);
	if (*describe_holder(sem, holder)) {
		size_t used = strlen(text);

		(void)snprintf(text + used, LINE_ROOM - used, "; %s", holder);
	}
	/* A character in the last column may wrap to the next line. */
	text[width() - 1] = 0;
	text_trim(text);
	return true;
}

void progress_draw(const struct run_opts *opts, struct run_shared *shared,
		   pid_t guardian, int64_t since)
{
	weir_named_opts open = {
		.flags = WEIR_NAMED_OBSERVER |
			 (opts->acquire.shared ? WEIR_NAMED_SHARED : 0),
	};
	char text[LINE_ROOM];

	if (!sem && weir_named_open(opts->acquire.name, &open, &sem)) {
		sem = NULL;
		return;
	}
	if (in_background() || !line(opts, guardian, since, text))
		return;
	atomic_store(&shared->drawing, 1);
	if (atomic_load(&shared->phase) == RUN_WAITS) {
		fputs("\r\033[K", stderr);
		text_plain(stderr, text);
		fflush(stderr);
		atomic_store(&shared->drawn, 1);
	}
	atomic_store(&shared->drawing, 0);
}

void progress_end(struct run_shared *shared)
{
	int64_t until = weir_deadline_after(PATIENCE_NS);
	int saved = errno;

	atomic_store(&shared->phase, RUN_GRANTED);
	while (atomic_load(&shared->drawing) && weir_now_ns() < until)
		sched_yield();
	if (atomic_exchange(&shared->drawn, 0)) {
		fputs("\r\033[K", stderr);
		fflush(stderr);
	}
	errno = saved;
}
