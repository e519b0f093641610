/* SPDX-License-Identifier: MIT */
/*
 * Sleeping and waking by futex(2).
 *
 * FUTEX_WAIT_BITSET takes an absolute CLOCK_MONOTONIC time, so that a wait that
 * is interrupted and resumed does not grow.
 */
#include "base/futex.h"

#include <errno.h>
#include <sched.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/timespec.h"
#include "weir/base.h"

/* As in <linux/futex.h>, which does not come with every libc. */
#define WAIT 0
#define WAKE 1
#define WAIT_BITSET 9
#define PRIVATE 128
#define MATCH_ANY UINT32_MAX

/*
 * 32-bit systems with 64-bit time_t need the _time64 call; 64-bit ones and
 * those with 32-bit time_t have the plain one.
 */
#if !defined(SYS_futex) ||                                                     \
	(defined(SYS_futex_time64) && defined(__USE_TIME_BITS64))
#define FUTEX_CALL SYS_futex_time64
#else
#define FUTEX_CALL SYS_futex
#endif

/* To wake is no access to the word: base/helgrind.h has a use for that. */
#ifndef WEIR_ADDRESS_ONLY_
#define WEIR_ADDRESS_ONLY_(p) ((void)(p))
#endif

enum weir_woke_ weir_futex_wait_(uint32_t *word, uint32_t value,
				 int64_t deadline_ns)
{
	struct timespec at = weir_timespec_(deadline_ns);
	struct timespec *until = deadline_ns == WEIR_FOREVER ? NULL : &at;
	int saved = errno;
	enum weir_woke_ woke = WEIR_WOKEN_;

	if (syscall(FUTEX_CALL, word, WAIT_BITSET | PRIVATE,
		    value, until, NULL, MATCH_ANY) < 0) {
		if (errno == EINTR)
			woke = WEIR_WOKE_SIGNAL_;
		else if (errno != EAGAIN && errno != ETIMEDOUT)
			/* No futex here: a sandbox.  Let others run. */
			sched_yield();
	}
	errno = saved;
	/* The clock decides, so that no wait is cut short or goes on for ever
	 * where the kernel cannot tell, or tells something else. */
	if (until && weir_now_ns() >= deadline_ns)
		woke = WEIR_WOKE_LATE_;
	return woke;
}

void weir_futex_nap_(uint32_t ns)
{
	struct timespec limit = weir_timespec_(ns);
	uint32_t nobody = 0;
	int saved = errno;

	/* FUTEX_WAIT takes a time from now. */
	if (syscall(FUTEX_CALL, &nobody, WAIT | PRIVATE, 0, &limit, NULL,
		    0) < 0 && errno != ETIMEDOUT)
		sched_yield();
	errno = saved;
}

void weir_futex_wake_(uint32_t *word)
{
	int saved = errno;

	WEIR_ADDRESS_ONLY_(word);
	(void)syscall(FUTEX_CALL, word, WAKE | PRIVATE, 1, NULL, NULL, 0);
	errno = saved;
}
