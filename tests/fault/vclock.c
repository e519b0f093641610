/* SPDX-License-Identifier: MIT */
/* The clock that the library reads: inject.h. */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>

#include "inject.h"
#include "real.h"

#if !defined(SYS_futex)
#define SYS_futex SYS_futex_time64
#endif

#define SECOND INT64_C(1000000000)
#define SLICE 200000		/* ns of a sleep between two polls */
#define PATIENCE 10		/* slices until a sleep makes the clock jump */
#define STANDSTILL 64		/* readings or slices of a CLOCK_STILL */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int64_t offset;		/* from the real clock */
static int64_t latest;		/* latest time read */
static int64_t last;		/* last time read */
static int still;		/* readings for which the clock still stands */
static bool moved;		/* a sticky fault has moved the clock */

static int64_t ns_of(struct timespec t)
{
	return (int64_t)t.tv_sec * SECOND + t.tv_nsec;
}

static struct timespec timespec_of(int64_t ns)
{
	struct timespec t = { .tv_sec = (time_t)(ns / SECOND),
			      .tv_nsec = (long)(ns % SECOND) };

	return t;
}

int64_t clock_real(void)
{
	struct timespec now;

	__real_clock_gettime(CLOCK_MONOTONIC, &now);
	return ns_of(now);
}

bool clock_is_changed(void)
{
	const struct fault *fault = fault_now();

	return fault && fault->place == AT_CLOCK;
}

/* Requires: lock is held.  Returns the time, at most INT64_MAX. */
static int64_t time_now(void)
{
	int64_t now = clock_real();

	if (still > 0) {
		/* When the clock runs again, it continues from this value. */
		still--;
		offset = last - now;
		return last;
	}
	return offset > INT64_MAX - now ? INT64_MAX : now + offset;
}

static void note_reading(int64_t now)
{
	last = now;
	if (now > latest)
		latest = now;
}

int64_t clock_now(void)
{
	int64_t now;

	if (!clock_is_changed())
		return clock_real();
	pthread_mutex_lock(&lock);
	now = time_now();
	pthread_mutex_unlock(&lock);
	return now;
}

int64_t clock_latest(void)
{
	int64_t now;

	if (!clock_is_changed())
		return clock_real();
	pthread_mutex_lock(&lock);
	now = latest;
	pthread_mutex_unlock(&lock);
	return now;
}

void clock_reset(void)
{
	pthread_mutex_lock(&lock);
	offset = latest = 0;
	still = 0;
	moved = false;
	last = clock_real();
	pthread_mutex_unlock(&lock);
}

/* The wrong value that replaces `now`. */
static int64_t changed(int64_t now)
{
	switch (fault_now()->clock) {
	case CLOCK_HOURS:
		return now + 5 * 3600 * SECOND;
	case CLOCK_BACK:
		return now > 5 * SECOND ? now - 5 * SECOND : 0;
	case CLOCK_BOOT:
		return 0;
	case CLOCK_STILL:
		return last;
	case CLOCK_LATE:
		return INT64_MAX - 10 * SECOND;
	case CLOCK_END:
		return INT64_MAX - 1000;
	case CLOCK_LAST:
		return INT64_MAX;
	}
	return now;
}

/*
 * Requires: lock is held.  Once: this reading is wrong.  Sticky: the clock
 * continues from the wrong value.
 */
static int64_t apply_fault(int64_t now)
{
	int64_t shown;

	if (moved)
		return now;
	shown = changed(now);
	if (!fault_is_sticky())
		return shown;
	moved = true;
	if (fault_now()->clock == CLOCK_STILL)
		still = STANDSTILL;
	offset = shown - clock_real();
	return shown;
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
	int64_t shown;

	if (clock != CLOCK_MONOTONIC || !clock_is_changed())
		return __real_clock_gettime(clock, now);
	pthread_mutex_lock(&lock);
	shown = time_now();
	if (fault_due(AT_CLOCK))
		shown = apply_fault(shown);
	note_reading(shown);
	pthread_mutex_unlock(&lock);
	*now = timespec_of(shown);
	return 0;
}

/* One slice of a sleep. */
static long sleep_a_slice(uint32_t *word, int op, uint32_t value, int64_t left)
{
	struct timespec until = timespec_of(clock_real() +
					    (left < SLICE ? left : SLICE));

	return __real_syscall(SYS_futex, word, op, value, &until, NULL,
			      UINT32_MAX);
}

long clock_wait(uint32_t *word, int op, uint32_t value, int64_t until_ns)
{
	for (int slices = 0;; slices++) {
		int64_t now;
		long result;

		pthread_mutex_lock(&lock);
		now = time_now();
		/* As if the time had passed. */
		if (slices >= PATIENCE && now < until_ns) {
			offset += until_ns - now;
			now = until_ns;
			still = 0;
		}
		if (now >= until_ns)
			note_reading(now);
		pthread_mutex_unlock(&lock);
		if (now >= until_ns) {
			errno = ETIMEDOUT;
			return -1;
		}
		result = sleep_a_slice(word, op, value, until_ns - now);
		if (result >= 0 || errno != ETIMEDOUT)
			return result;
	}
}
