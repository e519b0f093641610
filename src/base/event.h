/* SPDX-License-Identifier: MIT */
#ifndef WEIR_BASE_EVENT_H
#define WEIR_BASE_EVENT_H

/*
 * A file descriptor that polls readable from raise to clear.  weir_event_open_
 * returns it, or -1 with errno; the other functions preserve errno.
 * weir_event_raise_ is async-signal-safe.
 */
int weir_event_open_(void);
void weir_event_raise_(int fd);
void weir_event_clear_(int fd);
void weir_event_close_(int fd);

#endif /* WEIR_BASE_EVENT_H */
