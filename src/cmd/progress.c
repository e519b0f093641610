/* SPDX-License-Identifier: MIT */
/*
 * The line on the terminal while `weir run` waits: place in the queue, how
 * long, who holds.
 *
 * The wrapper writes it, the guardian takes it away before the command starts.
 * So that it is not written once more after that, the wrapper says when it
 * writes, and looks then whether it still may; the guardian says first that the
 * wait is over, and then waits until the wrapper does not write.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/run.h"

#define LINE_ROOM 512
/* A wrapper that was stopped while it wrote is not waited for longer. */
#define PATIENCE_NS INT64_C(100000000)

static weir_named *sem;

static uint64_t own_namespace(void)
{
	struct stat info;

	return stat("/proc/self/ns/pid", &info) ? 0 : (uint64_t)info.st_ino;
}

static const char *ending(uint32_t n)
{
	if (n / 10 % 10 == 1)
		return "th";
	return n % 10 == 1 ? "st" : n % 10 == 2 ? "nd" : n % 10 == 3 ? "rd" :
								       "th";
}

static size_t width(void)
{
	struct winsize size;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) || size.ws_col < 20)
		return 80;
	return size.ws_col < LINE_ROOM ? size.ws_col : LINE_ROOM - 1;
}

/* In the background, the terminal is somebody else's just now. */
static bool in_background(void)
{
	pid_t front = tcgetpgrp(STDERR_FILENO);

	return front > 0 && front != getpgrp();
}

/* What is to be said; false: nothing, the guardian does not wait. */
static bool line(const struct run_opts *opts, pid_t guardian, int64_t since,
		 char text[LINE_ROOM])
{
	char age[DURATION_ROOM], holder[HOLDER_ROOM];
	uint64_t here = own_namespace();
	weir_named_entry *entries;
	weir_named_info info;
	uint32_t place = 0;

	if (cmd_look(sem, &info, &entries))
		return false;
	for (uint32_t i = 0; i < info.entries; i++)
		if (entries[i].role == WEIR_NAMED_WAITS &&
		    entries[i].pid == guardian &&
		    entries[i].pid_namespace == here)
			place = entries[i].place;
	free(entries);
	if (!place)
		return false;
	(void)snprintf(text, LINE_ROOM, "weir: %s: %u%s of %u in the queue, %s",
		       opts->take.name, place, ending(place), info.waiters,
		       duration_text(weir_now_ns() - since, age));
	if (*wait_holder(sem, holder)) {
		size_t used = strlen(text);

		(void)snprintf(text + used, LINE_ROOM - used, "; %s", holder);
	}
	/* The last column would begin another line. */
	text[width() - 1] = 0;
	return true;
}

static void draw(const struct run_opts *opts, struct run_board *board,
		 pid_t guardian, int64_t since)
{
	weir_named_opts open = {
		.flags = opts->take.shared ? WEIR_NAMED_SHARED : 0,
		.label = "weir run, watching",
	};
	char text[LINE_ROOM];

	if (!sem && weir_named_open(opts->take.name, &open, &sem)) {
		sem = NULL;
		return;
	}
	if (in_background() || !line(opts, guardian, since, text))
		return;
	atomic_store(&board->drawing, 1);
	if (atomic_load(&board->phase) == RUN_WAITS) {
		fputs("\r\033[K", stderr);
		text_plain(stderr, text);
		fflush(stderr);
		atomic_store(&board->drawn, 1);
	}
	atomic_store(&board->drawing, 0);
}

/*
 * The terminal does not stop us meanwhile: that could be in the middle of a
 * look at the semaphore, and all who use it would stand still until we go on.
 */
void progress_draw(const struct run_opts *opts, struct run_board *board,
		   pid_t guardian, int64_t since)
{
	sigset_t stops, before;

	sigemptyset(&stops);
	sigaddset(&stops, SIGTSTP);
	sigaddset(&stops, SIGTTIN);
	sigaddset(&stops, SIGTTOU);
	(void)sigprocmask(SIG_BLOCK, &stops, &before);
	draw(opts, board, guardian, since);
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
}

void progress_end(struct run_board *board)
{
	int64_t until = weir_deadline_after(PATIENCE_NS);
	int saved = errno;

	atomic_store(&board->phase, RUN_GRANTED);
	while (atomic_load(&board->drawing) && weir_now_ns() < until)
		sched_yield();
	if (atomic_exchange(&board->drawn, 0)) {
		fputs("\r\033[K", stderr);
		fflush(stderr);
	}
	errno = saved;
}
