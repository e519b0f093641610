/* SPDX-License-Identifier: MIT */
/* The circuit breaker, with simulated times. */
#include "check.h"
#include "weir/breaker.h"

#define MS INT64_C(1000000)

static weir_breaker b;

static void begin(weir_breaker_opts opts)
{
	CHECK_OK(weir_breaker_init(&b, &opts));
}

static weir_breaker_info info(void)
{
	weir_breaker_info i;

	CHECK_OK(weir_breaker_stat(&b, &i));
	return i;
}

static weir_breaker_pass enter(int64_t now)
{
	weir_breaker_pass pass;

	CHECK_OK(weir_breaker_enter_at(&b, now, &pass));
	return pass;
}

static void call(int64_t now, bool good)
{
	weir_breaker_leave_at(&b, now, enter(now), good);
}

static void refused(int64_t now)
{
	weir_breaker_pass pass;

	CHECK_ERR(weir_breaker_enter_at(&b, now, &pass), WEIR_EOPEN);
}

TEST(too_many_failures_open_it)
{
	begin((weir_breaker_opts){ .window = 4, .failures = 2 });
	call(0, false);
	for (int i = 0; i < 3; i++)
		call(0, true);
	/* The first failure has left the window. */
	call(0, false);
	CHECK_EQ(info().state, WEIR_BREAKER_CLOSED);
	CHECK_EQ(info().failed, 1);
	CHECK_EQ(info().counted, 4);
	call(1, true);
	call(2, false);
	CHECK_EQ(info().state, WEIR_BREAKER_OPEN);
	CHECK_EQ(info().opened, 1);
	CHECK_EQ(info().since_ns, 2);
	refused(2);
	CHECK_EQ(info().refused, 1);
	CHECK_EQ(info().passed, 7);
}

TEST(half_open_lets_probes_through_and_they_decide)
{
	weir_breaker_pass one, two;

	begin((weir_breaker_opts){ .window = 1, .failures = 1, .probes = 2,
				   .open_ns = 10 * MS });
	call(0, false);
	refused(10 * MS - 1);
	one = enter(10 * MS);
	two = enter(10 * MS);
	CHECK_EQ(info().state, WEIR_BREAKER_HALF_OPEN);
	refused(10 * MS);
	weir_breaker_leave_at(&b, 11 * MS, one, true);
	CHECK_EQ(info().state, WEIR_BREAKER_HALF_OPEN);
	refused(11 * MS);
	weir_breaker_leave_at(&b, 11 * MS, two, true);
	CHECK_EQ(info().state, WEIR_BREAKER_CLOSED);
	call(11 * MS, false);
	CHECK_EQ(info().state, WEIR_BREAKER_OPEN);
	/* A probe that fails opens the breaker again, for all of open_ns. */
	one = enter(21 * MS);
	weir_breaker_leave_at(&b, 22 * MS, one, false);
	CHECK_EQ(info().state, WEIR_BREAKER_OPEN);
	refused(32 * MS - 1);
	(void)enter(32 * MS);
	CHECK_EQ(info().opened, 3);
}

TEST(results_of_another_term_are_ignored)
{
	weir_breaker_pass old, probe;

	begin((weir_breaker_opts){ .window = 2, .failures = 1, .open_ns = MS });
	old = enter(0);
	call(0, false);
	probe = enter(MS);
	/* This call began before the breaker opened: its result is ignored. */
	weir_breaker_leave_at(&b, MS, old, false);
	CHECK_EQ(info().state, WEIR_BREAKER_HALF_OPEN);
	weir_breaker_leave_at(&b, MS, old, true);
	CHECK_EQ(info().state, WEIR_BREAKER_HALF_OPEN);
	weir_breaker_leave_at(&b, MS, probe, true);
	CHECK_EQ(info().state, WEIR_BREAKER_CLOSED);
	weir_breaker_leave_at(&b, MS, probe, false);
	CHECK_EQ(info().state, WEIR_BREAKER_CLOSED);
}

TEST(probes_that_do_not_come_back_are_given_up)
{
	weir_breaker_pass lost, next;

	begin((weir_breaker_opts){ .window = 1, .open_ns = MS });
	call(0, false);
	lost = enter(MS);
	refused(2 * MS - 1);
	next = enter(2 * MS);
	weir_breaker_leave_at(&b, 2 * MS, lost, false);
	CHECK_EQ(info().state, WEIR_BREAKER_HALF_OPEN);
	weir_breaker_leave_at(&b, 2 * MS, next, true);
	CHECK_EQ(info().state, WEIR_BREAKER_CLOSED);
}

/* The time for lost probes runs from the last probe, not from the first. */
TEST(probes_far_apart_close_it)
{
	weir_breaker_pass pass;

	begin((weir_breaker_opts){ .window = 1, .probes = 3,
				   .open_ns = 10 * MS });
	call(0, false);
	call(10 * MS, true);
	call(16 * MS, true);
	pass = enter(22 * MS);
	refused(22 * MS);
	refused(32 * MS - 1);
	weir_breaker_leave_at(&b, 32 * MS - 1, pass, true);
	CHECK_EQ(info().state, WEIR_BREAKER_CLOSED);
}

TEST(last_probe_is_given_up_too)
{
	weir_breaker_pass lost;

	begin((weir_breaker_opts){ .window = 1, .probes = 2,
				   .open_ns = 10 * MS });
	call(0, false);
	call(10 * MS, true);
	lost = enter(25 * MS);
	refused(35 * MS - 1);
	call(35 * MS, true);
	CHECK_EQ(info().since_ns, 35 * MS);
	weir_breaker_leave_at(&b, 35 * MS, lost, true);
	CHECK_EQ(info().state, WEIR_BREAKER_HALF_OPEN);
	call(36 * MS, true);
	CHECK_EQ(info().state, WEIR_BREAKER_CLOSED);
}

