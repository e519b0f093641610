/* SPDX-License-Identifier: MIT */
#include "base/print.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

/* Returns false if the descriptor has no reader. */
static bool write_all(int fd, const char *text, size_t size)
{
	while (size) {
		ssize_t n = write(fd, text, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return !n || errno != EPIPE;
		text += n;
		size -= (size_t)n;
	}
	return true;
}

void weir_print_(int fd, const char *text, size_t size)
{
	const struct timespec now = { 0, 0 };
	sigset_t broken_pipe, before, pending;

	sigemptyset(&broken_pipe);
	sigaddset(&broken_pipe, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &broken_pipe, &before);
	sigemptyset(&pending);
	sigpending(&pending);
	/*
	 * The write has sent SIGPIPE to this thread.  A SIGPIPE that was
	 * pending before remains.
	 */
	if (!write_all(fd, text, size) && !sigismember(&pending, SIGPIPE))
		while (sigtimedwait(&broken_pipe, NULL, &now) < 0 &&
		       errno == EINTR)
			;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}
