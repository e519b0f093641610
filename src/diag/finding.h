/* SPDX-License-Identifier: MIT */
#ifndef WEIR_DIAG_FINDING_H
#define WEIR_DIAG_FINDING_H

/*
 * The findings of the watchdog: groups of contexts that can never proceed,
 * permits of threads that have ended, holds above a limit, and stalls.
 *
 * A finding has a key, which identifies it: the waits of a deadlock, or the
 * last release of a stall.  A finding is reported if two consecutive rounds
 * find the same key, and then not again.  If the waits change, then the key
 * changes, and it is another finding.
 */
#include "diag/text.h"

/*
 * The most findings at the same time.  If more exist, the others are found when
 * one of these has ended.
 */
#define DG_FINDINGS 256u

struct dg_finding {
	uint64_t key;		/* 0: unused */
	uint32_t round;		/* the round that found it last */
	bool reported;
};

struct dg_watchdog {
	int64_t hold_ns;	/* the longest hold; 0: no limit */
	/*
	 * The time at which the process ran again after it had been stopped; 0:
	 * it was not stopped.  Times that are measured for a finding begin at
	 * that time at the earliest.
	 */
	int64_t resumed_ns;
	/* Returns true if a report may be written now. */
	bool (*may)(void *user);
	/*
	 * Called with a report about `object`.  The verdict is DG_FINE for a
	 * hold above the limit.
	 */
	void (*report)(void *user, const struct dg_text *text,
		       const struct dg_object *object, enum dg_verdict verdict);
	void *user;
	struct dg_text text;	/* with a buffer, for the reports */
	uint32_t round;
	struct dg_finding found[DG_FINDINGS];
};

/* Run one round of the watchdog.  Requires: the model was judged. */
void weir_diag_examine_(struct dg_watchdog *dog, struct dg_model *model);

#endif /* WEIR_DIAG_FINDING_H */
