/* SPDX-License-Identifier: MIT */
#ifndef WEIR_BASE_EVENT_H
#define WEIR_BASE_EVENT_H

/*
 * A file descriptor that polls readable from raise to clear.  open returns it,
 * or -1 with errno.  raise is async-signal-safe; none changes errno but open.
 */
int weir_event_open_(void);
void weir_event_raise_(int fd);
void weir_event_clear_(int fd);
void weir_event_close_(int fd);

#endif /* WEIR_BASE_EVENT_H */
