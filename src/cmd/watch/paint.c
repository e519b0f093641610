/* SPDX-License-Identifier: MIT */
/*
 * Drawing the view, from the top: the title, the bar, the use over time, the
 * list of holders and waiters, and the keys.  On a small terminal the lower
 * parts are left out.
 */
#include <curses.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <wchar.h>
#include <wctype.h>

#include "cmd/lib/colours.h"
#include "cmd/lib/duration.h"
#include "cmd/watch/paint.h"

static bool coloured;

void watch_paint_init(void)
{
	coloured = colours_start();
}

static void colour(int pair)
{
	attrset(coloured ? COLOR_PAIR(pair) : A_NORMAL);
}

/*
 * Write text from column x on, truncated to the width of the terminal.  Bytes
 * that cannot be printed become '?'.  Returns the next column.
 */
static int put(int y, int x, const char *text)
{
	size_t used = 0, left = strlen(text);
	mbstate_t state;
	char line[1024];
	int at = x;

	memset(&state, 0, sizeof(state));
	while (left && used + MB_LEN_MAX < sizeof(line)) {
		wchar_t c = L'?';
		size_t size = mbrtowc(&c, text, left, &state);
		bool good = size && size <= left && iswprint((wint_t)c);
		int columns = good ? wcwidth(c) : 1;

		if (columns < 0) {
			good = false;
			columns = 1;
		}
		if (at + columns > COLS)
			break;
		if (!size || size > left) {
			memset(&state, 0, sizeof(state));
			size = 1;
		}
		if (good)
			memcpy(line + used, text, size);
		else
			line[used] = '?';
		used += good ? size : 1;
		at += columns;
		text += size;
		left -= size;
	}
	line[used] = '\0';
	if (x < COLS)
		(void)mvaddstr(y, x, line);
	return at;
}

static int put_number(int y, int x, int64_t number)
{
	char text[32];

	(void)snprintf(text, sizeof(text), "%lld", (long long)number);
	return put(y, x, text);
}

static void paint_title(const struct watch *watch, const struct view *view)
{
	const weir_named_info *info = &watch->info;
	time_t now = time(NULL);
	struct tm local;
	char clock[16] = "";
	int x;

	attrset(A_BOLD);
	x = put(0, 0, watch->name);
	attrset(A_NORMAL);
	x = put_number(0, x + 2, watch_used(info));
	x = put(0, x, " of ");
	x = put_number(0, x, info->capacity);
	x = put(0, x, " in use, ");
	x = put_number(0, x, info->waiters);
	x = put(0, x, " waiting");
	colour(COLOUR_BAD);
	if (info->debt) {
		x = put(0, x, ", debt ");
		x = put_number(0, x, info->debt);
	}
	if (info->closed)
		x = put(0, x, ", closed");
	if (info->paused)
		x = put(0, x, ", paused");
	if (info->renamed)
		x = put(0, x, ", name removed");
	colour(COLOUR_FULL);
	if (view->paused)
		x = put(0, x, ", paused");
	attrset(A_NORMAL);
	if (localtime_r(&now, &local))
		(void)strftime(clock, sizeof(clock), "%H:%M:%S", &local);
	if (x + 2 + (int)strlen(clock) <= COLS)
		(void)put(0, COLS - (int)strlen(clock), clock);
}

/* Draw the bar "now [#######------]", over the whole width. */
static void paint_bar(const struct watch *watch)
{
	const weir_named_info *info = &watch->info;
	int width = COLS - 6, full;
	double part;

	if (width < 1)
		return;
	part = info->capacity <= 0 ? 1 :
	       (double)watch_used(info) / (double)info->capacity;
	if (part > 1)
		part = 1;
	full = (int)(part * width);
	if (!full && watch_used(info))
		full = 1;
	(void)put(1, 0, "now [");
	colour(info->debt || info->closed ? COLOUR_BAD :
	       info->free ? COLOUR_GOOD : COLOUR_FULL);
	for (int i = 0; i < full; i++)
		(void)mvaddch(1, 5 + i, '#');
	attrset(A_NORMAL);
	for (int i = full; i < width; i++)
		(void)mvaddch(1, 5 + i, '-');
	(void)mvaddch(1, 5 + width, ']');
}

