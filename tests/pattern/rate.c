/* SPDX-License-Identifier: MIT */
/*
 * Rate limits.  The arithmetic is tested with simulated times.  For calls that
 * really wait, the tests check only that they do not return too early.
 */
#include "check.h"
#include "weir/ctx.h"
#include "weir/rate.h"

#define SECOND INT64_C(1000000000)
#define HOUR (3600 * SECOND)

static weir_rate limit;

static void begin(weir_rate_opts opts)
{
	CHECK_OK(weir_rate_init(&limit, &opts));
}

static void end(void)
{
	CHECK_OK(weir_rate_destroy(&limit));
}

static weir_rate_info info_of(weir_rate *l)
{
	weir_rate_info info;

	CHECK_OK(weir_rate_stat(l, &info));
	return info;
}

TEST(burst_is_exact)
{
	begin((weir_rate_opts){ .rate = 100, .burst = 10 });
	for (int i = 0; i < 10; i++)
		CHECK_OK(weir_rate_try_acquire_at(&limit, 1, 0));
	CHECK_ERR(weir_rate_try_acquire_at(&limit, 1, 0), WEIR_EAGAIN);
	/* One token every 10 ms, exact to the nanosecond. */
	CHECK_ERR(weir_rate_try_acquire_at(&limit, 1, 9999999), WEIR_EAGAIN);
	CHECK_OK(weir_rate_try_acquire_at(&limit, 1, 10000000));
	CHECK_ERR(weir_rate_try_acquire_at(&limit, 1, 10000000), WEIR_EAGAIN);
	/* Never more than a burst, however long the limit was unused. */
	CHECK_ERR(weir_rate_try_acquire_at(&limit, 11, HOUR), WEIR_ETOOBIG);
	CHECK_OK(weir_rate_try_acquire_at(&limit, 10, HOUR));
	CHECK_ERR(weir_rate_try_acquire_at(&limit, 1, HOUR), WEIR_EAGAIN);
	end();
}

/*
 * The k-th token of a steady stream is exactly on time, even after a million.
 */
static void check_no_drift(int64_t rate, int64_t period, weir_rate_kind kind)
{
	begin((weir_rate_opts){ .rate = rate, .period_ns = period,
				 .kind = kind });
	for (int64_t k = 0; k < 1000000; k++) {
		int64_t whole = k / rate * period, part = k % rate * period;
		int64_t at;

		CHECK_OK(weir_rate_reserve_at(&limit, 1, 0, WEIR_FOREVER, &at));
		CHECK_EQ(at, whole + part / rate + (part % rate > 0));
	}
	end();
}

TEST(rate_does_not_drift)
{
	check_no_drift(3, SECOND, WEIR_RATE_BUCKET);
	check_no_drift(7, SECOND, WEIR_RATE_SPACED);
	check_no_drift(300000001, SECOND, WEIR_RATE_BUCKET);
	check_no_drift(999999937, SECOND, WEIR_RATE_SPACED);
	check_no_drift(11, 3 * HOUR + 1, WEIR_RATE_BUCKET);
}

TEST(spaced_never_bursts)
{
	int64_t at;

	begin((weir_rate_opts){ .rate = 10, .burst = 5,
				 .kind = WEIR_RATE_SPACED });
	CHECK_OK(weir_rate_try_acquire_at(&limit, 1, HOUR));
	CHECK_ERR(weir_rate_try_acquire_at(&limit, 1, HOUR), WEIR_EAGAIN);
	CHECK_OK(weir_rate_try_acquire_at(&limit, 3, HOUR + SECOND / 10));
	/* Three tokens take three tenths of a second. */
	CHECK_OK(weir_rate_reserve_at(&limit, 1, HOUR + SECOND / 10, SECOND,
				       &at));
	CHECK_EQ(at, HOUR + 4 * (SECOND / 10));
	CHECK_ERR(weir_rate_try_acquire_at(&limit, 6, 2 * HOUR), WEIR_ETOOBIG);
	end();
}

