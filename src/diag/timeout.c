/* SPDX-License-Identifier: MIT */
/*
 * Timeout reports: printed with WEIR_DIAG=report, or given to a function of the
 * program.
 *
 * Pairs
 *
 *   [D4] reporter  release: weir_diag_set_report   acquire: weir_diag_timed_out_
 *                  A call of the function sees the writes that preceded its
 *                  setting.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/shared.h"
#include "diag/own.h"
#include "record/timeout.h"
#include "record/words.h"
#include "weir/diag.h"

#define MINUTE_NS INT64_C(60000000000)
#define REPORT_ROOM 16384u

static weir_diag_report_fn *reporter;

/* The minute, and the number of reports in it: minute << 32 | reports. */
static uint64_t spent;

/* Whether a report may be printed: at most `most` in a minute. */
static bool may_print(uint32_t most)
{
	uint64_t minute = (uint64_t)(weir_now_ns() / MINUTE_NS) & UINT32_MAX;
	/* relaxed: it orders nothing. */
	uint64_t before = at_load_relaxed(&spent), after;

	do {
		uint64_t used = before >> 32 == minute ? before & UINT32_MAX :
							 0;

		if (used >= most)
			return false;
		after = minute << 32 | (used + 1);
		/* relaxed: as above. */
	} while (!at_cas_weak_relaxed(&spent, &before, after));
	return true;
}

/* The text is written at once, so that reports of threads do not mix. */
static void print(const char *text, size_t size)
{
	while (size) {
		ssize_t n = write(STDERR_FILENO, text, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
		text += n;
		size -= (size_t)n;
	}
}

static void report(uint64_t object, uint32_t wait, weir_diag_report_fn *fn)
{
	char *room = weir_map_zero_(REPORT_ROOM);
	struct dg_text text = { .to = room, .size = REPORT_ROOM,
				.site = weir_diag_own_site_ };
	struct dg_own own;

	if (!room)
		return;
	if (!weir_diag_own_(&own, object)) {
		bool found = weir_diag_report_timeout_(&text, &own.model, wait);

		weir_diag_own_free_(&own);
		if (found && fn)
			fn(room);
		else if (found)
			print(room, text.used);
	}
	weir_unmap_(room, REPORT_ROOM);
}

void weir_diag_timed_out_(uint64_t object, uint32_t wait)
{
	/* [D4] acquire */
	weir_diag_report_fn *fn = at_load_acquire(&reporter);
	uint32_t most = weir_diag_words_()->report;
	int before = errno;

	if (fn || (most && may_print(most)))
		report(object, wait, fn);
	errno = before;
}

weir_diag_report_fn *weir_diag_set_report(weir_diag_report_fn *fn)
{
	/* relaxed: a first guess, the CAS checks it. */
	weir_diag_report_fn *before = at_load_relaxed(&reporter);

	/* [D4] release */
	while (!at_cas_weak_acq_rel(&reporter, &before, fn))
		;
	return before;
}
