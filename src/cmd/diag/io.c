/* SPDX-License-Identifier: MIT */
#include "cmd/diag/io.h"

#include <errno.h>
#include <unistd.h>

bool diag_pread(int fd, void *to, size_t size, uint64_t at)
{
	char *next = to;

	while (size) {
		ssize_t n = at > INT64_MAX ? 0 : pread(fd, next, size,
						       (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		next += n;
		at += (uint64_t)n;
		size -= (size_t)n;
	}
	return true;
}
