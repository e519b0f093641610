/* SPDX-License-Identifier: MIT */
#include "base/ticks.h"

#include <errno.h>
#include <stddef.h>
#include <time.h>

#include "base/atomic.h"
#include "base/vdso.h"
#include "weir/base.h"

#if defined(__aarch64__)
#define APART_MAX_NS 1000000
#define TRIES_MAX 10

uint64_t weir_ticks_per_s_(void)
{
	uint64_t rate;

	__asm__("mrs %0, cntfrq_el0" : "=r"(rate));
	return rate;
}

int64_t weir_ticks_ns_(int64_t ticks)
{
	uint64_t rate = weir_ticks_per_s_(), passed;
	int64_t before, now, ns;
	int tries = 0;

	/* Retry if the thread lost the CPU between the two clocks. */
	do {
		before = weir_now_ns();
		passed = (uint64_t)weir_ticks_() - (uint64_t)ticks;
		now = weir_now_ns();
	} while (now - before > APART_MAX_NS && ++tries < TRIES_MAX);
	/* A damaged file may contain any number. */
	if (!rate || passed / rate > INT32_MAX)
		return 0;
	ns = (int64_t)(passed / rate * 1000000000 +
		       passed % rate * 1000000000 / rate);
	return ns < now ? now - ns : 0;
}
#else
static weir_clock_reader_ find_reader;
weir_clock_reader_ *weir_read_clock_ = find_reader;

/* A sandbox may refuse the system call: then *now stays as it was. */
static int read_by_libc(clockid_t clock, struct timespec *now)
{
	int saved = errno;

	(void)clock_gettime(clock, now);
	errno = saved;
	return 0;
}

/* The first call: find the function that reads a clock, and call it. */
static int find_reader(clockid_t clock, struct timespec *now)
{
	weir_clock_reader_ *found = NULL;
	int saved = errno;

	/* On a 32-bit machine, the vDSO and libc have different timespecs. */
	if (sizeof(long) == 8)
		found = (weir_clock_reader_ *)
			weir_vdso_find_("__vdso_clock_gettime");
	if (!found)
		found = read_by_libc;
	/* getauxval sets it if there is no vDSO. */
	errno = saved;
	/* relaxed: every thread stores the same address. */
	at_store_relaxed(&weir_read_clock_, found);
	return found(clock, now);
}

uint64_t weir_ticks_per_s_(void)
{
	return 1000000000;
}

int64_t weir_ticks_ns_(int64_t ticks)
{
	return ticks;
}
#endif

int64_t weir_wall_ns_(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}
