/* SPDX-License-Identifier: MIT */
/*
 * Preloaded into a server or a client: its wall clock is ahead by the number of
 * seconds in the file WEIR_CLOCK_OFFSET_FILE, which may change while the program
 * runs.  WEIR_BOOT_OFFSET_FILE: the same for CLOCK_BOOTTIME, as after a suspend.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long offset(const char *variable)
{
	const char *path = getenv(variable);
	char text[32] = "0";
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;

	if (fd >= 0) {
		ssize_t got = read(fd, text, sizeof(text) - 1);

		text[got > 0 ? got : 0] = 0;
		close(fd);
	}
	return strtol(text, NULL, 10);
}

int gettimeofday(struct timeval *restrict out, void *restrict zone)
{
	static int (*real)(struct timeval *, void *);

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "gettimeofday");
	int result = real(out, zone);

	out->tv_sec += offset("WEIR_CLOCK_OFFSET_FILE");
	return result;
}

int clock_gettime(clockid_t id, struct timespec *out)
{
	static int (*real)(clockid_t, struct timespec *);

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
	int result = real(id, out);

	if (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)
		out->tv_sec += offset("WEIR_CLOCK_OFFSET_FILE");
	if (id == CLOCK_BOOTTIME)
		out->tv_sec += offset("WEIR_BOOT_OFFSET_FILE");
	return result;
}

time_t time(time_t *out)
{
	struct timeval now;

	gettimeofday(&now, NULL);
	if (out)
		*out = now.tv_sec;
	return now.tv_sec;
}