/*
 * Random requests: no interval has more than burst + rate * length tokens, and
 * every refused request would have exceeded that.
 */
TEST(no_interval_exceeds_the_rate)
{
	enum { TAKES = 400 };
	static int64_t when[TAKES], tokens[TAKES];
	uint64_t seed = seed_of(1);

	for (int round = 0; round < 60 * check_scale(); round++) {
		int64_t rate = 1 + random_below(&seed, 1000);
		int64_t burst = 1 + random_below(&seed, 50);
		int64_t now = 0, n;
		int taken = 0;

		begin((weir_rate_opts){ .rate = rate, .burst = burst });
		while (taken < TAKES) {
			now += random_below(&seed, 4) ?
				       random_below(&seed, SECOND / rate) :
				       0;
			n = 1 + random_below(&seed, burst);
			if (weir_rate_try_acquire_at(&limit, n, now))
				continue;
			when[taken] = now;
			tokens[taken++] = n;
		}
		for (int i = 0; i < TAKES; i++) {
			int64_t sum = 0;

			for (int k = i; k < TAKES; k++) {
				sum += tokens[k];
				/* sum <= burst + rate * t, in tokens * s */
				CHECK((sum - burst) * SECOND <=
				      rate * (when[k] - when[i]));
			}
		}
		end();
	}
}

TEST(delay_is_exact)
{
	int64_t at;

	begin((weir_rate_opts){ .rate = 1000, .burst = 5 });
	CHECK_EQ(weir_rate_delay_at(&limit, 5, 0), 0);
	CHECK_OK(weir_rate_try_acquire_at(&limit, 5, 0));
	CHECK_EQ(weir_rate_delay_at(&limit, 1, 0), 1000000);
	CHECK_EQ(weir_rate_delay_at(&limit, 5, 0), 5000000);
	CHECK_EQ(weir_rate_delay_at(&limit, 5, 1000000), 4000000);
	CHECK_EQ(weir_rate_delay_at(&limit, 6, 0), WEIR_FOREVER);
	/*
	 * delay takes no tokens; reserve returns the same time and takes them.
	 */
	CHECK_OK(weir_rate_reserve_at(&limit, 2, 0, 2000000, &at));
	CHECK_EQ(at, 2000000);
	CHECK_EQ(weir_rate_delay_at(&limit, 1, 0), 3000000);
	at = 7;
	CHECK_ERR(weir_rate_reserve_at(&limit, 1, 0, 2999999, &at),
		  WEIR_ETIMEDOUT);
	CHECK_EQ(at, 7);
	CHECK_EQ(weir_rate_delay_at(&limit, 1, 0), 3000000);
	end();
}

/*
 * C2: a request for 0 tokens never waits, even behind waiters, as in acquire.
 */
TEST(c2_delay_of_nothing)
{
	int64_t at;

	begin((weir_rate_opts){ .rate = 1 });
	CHECK_OK(weir_rate_reserve_at(&limit, 1, 0, 0, &at));
	CHECK_OK(weir_rate_reserve_at(&limit, 1, 0, WEIR_FOREVER, &at));
	CHECK_EQ(weir_rate_delay_at(&limit, 0, 0), 0);
	CHECK_OK(weir_rate_try_acquire_at(&limit, 0, 0));
	CHECK_EQ(weir_rate_delay_at(&limit, 0, INT64_MAX), 0);
	weir_rate_close(&limit);
	CHECK_EQ(weir_rate_delay_at(&limit, 0, 0), WEIR_FOREVER);
	CHECK_EQ(weir_rate_delay_at(&limit, 0, INT64_MAX), WEIR_FOREVER);
	CHECK_ERR(weir_rate_try_acquire_at(&limit, 0, 0), WEIR_ECLOSED);
	end();
}

