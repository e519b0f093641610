/* SPDX-License-Identifier: MIT */
#ifndef WEIR_BASE_TICKS_H
#define WEIR_BASE_TICKS_H

#include <stdint.h>
#include <time.h>

#include "base/atomic.h"

/*
 * A clock that is cheap to read.  All processes of the machine share its ticks.
 * On a CPU whose counter can be read in a nanosecond, they are the ticks of that
 * counter.  On others they are the nanoseconds of CLOCK_MONOTONIC_COARSE, which
 * is inexact by some milliseconds; reading them is a call (WEIR_TICKS_CALL_).
 *
 * weir_ticks_exact_ reads the same clock exactly, and takes longer.
 * weir_ticks_ns_ converts ticks of the past to a time of weir_now_ns.
 * weir_ticks_per_s_ returns the number of ticks in a second.
 */
#if defined(__aarch64__)
static inline int64_t weir_ticks_(void)
{
	int64_t ticks;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
	return ticks;
}

static inline int64_t weir_ticks_exact_(void)
{
	return weir_ticks_();
}
#else
#define WEIR_TICKS_CALL_
typedef int weir_clock_reader_(clockid_t clock, struct timespec *now);

/*
 * clock_gettime of the vDSO, which does not fail for this clock; or a function that
 * calls that of libc, and returns 0 as well.
 */
extern weir_clock_reader_ *weir_read_clock_;

static inline int64_t weir_ticks_(void)
{
	struct timespec now = { .tv_sec = 0 };

	/* relaxed: every value that is ever stored is right. */
	(void)at_load_relaxed(&weir_read_clock_)(CLOCK_MONOTONIC_COARSE, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline int64_t weir_ticks_exact_(void)
{
	struct timespec now = { .tv_sec = 0 };

	/* relaxed: as above. */
	(void)at_load_relaxed(&weir_read_clock_)(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/*
 * Store the ticks as two words, seconds and nanoseconds.  Always returns 0: a caller
 * that returns 0 as well can jump to the clock, and needs no stack frame.
 */
static inline int weir_ticks_store_(uint64_t words[2])
{
	weir_clock_reader_ *read;
	struct timespec now = { .tv_sec = 0 };

	/* relaxed: as above. */
	read = at_load_relaxed(&weir_read_clock_);
	/* On other machines a timespec is not two words of 64 bits. */
	if (sizeof(long) == 8)
		return read(CLOCK_MONOTONIC_COARSE, (struct timespec *)words);
	(void)read(CLOCK_MONOTONIC_COARSE, &now);
	/* relaxed: both; the caller's words. */
	at_store_relaxed(&words[0], (uint64_t)now.tv_sec);
	at_store_relaxed(&words[1], (uint64_t)now.tv_nsec);
	return 0;
}
#endif
int64_t weir_ticks_ns_(int64_t ticks);
uint64_t weir_ticks_per_s_(void);

/* The wall clock in nanoseconds, for display. */
int64_t weir_wall_ns_(void);

#endif /* WEIR_BASE_TICKS_H */
