/* SPDX-License-Identifier: MIT */
/* Deadlines as file descriptors: timerfd(2). */
#include "base/timer.h"

#include <errno.h>
#include <stddef.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "weir/base.h"

int weir_timer_open_(int64_t deadline_ns)
{
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);

	if (fd >= 0)
		weir_timer_set_(fd, deadline_ns);
	return fd;
}

void weir_timer_set_(int fd, int64_t deadline_ns)
{
	struct itimerspec at = { { 0, 0 }, { 0, 0 } };
	int saved = errno;

	if (deadline_ns != WEIR_FOREVER) {
		/* All zero would disarm it; a past time fires at once. */
		if (deadline_ns < 1)
			deadline_ns = 1;
		at.it_value.tv_sec = (time_t)(deadline_ns / 1000000000);
		at.it_value.tv_nsec = (long)(deadline_ns % 1000000000);
	}
	(void)timerfd_settime(fd, TFD_TIMER_ABSTIME, &at, NULL);
	errno = saved;
}

void weir_timer_close_(int fd)
{
	int saved = errno;

	(void)close(fd);
	errno = saved;
}