TEST(times_that_go_back_give_nothing)
{
	begin((weir_rate_opts){ .rate = 1, .burst = 1 });
	CHECK_OK(weir_rate_try_acquire_at(&limit, 1, HOUR));
	CHECK_ERR(weir_rate_try_acquire_at(&limit, 1, 0), WEIR_EAGAIN);
	CHECK_ERR(weir_rate_try_acquire_at(&limit, 1, INT64_MIN), WEIR_EAGAIN);
	CHECK_ERR(weir_rate_try_acquire_at(&limit, 1, INT64_MAX), WEIR_EAGAIN);
	CHECK_OK(weir_rate_try_acquire_at(&limit, 1, HOUR + SECOND));
	end();
}

/*
 * C5: a full bucket is not refused, whatever the time.  CLOCK_REALTIME passes
 * 2^61 ns in January 2043.
 */
TEST(c5_large_and_small_times)
{
	static const int64_t times[] = {
		INT64_MIN, INT64_MIN + 1, -(INT64_C(1) << 61) - 1, -1, 0,
		(INT64_C(1) << 61) - 1, (INT64_C(1) << 61) + 1,
		INT64_C(1) << 62, INT64_MAX - 10 * SECOND,
	};

	for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++) {
		int64_t at = 0, t = times[i];

		begin((weir_rate_opts){ .rate = 10, .burst = 5 });
		for (int k = 0; k < 5; k++) {
			CHECK_EQ(weir_rate_delay_at(&limit, 1, t), 0);
			CHECK_OK(weir_rate_try_acquire_at(&limit, 1, t));
		}
		CHECK_ERR(weir_rate_try_acquire_at(&limit, 1, t), WEIR_EAGAIN);
		CHECK_EQ(weir_rate_delay_at(&limit, 1, t), SECOND / 10);
		/* A token is there a tenth of a second later, not before. */
		CHECK_ERR(weir_rate_try_acquire_at(&limit, 1,
						   t + SECOND / 10 - 1),
			  WEIR_EAGAIN);
		CHECK_OK(weir_rate_try_acquire_at(&limit, 1, t + SECOND / 10));
		CHECK_OK(weir_rate_reserve_at(&limit, 1, t + SECOND / 10,
					      SECOND, &at));
		CHECK_EQ(at, t + SECOND / 5);
		end();
	}
}

/*
 * The bucket would be full only after INT64_MAX: no token is taken.  A call of
 * a much earlier time finds a bucket that is empty for longer than 73 years.
 */
TEST(c5_the_end_of_time)
{
	int64_t at = 0, ten = 10 * SECOND;

	begin((weir_rate_opts){ .rate = 1, .burst = 5 });
	CHECK_ERR(weir_rate_try_acquire_at(&limit, 1, INT64_MAX), WEIR_EAGAIN);
	CHECK_ERR(weir_rate_reserve_at(&limit, 5, INT64_MAX - SECOND,
				       INT64_MAX, &at), WEIR_ETIMEDOUT);
	CHECK_OK(weir_rate_reserve_at(&limit, 5, INT64_MAX - ten, INT64_MAX,
				      &at));
	CHECK_EQ(at, INT64_MAX - ten);
	CHECK_ERR(weir_rate_try_acquire_at(&limit, 1, INT64_MIN), WEIR_EAGAIN);
	CHECK_EQ(weir_rate_delay_at(&limit, 1, INT64_MIN), WEIR_FOREVER);
	CHECK_OK(weir_rate_try_acquire_at(&limit, 1, INT64_MAX - 9 * SECOND));
	end();
}

