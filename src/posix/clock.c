/* SPDX-License-Identifier: MIT */
/*
 * The futex of libweir-posix.  In this library base/futex.c is compiled with
 * weir_futex_wait_ renamed to weir_futex_wait_monotonic_.
 */
#include "posix/clock.h"

#include "base/futex.h"
#include "base/realtime.h"
#include "base/tls.h"
#include "weir/base.h"

enum weir_woke_ weir_futex_wait_monotonic_(uint32_t *word, uint32_t value,
					   int64_t deadline_ns);

static _Thread_local struct {
	int64_t deadline_ns;	/* 0: no deadline of the wall clock */
	int64_t realtime_ns;
} mine WEIR_TLS_READY_;

void weir_posix_realtime_begin_(int64_t deadline_ns, int64_t realtime_ns)
{
	mine.deadline_ns = deadline_ns;
	mine.realtime_ns = realtime_ns;
}

void weir_posix_realtime_end_(void)
{
	mine.deadline_ns = 0;
}

enum weir_woke_ weir_futex_wait_(uint32_t *word, uint32_t value,
				 int64_t deadline_ns)
{
	if (mine.deadline_ns && deadline_ns == mine.deadline_ns)
		return weir_futex_wait_realtime_(word, value, mine.realtime_ns);
	return weir_futex_wait_monotonic_(word, value, deadline_ns);
}
