/* SPDX-License-Identifier: MIT */
/*
 * The view on the terminal: updates, signals and keys.
 *
 * Curses writes only the difference to the last picture, so the view does not
 * flicker.  Signals that end the view are unblocked only in ppoll, so the
 * terminal is always restored.
 */
#include <curses.h>
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/lib/fail.h"
#include "cmd/lib/terminal.h"
#include "cmd/watch/paint.h"
#include "cmd/watch/screen.h"

static volatile sig_atomic_t caught;

static void on_signal(int sig)
{
	caught = sig;
}

/*
 * Block the signals that the view handles.  *outside is set to the mask for
 * ppoll.
 */
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

		/*
		 * A signal that nohup(1) or a shell has set to be ignored stays
		 * ignored.
		 */
		if (!sigaction(ending[i], NULL, &old) &&
		    old.sa_handler == SIG_IGN)
			continue;
		(void)sigaction(ending[i], &action, NULL);
		sigaddset(&blocked, ending[i]);
	}
	/*
	 * Curses handles these signals.  They are blocked as well, so that the
	 * handlers of curses run only in ppoll.
	 */
	sigaddset(&blocked, SIGWINCH);
	sigaddset(&blocked, SIGTSTP);
	(void)sigprocmask(SIG_BLOCK, &blocked, outside);
	sigdelset(outside, SIGWINCH);
	sigdelset(outside, SIGTSTP);
}

/*
 * Wait for a key, a signal or the deadline.  Returns false if the terminal has
 * been closed.
 */
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

static void scroll_by(struct view *view, int lines)
{
	int last = view->lines - view->room;

	view->top += lines;
	if (view->top > last)
		view->top = last;
	if (view->top < 0)
		view->top = 0;
}

/* Scroll, if the key is one that scrolls. */
static void handle_scroll(struct view *view, int key)
{
	switch (key) {
	case KEY_UP:
	case 'k':
		scroll_by(view, -1);
		break;
	case KEY_DOWN:
	case 'j':
		scroll_by(view, 1);
		break;
	case KEY_PPAGE:
		scroll_by(view, -view->room);
		break;
	case KEY_NPAGE:
		scroll_by(view, view->room);
		break;
	case KEY_HOME:
		view->top = 0;
		break;
	default:
		break;
	}
}

/* Returns false if the key ends the view. */
static bool handle_key(struct view *view, int key)
{
	switch (key) {
	case 'q':
	case 'Q':
		return false;
	case 'p':
	case 'P':
	case ' ':
		view->paused = !view->paused;
		break;
	case 's':
	case 'S':
		view->sort = (view->sort + 1) % SORT_COUNT;
		break;
	case 'L' - '@':		/* control-L: draw everything again */
		clearok(curscr, TRUE);
		break;
	default:
		handle_scroll(view, key);
		break;
	}
	return true;
}

/* Run the loop of the view.  Returns the exit status. */
static int run_view(struct watch *watch, struct view *view,
		    const sigset_t *outside)
{
	int64_t next = 0;

	for (;;) {
		int key;

		if (!view->paused && weir_now_ns() >= next) {
			watch_update(watch);
			history_add(&watch->history, watch_used(&watch->info),
				    watch->info.capacity);
			next = weir_deadline_after(watch->interval_ns);
		}
		watch_paint(watch, view);
		if (!wait_until(view->paused ? WEIR_FOREVER : next, outside))
			return EXIT_SIGNAL(SIGHUP);
		if (caught)
			return EXIT_SIGNAL(caught);
		while ((key = getch()) != ERR)
			if (!handle_key(view, key))
				return EXIT_SUCCESS;
	}
}

/* Restore the terminal.  This is also called at exit, after an error. */
static void restore(void)
{
	if (!isendwin())
		endwin();
}

int watch_screen(struct watch *watch, const char **why)
{
	struct view view = { .paused = false };
	sigset_t outside;
	SCREEN *screen;
	int status;

	(void)setlocale(LC_ALL, "");
	view.utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8");
	screen = terminal_start(why);
	if (!screen)
		return -1;
	(void)atexit(restore);
	watch->restore = restore;
	cbreak();
	noecho();
	nodelay(stdscr, TRUE);
	keypad(stdscr, TRUE);
	curs_set(0);
	watch_paint_init();
	catch_signals(&outside);
	status = run_view(watch, &view, &outside);
	restore();
	delscreen(screen);
	return status;
}