static void paint_history(const struct watch *watch, const struct view *view)
{
	char *text;
	int width = COLS - 6;

	if (width < 1)
		return;
	text = malloc(3 * (size_t)width + 1);
	if (!text)
		return;
	history_text(&watch->history, (size_t)width, view->utf8, text);
	(void)put(2, 0, "use");
	colour(COLOUR_GOOD);
	/* Do not use put(), whose buffer may be too short. */
	(void)mvaddstr(2, 5, text);
	attrset(A_NORMAL);
	free(text);
}

/* The arguments of compare, which qsort does not pass. */
static const struct watch *sorted;
static enum watch_sort sorted_by;

static int compare(const void *a, const void *b)
{
	const weir_named_entry *x = *(const weir_named_entry *const *)a;
	const weir_named_entry *y = *(const weir_named_entry *const *)b;
	int64_t order = 0;

	switch (sorted_by) {
	case SORT_WEIGHT:
		order = y->weight - x->weight;
		break;
	case SORT_PID:
		order = x->pid - y->pid;
		break;
	case SORT_LABEL:
		order = strcmp(x->label, y->label);
		break;
	case SORT_AGE:
	case SORT_COUNT:
		order = watch_age(sorted, y) - watch_age(sorted, x);
		break;
	}
	/* Equal entries keep their order, so that the view is stable. */
	if (!order)
		order = x < y ? -1 : 1;
	return order < 0 ? -1 : 1;
}

static void paint_entry(const struct watch *watch,
			const weir_named_entry *entry, int y)
{
	char place[16] = "", age[DURATION_ROOM], line[96];

	if (entry->place)
		(void)snprintf(place, sizeof(place), "%u", entry->place);
	(void)snprintf(line, sizeof(line), "%-7s %8lld %9d %9s  ",
		       entry->dead ? "dying" :
		       entry->role == WEIR_NAMED_GRANTED ? "granted" :
		       entry->role == WEIR_NAMED_OVERSIZED ? "oversized" :
		       entry->role == WEIR_NAMED_IDLE ? "idle" :
		       entry->role == WEIR_NAMED_LOCKS ? "locks" :
		       entry->place ? place : "holds",
		       (long long)entry->weight, entry->pid,
		       duration_text(watch_age(watch, entry), age));
	if (entry->dead)
		colour(COLOUR_BAD);
	(void)put(y, put(y, 0, line), entry->label);
	attrset(A_NORMAL);
}

static void paint_list(struct watch *watch, struct view *view)
{
	static const char *const by[] = {
		[SORT_AGE] = "age", [SORT_WEIGHT] = "weight",
		[SORT_PID] = "process", [SORT_LABEL] = "label",
	};
	uint32_t count = watch->info.entries, holders = 0;
	const weir_named_entry **order = calloc(count + (size_t)1,
						sizeof(*order));
	char keys[96];

	if (!order)
		return;
	/* Only the holders are sorted; they come first. */
	for (uint32_t i = 0; i < count; i++) {
		order[i] = &watch->entries[i];
		if (order[i]->role == WEIR_NAMED_HOLDS)
			holders = i + 1;
	}
	sorted = watch;
	sorted_by = view->sort;
	qsort(order, holders, sizeof(*order), compare);
	attrset(A_REVERSE);
	(void)mvhline(4, 0, ' ', COLS);
	(void)put(4, 0, "PLACE     WEIGHT   PROCESS     SINCE  LABEL");
	attrset(A_NORMAL);
	view->lines = (int)count;
	view->room = LINES > 6 ? LINES - 6 : 0;
	if (view->top > view->lines - view->room)
		view->top = view->lines > view->room ?
				    view->lines - view->room : 0;
	for (int i = 0; i < view->room && view->top + i < view->lines; i++)
		paint_entry(watch, order[view->top + i], 5 + i);
	(void)snprintf(keys, sizeof(keys),
		       "q quit  p %s  s sorted by %s%s",
		       view->paused ? "continue" : "pause", by[view->sort],
		       view->lines > view->room ? "  up down scroll" : "");
	attrset(A_DIM);
	(void)put(LINES - 1, 0, keys);
	attrset(A_NORMAL);
	free(order);
}

void watch_paint(struct watch *watch, struct view *view)
{
	erase();
	paint_title(watch, view);
	if (LINES > 1)
		paint_bar(watch);
	if (LINES > 2)
		paint_history(watch, view);
	if (LINES > 6)
		paint_list(watch, view);
	refresh();
}
