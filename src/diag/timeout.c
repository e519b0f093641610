/* SPDX-License-Identifier: MIT */
/*
 * Timeout reports: printed with WEIR_DIAG=report, or given to a function of the
 * program.  The call sites are module and offset: the calling thread must return
 * at its deadline, so it must not wait for the lock of the loader, which dladdr
 * takes.
 *
 * Pairs
 *
 *   [D4] reporter  release: weir_diag_set_report   acquire: weir_diag_reporter_
 *                  A call of the function sees the writes that preceded its
 *                  setting.
 */
#include <errno.h>
#include <stddef.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/print.h"
#include "base/shared.h"
#include "diag/limit.h"
#include "diag/maps.h"
#include "diag/own.h"
#include "diag/timeout.h"
#include "record/timeout.h"
#include "record/words.h"
#include "weir/diag.h"

#define REPORT_ROOM 16384u

static weir_diag_report_fn *reporter;

static uint64_t spent;

static void report(uint64_t object, uint32_t wait, weir_diag_report_fn *fn)
{
	char *room = weir_map_zero_(REPORT_ROOM);
	struct dg_text text = { .to = room, .size = REPORT_ROOM,
				.site = weir_diag_map_site_ };
	struct dg_own own;

	if (!room)
		return;
	if (!weir_diag_own_(&own, object)) {
		bool found = weir_diag_report_timeout_(&text, &own.model, wait);

		weir_diag_own_free_(&own);
		if (found && fn)
			fn(room);
		else if (found)
			weir_print_(STDERR_FILENO, room, text.used);
	}
	weir_unmap_(room, REPORT_ROOM);
}

void weir_diag_timed_out_(uint64_t object, uint32_t wait)
{
	weir_diag_report_fn *fn = weir_diag_reporter_();
	uint32_t most = weir_diag_words_()->report;
	int before = errno, cancel;

	if (!fn && !(most && weir_diag_may_print_(&spent, most)))
		return;
	/* The report must not be cancelled: the acquire cannot be either. */
	if (weir_diag_begin_(&cancel)) {
		report(object, wait, fn);
		weir_diag_end_(cancel);
	}
	errno = before;
}

weir_diag_report_fn *weir_diag_reporter_(void)
{
	/* [D4] acquire */
	return at_load_acquire(&reporter);
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
