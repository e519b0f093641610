/* SPDX-License-Identifier: MIT */
#ifndef WEIR_BASE_TIMER_H
#define WEIR_BASE_TIMER_H

#include <stdint.h>

/*
 * A file descriptor that polls readable from deadline_ns on (WEIR_FOREVER:
 * never).  weir_timer_open_ returns it, or -1 with errno.  weir_timer_fire_
 * makes it readable, and returns once it is.
 */
int weir_timer_open_(int64_t deadline_ns);
void weir_timer_fire_(int fd);
void weir_timer_close_(int fd);

#endif /* WEIR_BASE_TIMER_H */