TEST(rate_is_changed)
{
	begin((weir_rate_opts){ .rate = 1, .period_ns = HOUR, .burst = 4 });
	CHECK_OK(weir_rate_try_acquire(&limit, 3));
	CHECK_EQ(info_of(&limit).tokens, 1);
	/* The available token stays. */
	CHECK_OK(weir_rate_set(&limit, 2, HOUR, 10));
	CHECK_EQ(info_of(&limit).tokens, 1);
	CHECK_OK(weir_rate_set(&limit, 5, HOUR, 0));
	CHECK_EQ(info_of(&limit).tokens, 1);
	CHECK_EQ(info_of(&limit).burst, 1);
	CHECK_EQ(info_of(&limit).rate, 5);
	CHECK_ERR(weir_rate_set(&limit, 0, HOUR, 1), WEIR_EINVAL);
	CHECK_OK(weir_rate_try_acquire(&limit, 1));
	CHECK_ERR(weir_rate_try_acquire(&limit, 1), WEIR_EAGAIN);
	end();
	/* Tokens above the new burst are lost; a larger burst adds none. */
	begin((weir_rate_opts){ .rate = 1, .period_ns = HOUR, .burst = 10 });
	CHECK_OK(weir_rate_set(&limit, 1, HOUR, 2));
	CHECK_EQ(info_of(&limit).tokens, 2);
	CHECK_OK(weir_rate_try_acquire(&limit, 2));
	CHECK_OK(weir_rate_set(&limit, 1, HOUR, 10));
	CHECK_EQ(info_of(&limit).tokens, 0);
	end();
}

/* The tokens of stat are those that a try takes, for both kinds. */
TEST(tokens_are_available)
{
	for (int kind = 0; kind < 2; kind++) {
		int64_t at;

		begin((weir_rate_opts){ .rate = 1, .period_ns = HOUR,
					.burst = 4,
					.kind = (weir_rate_kind)kind });
		CHECK_EQ(info_of(&limit).tokens, 4);
		CHECK_OK(weir_rate_try_acquire(&limit, 1));
		CHECK_EQ(info_of(&limit).tokens,
			 kind == WEIR_RATE_SPACED ? 0 : 3);
		CHECK_ERR(weir_rate_try_acquire(&limit,
						info_of(&limit).tokens + 1),
			  WEIR_EAGAIN);
		CHECK_OK(weir_rate_try_acquire(&limit,
					       info_of(&limit).tokens));
		CHECK_OK(weir_rate_reserve(&limit, 4, INT64_MAX, &at));
		CHECK_OK(weir_rate_reserve(&limit, 3, INT64_MAX, &at));
		CHECK(info_of(&limit).tokens < 0);
		end();
	}
}

/*
 * A change of the rate keeps the fraction of a token.  Otherwise frequent
 * changes would stop the flow of tokens.
 */
TEST(fraction_of_a_token_stays)
{
	static const int64_t rates[] = { 7, 1, 2, 3, 5 };
	int64_t before, began_ns, late;

	/* One token takes an hour, half of which has passed. */
	begin((weir_rate_opts){ .rate = 1, .period_ns = HOUR, .burst = 1 });
	began_ns = weir_now_ns();
	CHECK_OK(weir_rate_try_acquire_at(&limit, 1, began_ns - HOUR / 2));
	before = weir_rate_delay_at(&limit, 1, 0);
	for (int i = 0; i < 100; i++)
		CHECK_OK(weir_rate_set(&limit, 1, HOUR, 1));
	CHECK_EQ(weir_rate_delay_at(&limit, 1, 0), before);
	CHECK_EQ(info_of(&limit).tokens, 0);
	/*
	 * Slower rates and back: the delay grows at most by the time of the
	 * changes.
	 */
	for (int i = 0; i < 5; i++)
		CHECK_OK(weir_rate_set(&limit, rates[i], 7 * HOUR, 1));
	CHECK_OK(weir_rate_set(&limit, 1, HOUR, 1));
	late = weir_rate_delay_at(&limit, 1, 0) - before;
	CHECK(late >= 0 && late <= weir_now_ns() - began_ns + 100);
	end();
}

/*
 * Waiting.
 */
struct wait {
	int64_t n, deadline;
	weir_ctx *ctx;
	weir_err err;
	int64_t order;
};

static int64_t arrived;

