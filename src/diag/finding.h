/* SPDX-License-Identifier: MIT */
#ifndef WEIR_DIAG_FINDING_H
#define WEIR_DIAG_FINDING_H

/*
 * The findings of the watchdog: groups of contexts that can never proceed,
 * permits of threads that have ended, holds above a limit, and stalls.
 *
 * A finding has a key, which contains all that makes it this one: the waits of a
 * deadlock, the last release of a stall.  A finding is reported if two
 * consecutive rounds find the same key, and then not again.  If it changes, its
 * key does, and it is another finding.
 */
#include "diag/text.h"

/*
 * Findings that exist at the same time.  If there are more, the rest is found
 * when one of these has ended.
 */
#define DG_FINDINGS 256u

struct dg_finding {
	uint64_t key;		/* 0: unused */
	uint32_t round;		/* that found it last */
	bool reported;
};

struct dg_watchdog {
	int64_t hold_ns;	/* the longest hold; 0: no limit */
	/*
	 * When the process ran again after it had been stopped; 0: it was not.
	 * Times that are measured for a finding begin then at the earliest.
	 */
	int64_t resumed_ns;
	/* Returns true if a report may be written now. */
	bool (*may)(void *user);
	/*
	 * Gets a report.  `object` is what it is about.  The verdict is DG_FINE
	 * for a hold above the limit.
	 */
	void (*report)(void *user, const struct dg_text *text,
		       const struct dg_object *object, enum dg_verdict verdict);
	void *user;
	struct dg_text text;	/* with a buffer, for the reports */
	uint32_t round;
	struct dg_finding found[DG_FINDINGS];
};

/* One round.  Requires: the model was judged. */
void weir_diag_examine_(struct dg_watchdog *dog, struct dg_model *model);

#endif /* WEIR_DIAG_FINDING_H */
