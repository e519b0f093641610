/* SPDX-License-Identifier: MIT */
/*
 * The table of weir top on the terminal: updates, signals and keys.
 *
 * Signals that end the view are unblocked only in ppoll, so the terminal is
 * always restored.
 */
#include <curses.h>
#include <errno.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/diag/top.h"
#include "cmd/diag/top_view.h"
#include "cmd/lib/colours.h"
#include "cmd/lib/fail.h"
#include "cmd/lib/terminal.h"

static volatile sig_atomic_t caught;

static void on_signal(int sig)
{
	caught = sig;
}

static void catch_signals(sigset_t *outside)
{
	static const int ending[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	struct sigaction action;
	sigset_t blocked;

	memset(&action, 0, sizeof(action));
	action.sa_handler = on_signal;
	sigemptyset(&action.sa_mask);
	sigemptyset(&blocked);
	for (size_t i = 0; i < sizeof(ending) / sizeof(ending[0]); i++) {
		struct sigaction old;

		/* A signal that is ignored, as by nohup(1), stays ignored. */
		if (!sigaction(ending[i], NULL, &old) &&
		    old.sa_handler == SIG_IGN)
			continue;
		(void)sigaction(ending[i], &action, NULL);
		sigaddset(&blocked, ending[i]);
	}
	sigaddset(&blocked, SIGWINCH);
	sigaddset(&blocked, SIGTSTP);
	(void)sigprocmask(SIG_BLOCK, &blocked, outside);
	sigdelset(outside, SIGWINCH);
	sigdelset(outside, SIGTSTP);
}

static bool wait_until(int64_t when, const sigset_t *outside)
{
	int64_t left = when - weir_now_ns();
	struct pollfd keys = { .fd = STDIN_FILENO, .events = POLLIN };
	struct timespec time;

	if (left < 0)
		left = 0;
	time = (struct timespec){ left / 1000000000, left % 1000000000 };
	if (ppoll(&keys, 1, when == WEIR_FOREVER ? NULL : &time, outside) < 0)
		return errno == EINTR;
	return !(keys.revents & (POLLHUP | POLLERR | POLLNVAL));
}

/*
 * Find the selected object again after a sample or a change of the order.  Returns
 * false if it does not exist any more.
 */
static bool keep_selection(struct top_view *view)
{
	struct rows *rows = view->rows;
	bool found = false;

	for (uint32_t i = 0; i < rows->count && !found; i++) {
		found = rows->list[i].pid == view->pid &&
			rows->list[i].id == view->id;
		if (found)
			view->selected = i;
	}
	if (view->selected >= rows->count)
		view->selected = rows->count ? rows->count - 1 : 0;
	return found;
}

static void select_row(struct top_view *view, int64_t to)
{
	struct rows *rows = view->rows;

	if (to >= (int64_t)rows->count)
		to = (int64_t)rows->count - 1;
	if (to < 0)
		to = 0;
	view->selected = (uint32_t)to;
	if (rows->count) {
		view->pid = rows->list[to].pid;
		view->id = rows->list[to].id;
	}
}

/* Show the holders and waiters of the selected object. */
static void show_selected(struct top_view *view)
{
	if (!rows_detail(view->rows, view->pid, view->id, view->detail,
			 sizeof(view->detail)))
		(void)snprintf(view->detail, sizeof(view->detail),
			       "The object does not exist any more.\n");
}

static void open_selected(struct top_view *view)
{
	if (view->opened || !view->rows->count)
		return;
	select_row(view, view->selected);
	show_selected(view);
	view->opened = true;
	view->first = 0;
}

/* Returns by how many rows the key moves; 0: it does not. */
static int64_t distance(int key)
{
	switch (key) {
	case KEY_UP:
	case 'k':
		return -1;
	case KEY_DOWN:
	case 'j':
		return 1;
	case KEY_PPAGE:
		return FRAME - LINES;
	case KEY_NPAGE:
		return LINES - FRAME;
	case KEY_HOME:
		return -(int64_t)UINT32_MAX;
	case KEY_END:
		return UINT32_MAX;
	default:
		return 0;
	}
}

/* Move the selection, or the rows of the object that is open. */
static void move_by(struct top_view *view, int64_t rows)
{
	int64_t first = view->first + rows;

	if (!view->opened)
		select_row(view, view->selected + rows);
	else
		/* The last row is known when it is painted. */
		view->first = first < 0 ? 0 : first > UINT32_MAX ? UINT32_MAX :
			      (uint32_t)first;
}

/* Returns false if the key ends the view. */
static bool handle_key(struct top_view *view, int key)
{
	switch (key) {
	case 'q':
	case 'Q':
	case 27:
		if (!view->opened)
			return false;
		view->opened = false;
		break;
	case 'p':
	case ' ':
		view->paused = !view->paused;
		break;
	case 's':
		view->rows->sort = (view->rows->sort + 1) % ROWS_SORTS;
		rows_order(view->rows);
		(void)keep_selection(view);
		break;
	case '\n':
	case '\r':
	case KEY_ENTER:
		open_selected(view);
		break;
	case 'L' - '@':		/* control-L: draw everything again */
		clearok(curscr, TRUE);
		break;
	default:
		move_by(view, distance(key));
		break;
	}
	return true;
}

/* Restore the terminal.  This is also called at exit, after an error. */
static void restore(void)
{
	if (!isendwin())
		endwin();
}

static void sample(struct top_view *view)
{
	char why[DIAG_WHY];
	int status;

	if (!rows_sample(view->rows, why, &status)) {
		restore();
		cmd_die(status, "%s", why);
	}
	rows_order(view->rows);
	/* An object that is open stays open, also if it is gone. */
	if (!keep_selection(view) && !view->opened)
		select_row(view, view->selected);
	if (view->opened)
		show_selected(view);
}

static int run_view(struct top_view *view, int64_t interval_ns,
		    const sigset_t *outside)
{
	int64_t next = 0;

	for (;;) {
		int key;

		if (!view->paused && weir_now_ns() >= next) {
			sample(view);
			next = weir_deadline_after(interval_ns);
		}
		top_paint(view);
		if (!wait_until(view->paused ? WEIR_FOREVER : next, outside))
			return EXIT_SIGNAL(SIGHUP);
		if (caught)
			return EXIT_SIGNAL(caught);
		while ((key = getch()) != ERR)
			if (!handle_key(view, key))
				return EXIT_SUCCESS;
	}
}

int top_screen(struct rows *rows, int64_t interval_ns, const char **why)
{
	static struct top_view view;
	sigset_t outside;
	SCREEN *screen;
	int status;

	(void)setlocale(LC_ALL, "");
	screen = terminal_start(why);
	if (!screen)
		return -1;
	(void)atexit(restore);
	view.rows = rows;
	cbreak();
	noecho();
	nodelay(stdscr, TRUE);
	keypad(stdscr, TRUE);
	curs_set(0);
	view.coloured = colours_start();
	catch_signals(&outside);
	status = run_view(&view, interval_ns, &outside);
	restore();
	delscreen(screen);
	return status;
}
