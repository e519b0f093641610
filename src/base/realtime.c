/* SPDX-License-Identifier: MIT */
/* Waiting until a time of the wall clock.  Not part of libweir. */
#include "base/realtime.h"

#include <errno.h>
#include <sched.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/timespec.h"

/* As in futex.c: the values of <linux/futex.h>. */
#define WAIT_BITSET 9
#define PRIVATE 128
#define CLOCK_REALTIME_FLAG 256
#define MATCH_ANY UINT32_MAX

#if !defined(SYS_futex) ||                                                     \
	(defined(SYS_futex_time64) && defined(__USE_TIME_BITS64))
#define FUTEX_CALL SYS_futex_time64
#else
#define FUTEX_CALL SYS_futex
#endif

int64_t weir_realtime_ns_(void)
{
	struct timespec now = { 0, 0 };

	(void)clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

enum weir_woke_ weir_futex_wait_realtime_(uint32_t *word, uint32_t value,
					  int64_t realtime_ns)
{
	struct timespec at = weir_timespec_(realtime_ns);
	int saved = errno;
	enum weir_woke_ woke = WEIR_WOKEN_;

	if (syscall(FUTEX_CALL, word, WAIT_BITSET | PRIVATE |
		    CLOCK_REALTIME_FLAG, value, &at, NULL, MATCH_ANY) < 0) {
		if (errno == EINTR)
			woke = WEIR_WOKE_SIGNAL_;
		else if (errno != EAGAIN && errno != ETIMEDOUT)
			/*
			 * If a sandbox blocks futex(2): let other threads run.
			 */
			sched_yield();
	}
	errno = saved;
	/* As in weir_futex_wait_, the clock decides. */
	if (weir_realtime_ns_() >= realtime_ns)
		woke = WEIR_WOKE_LATE_;
	return woke;
}
