/* SPDX-License-Identifier: MIT */
#ifndef WEIR_BASE_REALTIME_H
#define WEIR_BASE_REALTIME_H

#include <stdint.h>

#include "base/futex.h"

/*
 * The wall clock, which an administrator may set.  Only libweir-posix uses it:
 * the deadline of sem_timedwait(3) follows the steps of that clock.
 */
int64_t weir_realtime_ns_(void);

/* As weir_futex_wait_, with a deadline of the wall clock. */
enum weir_woke_ weir_futex_wait_realtime_(uint32_t *word, uint32_t value,
					  int64_t realtime_ns);

#endif /* WEIR_BASE_REALTIME_H */
