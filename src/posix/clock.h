/* SPDX-License-Identifier: MIT */
#ifndef WEIR_POSIX_CLOCK_H
#define WEIR_POSIX_CLOCK_H

#include <stdint.h>

/*
 * A deadline of the wall clock.  The core knows monotonic time only.  A thread
 * that waits until realtime_ns passes the monotonic time deadline_ns to the
 * core, as a name for its deadline.  Between weir_posix_realtime_begin_ and
 * weir_posix_realtime_end_, a futex wait of this thread until deadline_ns
 * sleeps until realtime_ns instead.  So the wait follows the steps of the wall
 * clock and keeps its place in the queue.
 */
void weir_posix_realtime_begin_(int64_t deadline_ns, int64_t realtime_ns);
void weir_posix_realtime_end_(void);

#endif /* WEIR_POSIX_CLOCK_H */
