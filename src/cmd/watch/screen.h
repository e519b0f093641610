/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_WATCH_SCREEN_H
#define WEIR_CMD_WATCH_SCREEN_H

#include "cmd/watch/state.h"

/*
 * Show the view on the terminal.  Returns the exit status, or -1 if the view
 * cannot be shown, with the reason in *why.
 */
int watch_screen(struct watch *watch, const char **why);

#endif /* WEIR_CMD_WATCH_SCREEN_H */
