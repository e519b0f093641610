/* SPDX-License-Identifier: MIT */
#ifndef WEIR_BASE_CLOCK_H
#define WEIR_BASE_CLOCK_H

#include <stdint.h>

/*
 * A recent time of weir_now_ns, at most some milliseconds old.  Reading it takes
 * a fraction of the time.
 */
int64_t weir_recent_ns_(void);

#endif /* WEIR_BASE_CLOCK_H */