static void *wait_for(void *arg)
{
	struct wait *w = arg;

	if (w->deadline)
		w->err = weir_rate_acquire_until(&limit, w->n, w->deadline);
	else
		w->err = weir_rate_acquire(&limit, w->n, w->ctx);
	w->order = __atomic_fetch_add(&arrived, 1, __ATOMIC_RELAXED);
	return NULL;
}

/* All tokens are acquired, and not faster than the rate allows. */
TEST(acquire_waits_long_enough)
{
	for (int kind = 0; kind < 2; kind++) {
		int64_t begun = weir_now_ns();

		begin((weir_rate_opts){ .rate = 2000, .burst = 2,
					 .kind = (weir_rate_kind)kind });
		for (int i = 0; i < 42; i++)
			CHECK_OK(weir_rate_acquire(&limit, 1, NULL));
		CHECK(weir_now_ns() - begun >= 40 * SECOND / 2000);
		end();
	}
}

/* C4: waiters are served in order of arrival.  C5: a try does not pass them. */
TEST(c4_waiters_are_served_in_order)
{
	struct wait waits[3] = { { .n = 1 }, { .n = 2 }, { .n = 1 } };
	check_thread threads[3];
	int64_t at;

	arrived = 0;
	begin((weir_rate_opts){ .rate = 1, .period_ns = HOUR, .burst = 2 });
	CHECK_OK(weir_rate_acquire(&limit, 2, NULL));
	for (int i = 0; i < 3; i++) {
		threads[i] = start(wait_for, &waits[i]);
		/* The first waiter has the gate and sleeps. */
		AWAIT(waiters_of(&limit.wake_) == 1 &&
		      waiters_of(&limit.gate_) == (uint32_t)i);
	}
	CHECK_EQ(info_of(&limit).waiters, 3);
	CHECK_ERR(weir_rate_try_acquire(&limit, 1), WEIR_EAGAIN);
	CHECK_ERR(weir_rate_reserve(&limit, 1, WEIR_FOREVER, &at),
		  WEIR_EAGAIN);
	/* The delay includes the waiting calls: 1 + 2 + 1 + 1 tokens. */
	CHECK(weir_rate_delay(&limit, 1) > 4 * HOUR);
	CHECK(weir_rate_delay(&limit, 1) <= 5 * HOUR);
	CHECK_ERR(weir_rate_destroy(&limit), WEIR_EBUSY);
	/*
	 * The first and the last waiter return a second apart, so the order in
	 * which they record their return is reliable.
	 */
	CHECK_OK(weir_rate_set(&limit, 3, 0, 2));
	for (int i = 0; i < 3; i++) {
		finish(threads[i]);
		CHECK_OK(waits[i].err);
	}
	CHECK_EQ(info_of(&limit).waiters, 0);
	CHECK(waits[0].order < waits[2].order);
	end();
}

/* The sum of the tokens waited for exceeds first INT64_MAX, then UINT64_MAX. */
TEST(delay_behind_more_than_a_word_can_count)
{
	enum { MOST = 33, HALF = 17 };
	const int64_t n = WEIR_SEM_MAX / 2;
	weir_ctx ctx = WEIR_CTX_INIT;
	struct wait waits[MOST];
	check_thread threads[MOST];

	begin((weir_rate_opts){ .rate = SECOND, .burst = n });
	CHECK_OK(weir_rate_acquire(&limit, n, NULL));
	CHECK(weir_rate_delay(&limit, n) <= n);
	for (int i = 0; i < MOST; i++) {
		waits[i] = (struct wait){ .n = n, .ctx = &ctx };
		threads[i] = start(wait_for, &waits[i]);
		/*
		 * The holder of the gate has its tokens and is not in the sum.
		 */
		AWAIT(waiters_of(&limit.wake_) == 1 &&
		      waiters_of(&limit.gate_) == (uint32_t)i);
		if (i + 1 == HALF || i + 1 == MOST)
			CHECK_EQ(weir_rate_delay(&limit, 1), WEIR_FOREVER);
	}
	weir_ctx_cancel(&ctx);
	for (int i = 0; i < MOST; i++) {
		finish(threads[i]);
		CHECK_ERR(waits[i].err, WEIR_ECANCELED);
	}
	CHECK(weir_rate_delay(&limit, n) <= n);
	CHECK_OK(weir_ctx_destroy(&ctx));
	end();
}

