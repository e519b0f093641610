/* SPDX-License-Identifier: MIT */
/*
 * glibc bug 18138: a timed wait lasts too long because its deadline is compared
 * with the wrong clock, or with the wall clock, which can be set.
 *
 * Threads: waiter, administrator.
 *
 *   1. waiter: waits until 12:00:05.
 *   2. administrator: sets the clock from 12:00 back to 11:00.
 *   3. waiter: sleeps for an hour.
 *
 * In the same bug a deadline out of range (negative seconds) was treated as an
 * error or as infinite.
 *
 * In weir (C15) deadlines are on CLOCK_MONOTONIC and the wall clock is never
 * read.  A wait never ends before its deadline on that clock.  Any 64-bit
 * number is a valid deadline, and a wait that ends leaves no waiter behind
 * (C16).  Seconds and nanoseconds are one number, so no part of it can be out
 * of range.
 *
 * A test cannot set the machine's clock.  This program therefore defines
 * clock_gettime, gettimeofday and time itself, counts which clock is read, and
 * makes the wall clock jump by years between any two reads.
 */
#include <sys/time.h>
#include <time.h>

#include "waiter.h"

static uint32_t reads_monotonic;	/* atomic */
static uint32_t reads_wall;		/* atomic */

static void jump(time_t *seconds)
{
	uint32_t times = __atomic_add_fetch(&reads_wall, 1, __ATOMIC_RELAXED);

	*seconds += (times % 2 ? -1 : 1) * (time_t)100000000;
}

int clock_gettime(clockid_t clock, struct timespec *ts)
{
	long failed = syscall(SYS_clock_gettime, clock, ts);

	if (failed)
		return -1;
	if (clock == CLOCK_MONOTONIC)
		__atomic_add_fetch(&reads_monotonic, 1, __ATOMIC_RELAXED);
	else if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE ||
		 clock == CLOCK_TAI)
		jump(&ts->tv_sec);
	return 0;
}

/* The type of the second parameter differs between C libraries. */
int gettimeofday(struct timeval *restrict tv, void *restrict zone)
{
	struct timespec ts;

	(void)zone;
	clock_gettime(CLOCK_REALTIME, &ts);
	tv->tv_sec = ts.tv_sec;
	tv->tv_usec = (suseconds_t)(ts.tv_nsec / 1000);
	return 0;
}

time_t time(time_t *result)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	if (result)
		*result = ts.tv_sec;
	return ts.tv_sec;
}

static int64_t monotonic_ns(void)
{
	struct timespec ts;

	CHECK_EQ(syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &ts), 0);
	return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

TEST(c15_now_is_clock_monotonic)
{
	int64_t before = monotonic_ns(), now = weir_now_ns();

	CHECK(before <= now);
	CHECK(now <= monotonic_ns());
}

/* C15: no wait ends early, and the wall clock is never read. */
TEST(c15_the_wall_clock_is_never_read)
{
	weir_sem sem = WEIR_SEM_INIT(0), barging = WEIR_SEM_INIT_BARGING(1);

	CHECK_OK(weir_sem_try_acquire(&barging, 1));
	CHECK_OK(weir_sem_resize(&sem, 1, NULL));
	CHECK_OK(weir_sem_try_acquire(&sem, 1));
	/* Check first that the interposition works. */
	reads_monotonic = reads_wall = 0;
	(void)time(NULL);
	CHECK_EQ(reads_wall, 1);
	(void)weir_now_ns();
	CHECK(reads_monotonic > 0);

	reads_wall = 0;
	for (int i = 0; i < 20; i++) {
		int64_t until = monotonic_ns() + i * 100000;
		weir_ctx ctx;

		CHECK_ERR(weir_sem_acquire_until(&sem, 1, until),
			  WEIR_ETIMEDOUT);
		CHECK(monotonic_ns() >= until);
		until = monotonic_ns() + i * 100000;
		CHECK_ERR(weir_sem_acquire_for(&barging, 1, i * 100000),
			  WEIR_ETIMEDOUT);
		CHECK(monotonic_ns() >= until);
		until = monotonic_ns() + i * 100000;
		CHECK_OK(weir_ctx_init(&ctx, NULL, until));
		CHECK_ERR(weir_sem_acquire(&sem, 1, &ctx), WEIR_ETIMEDOUT);
		CHECK(monotonic_ns() >= until);
		CHECK_ERR(weir_sem_acquire(&barging, 1, &ctx), WEIR_ETIMEDOUT);
		CHECK_ERR(weir_ctx_err(&ctx), WEIR_ETIMEDOUT);
		CHECK_OK(weir_ctx_destroy(&ctx));
		until = monotonic_ns() + i * 100000;
		CHECK_OK(weir_ctx_init(&ctx, NULL, WEIR_FOREVER));
		CHECK_ERR(weir_ctx_wait(&ctx, until), WEIR_EAGAIN);
		CHECK(monotonic_ns() >= until);
		CHECK_OK(weir_ctx_destroy(&ctx));
	}
	CHECK_EQ(reads_wall, 0);
	CHECK_EQ(waiters_of(&sem) + waiters_of(&barging), 0);
}

