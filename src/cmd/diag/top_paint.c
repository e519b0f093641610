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
	if (!rows->count && !rows->what)
		put(view, 2, ROWS_NONE, 0);
	attrset(A_DIM);
	(void)snprintf(line, sizeof(line), "q quit  enter open  s sorted by "
		       "%s  p %s", rows_sort_name(rows->sort),
		       view->paused ? "continue" : "pause");
	put(view, LINES - 1, line, 0);
	attrset(A_NORMAL);
}

/*
 * Write the rows from view->first on.  A line that is longer than a row goes on in
 * the next row: its end has the call site.  Returns the number of all rows.
 */
static uint32_t paint_rows(const struct top_view *view)
{
	uint32_t room = LINES > 1 ? (uint32_t)(LINES - 1) : 0, row = 0;

	for (const char *at = view->detail; *at; row++) {
		size_t length = row_length(at);

		if (row >= view->first && row - view->first < room)
			(void)mvaddnstr((int)(row - view->first), 0, at,
					(int)length);
		at += length;
		at += *at == '\n';
	}
	return row;
}

static void paint_detail(struct top_view *view)
{
	uint32_t room = LINES > 1 ? (uint32_t)(LINES - 1) : 0;
	uint32_t rows = paint_rows(view);
	uint32_t last = rows > room ? rows - room : 0;

	if (view->first > last) {
		view->first = last;
		erase();
		(void)paint_rows(view);
	}
	attrset(A_DIM);
	put(view, LINES - 1, last ? "q back to the table  up down page home end "
				    "scroll" : "q back to the table", 0);
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