/* The burst shrinks below the request of a waiter. */
TEST(waiter_for_more_than_the_new_burst)
{
	struct wait waits[2] = { { .n = 2 }, { .n = 3 } };
	check_thread threads[2];

	begin((weir_rate_opts){ .rate = 1, .period_ns = HOUR, .burst = 3 });
	CHECK_OK(weir_rate_acquire(&limit, 3, NULL));
	for (int i = 0; i < 2; i++) {
		threads[i] = start(wait_for, &waits[i]);
		AWAIT(info_of(&limit).waiters == (uint32_t)i + 1 &&
		      waiters_of(&limit.gate_) == (uint32_t)i);
	}
	CHECK_OK(weir_rate_set(&limit, 100000, 0, 1));
	for (int i = 0; i < 2; i++) {
		finish(threads[i]);
		CHECK_ERR(waits[i].err, WEIR_ETOOBIG);
	}
	CHECK_OK(weir_rate_acquire(&limit, 1, NULL));
	end();
}

/*
 * As above, and by the new rate the tokens of the waiter cost more nanoseconds
 * than 64 bits can hold.  The waiter leaves an empty bucket behind.
 */
TEST(waiter_for_far_more_than_the_new_burst)
{
	const int64_t minute = 60 * SECOND;
	struct wait wait = { .n = 1000000 };
	check_thread thread;

	begin((weir_rate_opts){ .rate = 1, .period_ns = minute,
				 .burst = wait.n });
	CHECK_OK(weir_rate_acquire(&limit, wait.n, NULL));
	thread = start(wait_for, &wait);
	AWAIT(waiters_of(&limit.wake_) == 1);
	CHECK_OK(weir_rate_set(&limit, 1, WEIR_RATE_PERIOD_MAX, 10));
	finish(thread);
	CHECK_ERR(wait.err, WEIR_ETOOBIG);
	CHECK_EQ(info_of(&limit).tokens, 0);
	CHECK(weir_rate_delay(&limit, 1) <= WEIR_RATE_PERIOD_MAX);
	CHECK(weir_rate_delay(&limit, 1) > WEIR_RATE_PERIOD_MAX / 2);
	end();
}

/*
 * C7, C13: the first waiter is cancelled and puts its tokens back for the next.
 */
TEST(c13_cancelled_first_takes_nothing)
{
	weir_ctx ctx = WEIR_CTX_INIT;
	struct wait first = { .n = 3, .ctx = &ctx }, next = { .n = 1 };
	check_thread one, two;

	begin((weir_rate_opts){ .rate = 1, .period_ns = HOUR, .burst = 3 });
	CHECK_OK(weir_rate_acquire(&limit, 2, NULL));
	one = start(wait_for, &first);
	AWAIT(info_of(&limit).waiters == 1 && waiters_of(&limit.wake_) == 1);
	two = start(wait_for, &next);
	AWAIT(waiters_of(&limit.gate_) == 1);
	weir_ctx_cancel(&ctx);
	finish(one);
	CHECK_ERR(first.err, WEIR_ECANCELED);
	finish(two);
	CHECK_OK(next.err);
	CHECK_EQ(info_of(&limit).tokens, 0);
	CHECK_OK(weir_ctx_destroy(&ctx));
	end();
}

TEST(c13_ended_context_wins)
{
	weir_ctx ctx = WEIR_CTX_INIT;

	begin((weir_rate_opts){ .rate = 1, .period_ns = HOUR, .burst = 3 });
	weir_ctx_cancel(&ctx);
	CHECK_ERR(weir_rate_acquire(&limit, 1, &ctx), WEIR_ECANCELED);
	CHECK_EQ(info_of(&limit).tokens, 3);
	CHECK_OK(weir_rate_acquire(&limit, 0, NULL));
	CHECK_OK(weir_ctx_destroy(&ctx));
	end();
}

