/* SPDX-License-Identifier: MIT */
/*
 * Events: eventfd(2).  Read, write and close go through syscall(): the
 * functions of the C library are thread-cancellation points.
 */
#include "base/event.h"

#include <errno.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

int weir_event_open_(void)
{
	return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

void weir_event_raise_(int fd)
{
	const uint64_t one = 1;
	int saved = errno;

	/* EAGAIN: the counter is at its maximum, so fd is readable. */
	while (syscall(SYS_write, fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
	errno = saved;
}

void weir_event_clear_(int fd)
{
	uint64_t count;
	int saved = errno;

	while (syscall(SYS_read, fd, &count, sizeof(count)) < 0 &&
	       errno == EINTR)
		;
	errno = saved;
}

void weir_event_close_(int fd)
{
	int saved = errno;

	(void)syscall(SYS_close, fd);
	errno = saved;
}
