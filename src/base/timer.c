/* SPDX-License-Identifier: MIT */
/* Deadlines as file descriptors, implemented with timerfd(2). */
#include "base/timer.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/timespec.h"
#include "weir/base.h"

static int set(int fd, int64_t deadline_ns)
{
	/* Zero would disarm the timer; a time in the past fires it. */
	struct itimerspec at = {
		.it_value = weir_timespec_(deadline_ns > 1 ? deadline_ns : 1),
	};

	return timerfd_settime(fd, TFD_TIMER_ABSTIME, &at, NULL);
}

/* Make fd readable.  Returns -1 with errno on failure. */
static int fire(int fd)
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	int saved = errno;
	long found;
	int tries = 0;

	/*
	 * A timer in the past fires at once, but through an interrupt: wait for
	 * that.  The wait is bounded, because a program that reads from fd,
	 * which the contract forbids, would make it endless.
	 */
	if (set(fd, 1))
		return -1;
	do {
		struct timespec limit = { 0, 10000000 };

		/* Do not use poll(), which is a thread-cancellation point. */
		found = syscall(SYS_ppoll, &ready, 1, &limit, NULL, 0);
	} while (found < 0 && errno == EINTR && ++tries < 100);
	errno = saved;
	return 0;
}

int weir_timer_open_(int64_t deadline_ns)
{
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	int failed = 0;

	if (fd < 0)
		return fd;
	if (deadline_ns <= weir_now_ns())
		failed = fire(fd);
	else if (deadline_ns != WEIR_FOREVER)
		failed = set(fd, deadline_ns);
	if (failed) {
		weir_timer_close_(fd);
		return -1;
	}
	return fd;
}

void weir_timer_fire_(int fd)
{
	int saved = errno;

	(void)fire(fd);
	errno = saved;
}

void weir_timer_close_(int fd)
{
	int saved = errno;

	/* Do not use close(), which is a thread-cancellation point. */
	(void)syscall(SYS_close, fd);
	errno = saved;
}
