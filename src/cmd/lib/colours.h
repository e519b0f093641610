/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_LIB_COLOURS_H
#define WEIR_CMD_LIB_COLOURS_H

/*
 * The colours of the screens of weir: pairs of curses.
 */
#include <stdbool.h>

/* Pair 0 has the default colours of the terminal. */
enum { COLOUR_GOOD = 1, COLOUR_FULL, COLOUR_BAD };

/*
 * Define the pairs.  Returns false if the terminal has no colours, or NO_COLOR
 * is set.  Requires: curses was started.
 */
bool colours_start(void);

#endif /* WEIR_CMD_LIB_COLOURS_H */