/*
 * A call that cannot be in time does not wait.  C14: available tokens are
 * taken.
 */
TEST(c14_deadlines)
{
	weir_ctx ctx;

	begin((weir_rate_opts){ .rate = 1, .period_ns = HOUR, .burst = 1 });
	CHECK_OK(weir_ctx_init(&ctx, NULL, weir_deadline_after(HOUR / 2)));
	CHECK_OK(weir_rate_acquire_until(&limit, 1, 0));
	CHECK_ERR(weir_rate_acquire_until(&limit, 1, 0), WEIR_ETIMEDOUT);
	CHECK_ERR(weir_rate_acquire_until(&limit, 1,
					   weir_deadline_after(HOUR / 2)),
		  WEIR_ETIMEDOUT);
	CHECK_ERR(weir_rate_acquire(&limit, 1, &ctx), WEIR_ETIMEDOUT);
	CHECK_EQ(info_of(&limit).waiters, 0);
	CHECK_OK(weir_ctx_destroy(&ctx));
	end();
}

TEST(c19_close_wakes_waiters)
{
	weir_ctx ctx = WEIR_CTX_INIT;
	struct wait waits[3] = { { .n = 1 }, { .n = 1, .ctx = &ctx },
				 { .n = 1, .deadline = WEIR_FOREVER } };
	check_thread threads[3];
	int64_t at;

	begin((weir_rate_opts){ .rate = 1, .period_ns = HOUR });
	CHECK_OK(weir_rate_acquire(&limit, 1, NULL));
	for (int i = 0; i < 3; i++) {
		threads[i] = start(wait_for, &waits[i]);
		AWAIT(info_of(&limit).waiters == (uint32_t)i + 1);
	}
	weir_rate_close(&limit);
	weir_rate_close(&limit);
	for (int i = 0; i < 3; i++) {
		finish(threads[i]);
		CHECK_ERR(waits[i].err, WEIR_ECLOSED);
	}
	CHECK(info_of(&limit).closed);
	CHECK_ERR(weir_rate_acquire(&limit, 1, NULL), WEIR_ECLOSED);
	CHECK_ERR(weir_rate_try_acquire(&limit, 1), WEIR_ECLOSED);
	CHECK_ERR(weir_rate_reserve(&limit, 1, 0, &at), WEIR_ECLOSED);
	CHECK_EQ(weir_rate_delay(&limit, 1), WEIR_FOREVER);
	CHECK_OK(weir_ctx_destroy(&ctx));
	end();
}

