/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_WATCH_WATCH_H
#define WEIR_CMD_WATCH_WATCH_H

/*
 * weir watch.
 *
 *     watch.c     options, and the choice of the output form
 *     state.c     reading snapshots of the semaphore
 *     lines.c     output form 1: a line or a JSON object for each change
 *     screen.c    output form 2: a view on the terminal, with keys
 *     noscreen.c  in place of screen.c and paint.c if there is no ncurses
 *     paint.c     drawing the view
 *     history.c   use over time, and its sparkline
 */
#include "cmd/lib/command.h"

extern const struct cmd cmd_watch;

#endif /* WEIR_CMD_WATCH_WATCH_H */
