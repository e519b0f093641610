/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_WATCH_LINES_H
#define WEIR_CMD_WATCH_LINES_H

#include "cmd/watch/state.h"

/* Print lines or JSON objects.  Returns the exit status. */
int watch_lines(struct watch *watch);

#endif /* WEIR_CMD_WATCH_LINES_H */