/* C14: an acquire that need not wait reads no clock. */
TEST(c14_the_uncontended_path_reads_no_clock)
{
	weir_sem sem = WEIR_SEM_INIT(1), barging = WEIR_SEM_INIT_BARGING(1);

	reads_monotonic = reads_wall = 0;
	for (int i = 0; i < 100; i++) {
		CHECK_OK(weir_sem_acquire_until(&sem, 1, 12345));
		weir_sem_release(&sem, 1);
		CHECK_OK(weir_sem_acquire_until(&barging, 1, 12345));
		weir_sem_release(&barging, 1);
		CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
		weir_sem_release(&sem, 1);
	}
	CHECK_EQ(reads_monotonic + reads_wall, 0);
}

TEST(c15_any_number_in_the_past_is_a_past_deadline)
{
	static const int64_t past[] = { INT64_MIN, INT64_MIN + 1,
					-1000000001, -1, 0, 1, 999999999 };
	weir_sem sem = WEIR_SEM_INIT(1);

	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	for (size_t i = 0; i < sizeof(past) / sizeof(past[0]); i++) {
		weir_ctx ctx;

		CHECK_ERR(weir_sem_acquire_until(&sem, 1, past[i]),
			  WEIR_ETIMEDOUT);
		if (past[i] <= 0)
			CHECK_ERR(weir_sem_acquire_for(&sem, 1, past[i]),
				  WEIR_ETIMEDOUT);
		CHECK_OK(weir_ctx_init(&ctx, NULL, past[i]));
		CHECK_ERR(weir_sem_acquire(&sem, 1, &ctx), WEIR_ETIMEDOUT);
		CHECK_ERR(weir_ctx_err(&ctx), WEIR_ETIMEDOUT);
		CHECK_OK(weir_ctx_destroy(&ctx));
		CHECK_EQ(waiters_of(&sem), 0);
	}
	CHECK_IDENTITY(&sem);
}

/* C15: a deadline in the far future neither overflows nor passes at once. */
TEST(c15_the_far_future_is_waited_for)
{
	static const int64_t far[] = { WEIR_FOREVER, WEIR_FOREVER - 1,
				       INT64_C(1) << 62 };
	weir_sem sem = WEIR_SEM_INIT(1);

	CHECK_EQ(weir_deadline_after(INT64_MAX), WEIR_FOREVER);
	CHECK_EQ(weir_deadline_after(INT64_MAX - 1), WEIR_FOREVER);
	CHECK(weir_deadline_after(INT64_MIN) <= weir_now_ns());
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	for (size_t i = 0; i < 3; i++) {
		struct waiter plain = { .sem = &sem, .n = 1,
					.deadline_ns = far[i] };
		weir_ctx ctx;
		struct waiter with_ctx = { .sem = &sem, .n = 1, .ctx = &ctx };

		CHECK_OK(weir_ctx_init(&ctx, NULL, far[i]));
		queue_up(&plain);
		queue_up(&with_ctx);
		weir_sem_release(&sem, 1);
		CHECK_OK(result_of(&plain));
		weir_sem_release(&sem, 1);
		CHECK_OK(result_of(&with_ctx));
		CHECK_OK(weir_ctx_destroy(&ctx));
	}
}
