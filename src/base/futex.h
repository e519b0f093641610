/* SPDX-License-Identifier: MIT */
#ifndef WEIR_BASE_FUTEX_H
#define WEIR_BASE_FUTEX_H

#include <stdint.h>

/*
 * Sleep on a word and wake its sleepers, within one process.  Neither changes
 * errno, and neither is a thread-cancellation point.
 */
enum weir_woke_ {
	WEIR_WOKEN_,		/* woken, for a reason or for none: look again */
	WEIR_WOKE_LATE_,	/* the deadline passed */
	WEIR_WOKE_SIGNAL_	/* a signal was handled */
};

/* Sleep while *word == value, until deadline_ns (WEIR_FOREVER: none). */
enum weir_woke_ weir_futex_wait_(uint32_t *word, uint32_t value,
				 int64_t deadline_ns);

/*
 * Sleep for ns nanoseconds at most.  Reads no clock: whatever that shows, a nap
 * ends.
 */
void weir_futex_nap_(uint32_t ns);

/*
 * Wake one sleeper.  Touches no memory: the word may be gone already.
 */
void weir_futex_wake_(uint32_t *word);

#endif /* WEIR_BASE_FUTEX_H */
