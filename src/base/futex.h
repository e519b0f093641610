/* SPDX-License-Identifier: MIT */
#ifndef WEIR_BASE_FUTEX_H
#define WEIR_BASE_FUTEX_H

#include <stdint.h>

/*
 * Sleep on a word and wake its sleepers, within one process.  All functions
 * preserve errno, and none is a thread-cancellation point.
 */
enum weir_woke_ {
	WEIR_WOKEN_,		/* woken, maybe spuriously: check again */
	WEIR_WOKE_LATE_,	/* the deadline passed */
	WEIR_WOKE_SIGNAL_	/* a signal was handled */
};

/* Sleep while *word == value, until deadline_ns (WEIR_FOREVER: no deadline). */
enum weir_woke_ weir_futex_wait_(uint32_t *word, uint32_t value,
				 int64_t deadline_ns);

/*
 * Sleep while *word == value, but for at most ns nanoseconds.  For a sleeper
 * that checks its condition in a loop: if the kernel refuses a wake-up, the
 * sleeper is late, but it does not sleep forever.  This function does not read
 * the clock, so the sleep ends even if the clock stands still.
 */
void weir_futex_doze_(uint32_t *word, uint32_t value, uint32_t ns);

/* Sleep for at most ns nanoseconds, as above. */
void weir_futex_nap_(uint32_t ns);

/*
 * Wake one sleeper.  The wake does not access *word, which may have been freed.
 */
void weir_futex_wake_(uint32_t *word);

#endif /* WEIR_BASE_FUTEX_H */
