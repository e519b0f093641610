/* SPDX-License-Identifier: MIT */
/*
 * The pictures of weir top.  Curses writes only the difference to the last
 * picture.
 */
#include <curses.h>
#include <stdio.h>
#include <string.h>

#include "cmd/diag/top_view.h"
#include "cmd/lib/colours.h"
#include "cmd/lib/text.h"

/* Returns the bytes of the line that fit into one row of the terminal. */
static size_t row_length(const char *line)
{
	size_t length = 0;

	for (int x = 0; x < COLS && line[length] && line[length] != '\n'; x++) {
		size_t size = text_utf8(line + length);

		length += size ? size : 1;
	}
	return length;
}

/* Write a line, cut at the width of the terminal. */
static void put(const struct top_view *view, int y, const char *line,
		int colour)
{
	if (view->coloured && colour)
		attron(COLOR_PAIR(colour));
	if (y >= 0 && y < LINES)
		(void)mvaddnstr(y, 0, line, (int)row_length(line));
	if (view->coloured && colour)
		attroff(COLOR_PAIR(colour));
}

static int colour_of(enum dg_verdict verdict)
{
	return verdict >= DG_NO_RELEASER ? COLOUR_BAD :
	       verdict > DG_SLOW ? COLOUR_FULL : 0;
}

static void paint_table(struct top_view *view)
{
	const struct rows *rows = view->rows;
	uint32_t room = LINES > FRAME ? (uint32_t)(LINES - FRAME) : 0;
	char line[ROWS_LINE];

	(void)snprintf(line, sizeof(line), "weir top: %u object%s in %u "
		       "process%s%s", rows->count, rows->count == 1 ? "" : "s",
		       rows->processes, rows->processes == 1 ? "" : "es",
		       view->paused ? ", paused" : "");
	attrset(A_BOLD);
	put(view, 0, line, 0);
	rows_line(NULL, line);
	attrset(A_REVERSE);
	(void)mvhline(1, 0, ' ', COLS);
	put(view, 1, line, 0);
	attrset(A_NORMAL);
	if (view->selected < view->top)
		view->top = view->selected;
	if (room && view->selected >= view->top + room)
		view->top = view->selected - room + 1;
	for (uint32_t i = 0; i < room && view->top + i < rows->count; i++) {
		const struct row *row = &rows->list[view->top + i];

		rows_line(row, line);
		attrset(view->top + i == view->selected ? A_BOLD | A_UNDERLINE :
							  A_NORMAL);
		put(view, (int)i + 2, line, colour_of(row->verdict));
	}
	attrset(A_DIM);
	(void)snprintf(line, sizeof(line), "q quit  enter open  s sorted by "
		       "%s  p %s", rows_sort_name(rows->sort),
		       view->paused ? "continue" : "pause");
	put(view, LINES - 1, line, 0);
	attrset(A_NORMAL);
}

static void paint_detail(struct top_view *view)
{
	const char *at = view->detail;

	for (int y = 0; y < LINES - 1 && *at; y++) {
		size_t length = strcspn(at, "\n");

		(void)mvaddnstr(y, 0, at, length < (size_t)COLS ? (int)length :
								  COLS);
		at += length + (at[length] == '\n');
	}
	attrset(A_DIM);
	put(view, LINES - 1, "q back to the table", 0);
	attrset(A_NORMAL);
}

void top_paint(struct top_view *view)
{
	erase();
	if (view->opened)
		paint_detail(view);
	else
		paint_table(view);
	refresh();
}
