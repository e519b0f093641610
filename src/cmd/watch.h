/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_WATCH_H
#define WEIR_CMD_WATCH_H

/*
 * weir watch, in parts:
 *
 *     watch.c          options, looking, and which form it takes
 *     watch_lines.c    a line or an object for each change
 *     watch_history.c  use over time, and its sparkline
 *     watch_screen.c   the terminal view
 *     watch_paint.c    what is on it
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "weir/named.h"

#define HISTORY_MAX 1024

/* Parts of the capacity in use, in 1/1000; more than 1000 if there is debt. */
struct history {
	uint16_t samples[HISTORY_MAX];
	size_t count;		/* ever added */
};
void history_add(struct history *history, const weir_named_info *info);
/*
 * The last `width` samples as text, one character each; on the left blanks if
 * there are fewer.  text has room for 3 * width + 1 bytes.
 */
void history_text(const struct history *history, size_t width, bool utf8,
		  char *text);

struct watch {
	const char *name;
	int64_t interval_ns;
	bool interval_given;
	int64_t count;		/* lines until the end; 0: no end */
	bool json;
	weir_named_opts opts;
	weir_named *sem;
	/* The last look. */
	weir_named_info info;
	weir_named_entry *entries;
	int64_t now_ns;
	struct history history;
	void (*leave)(void);	/* before a last message; null: nothing to do */
};

/* Look again; a name that is another semaphore's now is followed. */
void watch_look(struct watch *watch);
/* Age of an entry at the time of the look. */
int64_t watch_age(const struct watch *watch, const weir_named_entry *entry);
/* What is out: held and granted. */
int64_t watch_used(const weir_named_info *info);

/* watch_lines.c: to standard output; the exit status. */
int watch_lines(struct watch *watch);

/* watch_screen.c: on the terminal.  -1: that cannot be done, *why tells. */
int watch_screen(struct watch *watch, const char **why);

/* watch_paint.c */
enum watch_sort { SORT_AGE, SORT_WEIGHT, SORT_PID, SORT_LABEL, SORT_COUNT };

struct view {
	bool paused;
	bool utf8;
	enum watch_sort sort;
	int top;		/* first line of the lists that is seen */
	int lines;		/* how many the lists have, and ... */
	int room;		/* ... there is room for; set by painting */
};
void watch_paint(struct watch *watch, struct view *view);
/* Once, after the screen is there. */
void watch_paint_begin(void);

#endif /* WEIR_CMD_WATCH_H */
