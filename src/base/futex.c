/* SPDX-License-Identifier: MIT */
/*
 * Sleeping and waking through futex(2).
 *
 * FUTEX_WAIT_BITSET takes an absolute CLOCK_MONOTONIC time, so a wait that is
 * interrupted and resumed keeps its deadline.
 */
#include "base/futex.h"

#include <errno.h>
#include <sched.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/timespec.h"
#include "weir/base.h"

/*
 * These values are those of <linux/futex.h>, which some C libraries do not
 * ship.
 */
#define WAIT 0
#define WAKE 1
#define WAIT_BITSET 9
#define PRIVATE 128
#define MATCH_ANY UINT32_MAX

/*
 * A 32-bit system with a 64-bit time_t needs the _time64 call.  A 64-bit
 * system, or one with a 32-bit time_t, has the plain call.
 */
#if !defined(SYS_futex) ||                                                     \
	(defined(SYS_futex_time64) && defined(__USE_TIME_BITS64))
#define FUTEX_CALL SYS_futex_time64
#else
#define FUTEX_CALL SYS_futex
#endif

/*
 * A wake uses the address of the word and does not access the word.
 * base/helgrind.h redefines this macro to express that.
 */
#ifndef WEIR_ADDRESS_ONLY_
#define WEIR_ADDRESS_ONLY_(p) ((void)(p))
#endif

/* If a sandbox blocks futex(2), the caller polls: let other threads run. */
static void yield_if_refused(int error)
{
	if (error != EINTR && error != EAGAIN && error != ETIMEDOUT)
		sched_yield();
}

enum weir_woke_ weir_futex_wait_(uint32_t *word, uint32_t value,
				 int64_t deadline_ns)
{
	struct timespec at, *until = NULL;
	int saved = errno;
	enum weir_woke_ woke = WEIR_WOKEN_;

	if (deadline_ns != WEIR_FOREVER) {
		at = weir_timespec_(deadline_ns);
		until = &at;
	}
	if (syscall(FUTEX_CALL, word, WAIT_BITSET | PRIVATE,
		    value, until, NULL, MATCH_ANY) < 0) {
		if (errno == EINTR)
			woke = WEIR_WOKE_SIGNAL_;
		yield_if_refused(errno);
	}
	errno = saved;
	/*
	 * The clock decides if the deadline has passed, not the result of the
	 * call: a wait must not end early, or last forever, if futex(2) fails
	 * or is emulated.
	 */
	if (until && weir_now_ns() >= deadline_ns)
		woke = WEIR_WOKE_LATE_;
	return woke;
}

void weir_futex_doze_(uint32_t *word, uint32_t value, uint32_t ns)
{
	struct timespec limit = weir_timespec_(ns);
	int saved = errno;

	/* FUTEX_WAIT takes a relative time. */
	if (syscall(FUTEX_CALL, word, WAIT | PRIVATE, value, &limit, NULL,
		    0) < 0)
		yield_if_refused(errno);
	errno = saved;
}

void weir_futex_nap_(uint32_t ns)
{
	uint32_t nobody = 0;

	weir_futex_doze_(&nobody, 0, ns);
}

void weir_futex_wake_(uint32_t *word)
{
	int saved = errno;

	WEIR_ADDRESS_ONLY_(word);
	(void)syscall(FUTEX_CALL, word, WAKE | PRIVATE, 1, NULL, NULL, 0);
	errno = saved;
}
