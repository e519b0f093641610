/* SPDX-License-Identifier: MIT */
#include "diag/limit.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/thread.h"
#include "base/tls.h"
#include "weir/base.h"

#define MINUTE_NS INT64_C(60000000000)

/* *spent is minute << 32 | reports. */
bool weir_diag_may_print_(uint64_t *spent, uint32_t most)
{
	uint64_t minute = (uint64_t)(weir_now_ns() / MINUTE_NS) & UINT32_MAX;
	/* relaxed: it orders nothing. */
	uint64_t before = at_load_relaxed(spent), after;

	do {
		uint64_t used = before >> 32 == minute ? before & UINT32_MAX :
							 0;

		if (used >= most)
			return false;
		after = minute << 32 | (used + 1);
		/* relaxed: as above. */
	} while (!at_cas_weak_relaxed(spent, &before, after));
	return true;
}

/* Returns false if standard error is a pipe without a reader. */
static bool write_all(const char *text, size_t size)
{
	while (size) {
		ssize_t n = write(STDERR_FILENO, text, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return !n || errno != EPIPE;
		text += n;
		size -= (size_t)n;
	}
	return true;
}

void weir_diag_print_(const char *text, size_t size)
{
	const struct timespec now = { 0, 0 };
	sigset_t broken_pipe, before, pending;

	sigemptyset(&broken_pipe);
	sigaddset(&broken_pipe, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &broken_pipe, &before);
	sigemptyset(&pending);
	sigpending(&pending);
	/* The signal is for this thread; one that was there before remains. */
	if (!write_all(text, size) && !sigismember(&pending, SIGPIPE))
		while (sigtimedwait(&broken_pipe, NULL, &now) < 0 &&
		       errno == EINTR)
			;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static _Thread_local bool reporting WEIR_TLS_READY_;

bool weir_diag_begin_(int *before)
{
	if (reporting)
		return false;
	reporting = true;
	*before = weir_thread_cancel_off_();
	return true;
}

void weir_diag_end_(int before)
{
	reporting = false;
	weir_thread_cancel_reset_(before);
}
