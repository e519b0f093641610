/* SPDX-License-Identifier: MIT */
/*
 * The wall clock of libweir-posix.  No test may set the clock of the machine, so
 * the difference between the two clocks is scripted: the monotonic deadline is
 * where it would be if the wall clock had been stepped during the wait.
 */
#include "base/futex.h"
#include "base/realtime.h"
#include "check.h"
#include "posix/clock.h"

#define HOUR INT64_C(3600000000000)

/* Stepped forward: the wait ends, though the monotonic deadline is far. */
TEST(stepped_forward)
{
	int64_t deadline_ns = weir_deadline_after(HOUR);
	uint32_t word = 0;

	weir_posix_realtime_begin_(deadline_ns, weir_realtime_ns_() + 2000000);
	CHECK_EQ(weir_futex_wait_(&word, 0, deadline_ns), WEIR_WOKE_LATE_);
	weir_posix_realtime_end_();
}

static uint32_t word;

static void *wake_it(void *arg)
{
	int64_t passed_ns = *(int64_t *)arg;

	AWAIT(weir_now_ns() > passed_ns);
	__atomic_store_n(&word, 1, __ATOMIC_RELEASE);
	weir_futex_wake_(&word);
	return NULL;
}

/* Stepped back: the monotonic deadline passes, and the wait goes on. */
TEST(stepped_back)
{
	int64_t deadline_ns = weir_deadline_after(1000000);
	check_thread thread;

	weir_posix_realtime_begin_(deadline_ns, weir_realtime_ns_() + HOUR);
	thread = start(wake_it, &deadline_ns);
	while (!__atomic_load_n(&word, __ATOMIC_ACQUIRE))
		CHECK(weir_futex_wait_(&word, 0, deadline_ns) !=
		      WEIR_WOKE_LATE_);
	finish(thread);
	weir_posix_realtime_end_();
}

/* Other deadlines of the same wait stay monotonic. */
TEST(other_deadlines)
{
	uint32_t mine = 0;

	weir_posix_realtime_begin_(weir_deadline_after(HOUR),
				   weir_realtime_ns_() + HOUR);
	CHECK_EQ(weir_futex_wait_(&mine, 0, weir_deadline_after(1000000)),
		 WEIR_WOKE_LATE_);
	weir_posix_realtime_end_();
	CHECK_EQ(weir_futex_wait_(&mine, 0, weir_deadline_after(1000000)),
		 WEIR_WOKE_LATE_);
}

/* C14: a sleep until a time of the real-time clock ends if the word has changed. */
TEST(c14_changed_word_ends_a_realtime_sleep)
{
	uint32_t changed = 1;

	CHECK_EQ(weir_futex_wait_realtime_(&changed, 0, INT64_MAX),
		 WEIR_WOKEN_);
}
