/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_WATCH_PAINT_H
#define WEIR_CMD_WATCH_PAINT_H

/* Drawing the view. */
#include <stdbool.h>

#include "cmd/watch/state.h"

enum watch_sort { SORT_AGE, SORT_WEIGHT, SORT_PID, SORT_LABEL, SORT_COUNT };

struct view {
	bool paused;
	bool utf8;
	enum watch_sort sort;
	int top;		/* first visible line of the list */
	int lines;		/* lines of the list; set by watch_paint */
	int room;		/* visible lines; set by watch_paint */
};

/* Called once, after curses has been initialised. */
void watch_paint_init(void);
void watch_paint(struct watch *watch, struct view *view);

#endif /* WEIR_CMD_WATCH_PAINT_H */