TEST(bad_input)
{
	weir_rate_opts good = { .rate = 1 }, opts = good;
	weir_rate l, zeroed;
	int64_t at;

	memset(&zeroed, 0, sizeof(zeroed));
	CHECK_ERR(weir_rate_init(NULL, &good), WEIR_EINVAL);
	CHECK_ERR(weir_rate_init(&l, NULL), WEIR_EINVAL);
#define WITH(field, value)                                                     \
	(opts = good, opts.field = (value), weir_rate_init(&l, &opts))
	CHECK_ERR(WITH(rate, 0), WEIR_EINVAL);
	CHECK_ERR(WITH(rate, -1), WEIR_EINVAL);
	CHECK_ERR(WITH(rate, WEIR_RATE_MAX + 1), WEIR_EINVAL);
	CHECK_ERR(WITH(period_ns, -1), WEIR_EINVAL);
	CHECK_ERR(WITH(period_ns, WEIR_RATE_PERIOD_MAX + 1), WEIR_EINVAL);
	CHECK_ERR(WITH(burst, -1), WEIR_EINVAL);
	CHECK_ERR(WITH(burst, INT64_MAX), WEIR_EINVAL);
	CHECK_ERR(WITH(kind, (weir_rate_kind)2), WEIR_EINVAL);
	CHECK_ERR(WITH(flags, 1), WEIR_EINVAL);
	CHECK_ERR(WITH(reserved_[2], 1), WEIR_EINVAL);
	opts = (weir_rate_opts){ .rate = 999999937,
				  .period_ns = WEIR_RATE_PERIOD_MAX };
	CHECK_ERR(weir_rate_init(&l, &opts), WEIR_EINVAL);
	CHECK_ERR(weir_rate_acquire(&zeroed, 1, NULL), WEIR_EINVAL);
	CHECK_ERR(weir_rate_try_acquire(NULL, 1), WEIR_EINVAL);
	CHECK_ERR(weir_rate_destroy(&zeroed), WEIR_EINVAL);
	CHECK_ERR(weir_rate_set(&zeroed, 1, 0, 0), WEIR_EINVAL);
	CHECK_ERR(weir_rate_stat(&zeroed, NULL), WEIR_EINVAL);
	CHECK_PANICS("weir_rate_close", weir_rate_close(&zeroed));
	CHECK_PANICS("weir_rate_delay",
		     CHECK_EQ(weir_rate_delay(NULL, 1), WEIR_FOREVER));
	CHECK_OK(weir_rate_init(&l, &good));
	CHECK_ERR(weir_rate_acquire(&l, -1, NULL), WEIR_EINVAL);
	CHECK_ERR(weir_rate_acquire(&l, 2, NULL), WEIR_ETOOBIG);
	CHECK_ERR(weir_rate_acquire(&l, INT64_MAX, NULL), WEIR_EINVAL);
	CHECK_ERR(weir_rate_reserve(&l, 1, -1, &at), WEIR_EINVAL);
	CHECK_ERR(weir_rate_reserve(&l, 1, 0, NULL), WEIR_EINVAL);
	CHECK_OK(weir_rate_destroy(&l));
	CHECK_PANICS("is destroyed",
		     CHECK_ERR(weir_rate_destroy(&l), WEIR_EINVAL));
}

/* All forms of the calls on many threads: the total stays within the rate. */
static int64_t taken;

static void *storm(void *arg)
{
	uint64_t seed = seed_of((uint64_t)(uintptr_t)arg);

	for (int i = 0; i < 300; i++) {
		int64_t n = 1 + random_below(&seed, 3);
		weir_ctx ctx;
		weir_err err;

		CHECK_OK(weir_ctx_init(&ctx, NULL, weir_deadline_after(
			random_below(&seed, 300000))));
		switch (random_below(&seed, 3)) {
		case 0:
			err = weir_rate_try_acquire(&limit, n);
			break;
		case 1:
			err = weir_rate_acquire(&limit, n, &ctx);
			break;
		default:
			err = weir_rate_acquire_until(&limit, n,
				weir_deadline_after(random_below(&seed, 300000)));
			break;
		}
		CHECK(err == WEIR_OK || err == WEIR_EAGAIN ||
		      err == WEIR_ETIMEDOUT);
		if (!err)
			__atomic_fetch_add(&taken, n, __ATOMIC_RELAXED);
		CHECK_OK(weir_ctx_destroy(&ctx));
	}
	return NULL;
}

TEST(storm_keeps_the_rate)
{
	check_thread threads[6];
	int64_t begun = weir_now_ns(), lasted;

	taken = 0;
	begin((weir_rate_opts){ .rate = 20000, .burst = 5 });
	for (uintptr_t i = 0; i < 6; i++)
		threads[i] = start(storm, (void *)i);
	for (int i = 0; i < 6; i++)
		finish(threads[i]);
	lasted = weir_now_ns() - begun;
	CHECK(taken > 5);
	CHECK(taken <= 5 + lasted / (SECOND / 20000) + 1);
	CHECK_EQ(info_of(&limit).waiters, 0);
	end();
}