/* Any times are valid, even if their difference overflows an int64_t. */
TEST(times_at_both_ends)
{
	begin((weir_breaker_opts){ .window = 1, .open_ns = INT64_MAX });
	call(INT64_MIN, false);
	CHECK_EQ(info().state, WEIR_BREAKER_OPEN);
	refused(INT64_MIN);
	refused(-2);
	call(-1, false);
	refused(INT64_MIN);
	call(INT64_MAX, true);
	CHECK_EQ(info().state, WEIR_BREAKER_CLOSED);
}

TEST(whole_window_of_64)
{
	begin((weir_breaker_opts){ .window = 64, .failures = 64 });
	for (int i = 0; i < 63; i++)
		call(0, false);
	CHECK_EQ(info().failed, 63);
	call(0, true);
	for (int i = 0; i < 63; i++)
		call(0, false);
	CHECK_EQ(info().state, WEIR_BREAKER_CLOSED);
	call(0, false);
	CHECK_EQ(info().state, WEIR_BREAKER_OPEN);
}

TEST(bad_input)
{
	weir_breaker zeroed;
	weir_breaker_pass pass = { 0 };
	weir_breaker_info i;

	memset(&zeroed, 0, sizeof(zeroed));
#define REFUSED(...)                                                           \
	CHECK_ERR(weir_breaker_init(&b, &(weir_breaker_opts){ __VA_ARGS__ }),  \
		  WEIR_EINVAL)
	CHECK_ERR(weir_breaker_init(NULL, NULL), WEIR_EINVAL);
	REFUSED(.window = 65);
	REFUSED(.failures = 21);
	REFUSED(.window = 4, .failures = 5);
	REFUSED(.probes = UINT32_MAX);
	REFUSED(.open_ns = -1);
	REFUSED(.flags = 1);
	REFUSED(.reserved_ = { 0, 0, 1 });
	CHECK_ERR(weir_breaker_enter(&zeroed, &pass), WEIR_EINVAL);
	CHECK_ERR(weir_breaker_stat(&zeroed, &i), WEIR_EINVAL);
	CHECK_PANICS("weir_breaker_leave",
		     weir_breaker_leave(&zeroed, pass, true));
	CHECK_OK(weir_breaker_init(&b, NULL));
	CHECK_ERR(weir_breaker_enter(&b, NULL), WEIR_EINVAL);
	CHECK_ERR(weir_breaker_stat(&b, NULL), WEIR_EINVAL);
	CHECK_OK(weir_breaker_enter(&b, &pass));
	weir_breaker_leave(&b, pass, true);
	CHECK_EQ(info().counted, 1);
}

/* With many threads, passed and refused calls add up to all calls. */
static int64_t calls;

static void *storm(void *arg)
{
	uint64_t seed = seed_of((uint64_t)(uintptr_t)arg);

	for (int i = 0; i < 5000; i++) {
		weir_breaker_pass pass;
		weir_err err = weir_breaker_enter(&b, &pass);

		CHECK(err == WEIR_OK || err == WEIR_EOPEN);
		__atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
		if (!err)
			weir_breaker_leave(&b, pass, random_below(&seed, 3));
	}
	return NULL;
}

TEST(storm_adds_up)
{
	check_thread threads[4];

	begin((weir_breaker_opts){ .window = 8, .failures = 4, .probes = 2,
				   .open_ns = 1000 });
	for (uintptr_t i = 0; i < 4; i++)
		threads[i] = start(storm, (void *)i);
	for (int i = 0; i < 4; i++)
		finish(threads[i]);
	CHECK_EQ(info().passed + info().refused, calls);
	CHECK(info().opened > 0);
}

/*
 * C34: a pass is used once.  A second leave is detected if no other call is
 * inside, in each state of the breaker, and is not counted.
 */
TEST(c34_left_twice)
{
	weir_breaker_pass pass, other;
	weir_breaker_info i;

	CHECK_OK(weir_breaker_init(&b, &(weir_breaker_opts){
		.window = 4, .failures = 2, .open_ns = 10, .probes = 2 }));
	CHECK_OK(weir_breaker_enter_at(&b, 0, &pass));
	weir_breaker_leave_at(&b, 0, pass, false);
	CHECK_PANICS("weir_breaker_leave: breaker",
		     weir_breaker_leave_at(&b, 0, pass, false));
	CHECK_OK(weir_breaker_stat(&b, &i));
	CHECK_EQ(i.failed, 1);
	CHECK_EQ(i.state, WEIR_BREAKER_CLOSED);
	CHECK_OK(weir_breaker_enter_at(&b, 0, &pass));
	weir_breaker_leave_at(&b, 0, pass, false);
	/* Open, and then half open: the pass is of an earlier term. */
	weir_breaker_leave_at(&b, 0, pass, false);
	CHECK_OK(weir_breaker_enter_at(&b, 10, &pass));
	weir_breaker_leave_at(&b, 10, pass, true);
	CHECK_PANICS("more calls left than entered",
		     weir_breaker_leave_at(&b, 10, pass, true));
	CHECK_OK(weir_breaker_enter_at(&b, 10, &other));
	weir_breaker_leave_at(&b, 10, other, true);
	CHECK_OK(weir_breaker_stat(&b, &i));
	CHECK_EQ(i.state, WEIR_BREAKER_CLOSED);
}
