/* SPDX-License-Identifier: MIT */
/* Deadlines as file descriptors: timerfd(2). */
#include "base/timer.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/timespec.h"
#include "weir/base.h"

static void set(int fd, int64_t deadline_ns)
{
	/* All zero would disarm it; a time in the past fires. */
	struct itimerspec at = {
		.it_value = weir_timespec_(deadline_ns > 1 ? deadline_ns : 1),
	};

	(void)timerfd_settime(fd, TFD_TIMER_ABSTIME, &at, NULL);
}

int weir_timer_open_(int64_t deadline_ns)
{
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);

	if (fd < 0)
		return fd;
	if (deadline_ns <= weir_now_ns())
		weir_timer_fire_(fd);
	else if (deadline_ns != WEIR_FOREVER)
		set(fd, deadline_ns);
	return fd;
}

void weir_timer_fire_(int fd)
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	int saved = errno;
	long found;

	/*
	 * A timer in the past fires at once, but by an interrupt: await it.
	 * Not for ever: a user might have read from it, against the rules.
	 */
	set(fd, 1);
	do {
		struct timespec limit = { 0, 10000000 };

		/* Not poll(), which is a thread-cancellation point. */
		found = syscall(SYS_ppoll, &ready, 1, &limit, NULL, 0);
	} while (found < 0 && errno == EINTR);
	errno = saved;
}

void weir_timer_close_(int fd)
{
	int saved = errno;

	/* Not close(), which is a thread-cancellation point. */
	(void)syscall(SYS_close, fd);
	errno = saved;
}
