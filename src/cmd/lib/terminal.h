/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_LIB_TERMINAL_H
#define WEIR_CMD_LIB_TERMINAL_H

#include <curses.h>

/*
 * Start curses on standard input and output.  Returns null and sets *why if the
 * terminal is unknown or cannot show a screen.
 */
SCREEN *terminal_start(const char **why);

#endif /* WEIR_CMD_LIB_TERMINAL_H */
