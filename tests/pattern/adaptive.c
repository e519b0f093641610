/* SPDX-License-Identifier: MIT */
/* The limit that finds its own capacity, tested against simulated servers. */
#include "check.h"
#include "weir/adaptive.h"
#include "weir/ctx.h"

#define MS INT64_C(1000000)

static weir_sem sem;
static weir_adaptive a;

static void begin(weir_adaptive_opts opts)
{
	CHECK_OK(weir_sem_init(&sem, 1));
	CHECK_OK(weir_adaptive_init(&a, &sem, &opts));
}

static weir_adaptive_info info(void)
{
	weir_adaptive_info i;

	CHECK_OK(weir_adaptive_stat(&a, &i));
	CHECK_EQ(stat_of(&sem).capacity, i.limit);
	return i;
}

/*
 * A server that works on `cores` calls at a time and queues the others.  A
 * round is as many calls as the limit allows; its latency grows with the queue.
 */
static int64_t clock_ns;

static void rounds(int n, int64_t cores, bool drops)
{
	while (n--) {
		int64_t limit = info().limit, took = 10 * MS;

		if (limit > cores)
			took = took * limit / cores;
		for (int64_t i = 0; i < limit; i++)
			CHECK_OK(weir_adaptive_learn(&a, clock_ns,
				clock_ns + took, limit,
				drops && limit > cores ? WEIR_CALL_DROPPED :
							 WEIR_CALL_OK));
		clock_ns += took;
	}
}

static void end(void)
{
	CHECK_OK(weir_sem_destroy(&sem));
}

TEST(aimd_finds_where_calls_are_dropped)
{
	static const int64_t cores[] = { 3, 50, 400 };

	for (int i = 0; i < 3; i++) {
		begin((weir_adaptive_opts){ .kind = WEIR_AIMD });
		rounds(800, cores[i], true);
		/* Between one decrease below the edge and one step above it. */
		CHECK(info().limit >= cores[i] * 8 / 10 - 1);
		CHECK(info().limit <= cores[i] + 1);
		end();
	}
}

TEST(aimd_counts_slow_calls_as_dropped)
{
	begin((weir_adaptive_opts){ .slow_ns = 11 * MS });
	rounds(300, 40, false);
	CHECK(info().limit >= 30 && info().limit <= 45);
	CHECK(info().drops > 0);
	end();
}

TEST(gradient_follows_the_latency)
{
	begin((weir_adaptive_opts){ .kind = WEIR_GRADIENT });
	rounds(500, 100, false);
	/* Near the number of cores, with a short queue. */
	CHECK(info().limit >= 100 && info().limit <= 250);
	/* The server loses four fifths of its cores. */
	rounds(300, 20, false);
	CHECK(info().limit >= 10 && info().limit <= 60);
	end();
}

/*
 * With calls that take r times as long, the limit approaches
 * queue / (1 - 1.5 / r) from both sides: 16 for 2, and 8 for 3 or more.  The
 * long-run latency rises meanwhile.
 */
TEST(gradient_approaches_a_multiple_of_queue)
{
	static const struct {
		int64_t initial, slower, low, high;
	} cases[] = { { 3, 2, 12, 24 }, { 60, 2, 12, 24 }, { 3, 50, 7, 9 },
		      { 60, 50, 7, 9 } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin((weir_adaptive_opts){ .kind = WEIR_GRADIENT,
					    .initial = cases[i].initial });
		CHECK_OK(weir_adaptive_learn(&a, 0, MS, 0, WEIR_CALL_OK));
		for (int64_t n = 0; n < 1800; n++)
			CHECK_OK(weir_adaptive_learn(&a, 0,
						     cases[i].slower * MS, 99,
						     WEIR_CALL_OK));
		CHECK(info().limit >= cases[i].low);
		CHECK(info().limit <= cases[i].high);
		end();
	}
}

/* Calls below half the limit do not change it. */
TEST(idle_limit_does_not_grow)
{
	for (int kind = 0; kind < 2; kind++) {
		begin((weir_adaptive_opts){ .kind = (weir_adaptive_kind)kind });
		for (int i = 0; i < 1000; i++)
			CHECK_OK(weir_adaptive_learn(&a, 0, MS, 9,
						     WEIR_CALL_OK));
		CHECK_EQ(info().limit, 20);
		end();
	}
}

/* A burst of drops causes one decrease: all began under the same limit. */
TEST(drops_of_one_round_count_once)
{
	begin((weir_adaptive_opts){ .initial = 100 });
	for (int i = 0; i < 50; i++)
		CHECK_OK(weir_adaptive_learn(&a, 0, 10 * MS, 100,
					     WEIR_CALL_DROPPED));
	CHECK_EQ(info().limit, 90);
	CHECK_EQ(info().drops, 50);
	CHECK_OK(weir_adaptive_learn(&a, 11 * MS, 20 * MS, 90,
				     WEIR_CALL_DROPPED));
	CHECK_EQ(info().limit, 81);
	end();
}

TEST(limit_stays_within_its_bounds)
{
	begin((weir_adaptive_opts){ .initial = 3, .min = 2, .max = 4 });
	for (int64_t i = 0; i < 100; i++)
		CHECK_OK(weir_adaptive_learn(&a, i * MS, i * MS + 1, 4,
					     WEIR_CALL_OK));
	CHECK_EQ(info().limit, 4);
	for (int64_t i = 100; i < 200; i++)
		CHECK_OK(weir_adaptive_learn(&a, i * MS, i * MS + 1, 4,
					     WEIR_CALL_DROPPED));
	CHECK_EQ(info().limit, 2);
	CHECK_OK(weir_adaptive_learn(&a, 0, 1, 1, WEIR_CALL_IGNORED));
	CHECK_EQ(info().calls, 200);
	end();
}

TEST(little_s_law)
{
	CHECK_EQ(weir_little(1000, 20 * MS), 20);
	CHECK_EQ(weir_little(1000, 20 * MS + 1), 21);
	CHECK_EQ(weir_little(0, MS), 0);
	CHECK_EQ(weir_little(1, -1), 0);
	CHECK_EQ(weir_little(INT64_MAX, INT64_MAX), WEIR_SEM_MAX);
	/* Rounded up, also if the product is longer than a double. */
	CHECK_EQ(weir_little(1000000001, 1000000001), 1000000003);
	CHECK_EQ(weir_little(INT64_MAX, 1), 9223372037);
	CHECK_EQ(weir_little(1, INT64_MAX), 9223372037);
	begin((weir_adaptive_opts){ .initial = 1 });
	/* One call in each millisecond, four milliseconds long. */
	for (int64_t i = 0; i <= 1000; i++)
		CHECK_OK(weir_adaptive_learn(&a, i * MS, (i + 4) * MS, 0,
					     WEIR_CALL_OK));
	CHECK_EQ(info().per_second, 1000);
	CHECK_EQ(info().mean_ns, 4 * MS);
	CHECK_EQ(info().advice, 4);
	end();
}

/*
 * C21: permits are conserved while many threads make the limit grow and shrink.
 */
static void *storm(void *arg)
{
	uint64_t seed = seed_of((uint64_t)(uintptr_t)arg);

	for (int i = 0; i < 2000; i++) {
		int64_t began;

		CHECK_OK(weir_adaptive_acquire(&a, NULL, &began));
		weir_adaptive_release(&a, began,
				      (weir_call)random_below(&seed, 3));
	}
	return NULL;
}

TEST(c21_storm_conserves_permits)
{
	check_thread threads[4];

	begin((weir_adaptive_opts){ .initial = 2, .max = 6 });
	for (uintptr_t i = 0; i < 4; i++)
		threads[i] = start(storm, (void *)i);
	for (int i = 0; i < 4; i++)
		finish(threads[i]);
	CHECK_IDENTITY(&sem);
	CHECK_EQ(stat_of(&sem).held, 0);
	CHECK_EQ(stat_of(&sem).debt, 0);
	CHECK(info().limit >= 1 && info().limit <= 6);
	end();
}

TEST(c19_closed_and_cancelled)
{
	weir_ctx ctx = WEIR_CTX_INIT;
	int64_t began = 7;

	begin((weir_adaptive_opts){ .initial = 1 });
	weir_ctx_cancel(&ctx);
	CHECK_ERR(weir_adaptive_acquire(&a, &ctx, &began), WEIR_ECANCELED);
	CHECK_EQ(began, 7);
	CHECK_OK(weir_adaptive_acquire(&a, NULL, &began));
	weir_sem_close(&sem, WEIR_CLOSE_NOW);
	weir_adaptive_release(&a, began, WEIR_CALL_OK);
	CHECK_ERR(weir_adaptive_acquire(&a, NULL, &began), WEIR_ECLOSED);
	CHECK_OK(weir_ctx_destroy(&ctx));
	end();
}

/*
 * C8: a call that was released twice, and a semaphore that cannot be used any more.
 * The message names the adaptive limit, which the caller used.
 */
TEST(c8_misuse_names_the_adaptive_limit)
{
	CHECK_OK(weir_sem_init(&sem, 1));
	CHECK_OK(weir_adaptive_init(&a, &sem, NULL));
	CHECK_PANICS("weir_adaptive_release: adaptive limit",
		     weir_adaptive_release(&a, 0, WEIR_CALL_OK));
	CHECK(strstr(panic_message, "no call is in progress"));
	CHECK_EQ(weir_sem_available(&sem), info().limit);
	CHECK_OK(weir_sem_destroy(&sem));
	CHECK_PANICS("weir_adaptive_release: adaptive limit",
		     weir_adaptive_release(&a, 0, WEIR_CALL_IGNORED));
	CHECK(strstr(panic_message, "cannot be released"));
}

/* Any times are valid, even if their difference overflows an int64_t. */
TEST(times_at_both_ends)
{
	weir_adaptive_info i;

	CHECK_OK(weir_sem_init(&sem, 1));
	CHECK_OK(weir_adaptive_init(&a, &sem, NULL));
	CHECK_OK(weir_adaptive_learn(&a, INT64_MIN, INT64_MIN, 1, WEIR_CALL_OK));
	CHECK_OK(weir_adaptive_learn(&a, INT64_MIN, INT64_MAX, 1, WEIR_CALL_OK));
	CHECK_OK(weir_adaptive_stat(&a, &i));
	CHECK(i.mean_ns > INT64_MAX / 3);
	CHECK_EQ(i.per_second, 0);
	CHECK_EQ(i.calls, 2);
}

TEST(bad_input)
{
	weir_sem signal = WEIR_SEM_INIT_UNBOUNDED(0);
	weir_adaptive zeroed;
	weir_adaptive_info i;
	int64_t began;

	memset(&zeroed, 0, sizeof(zeroed));
	CHECK_OK(weir_sem_init(&sem, 1));
#define REFUSED(...)                                                           \
	CHECK_ERR(weir_adaptive_init(&a, &sem,                                 \
				     &(weir_adaptive_opts){ __VA_ARGS__ }),    \
		  WEIR_EINVAL)
	CHECK_ERR(weir_adaptive_init(NULL, &sem, NULL), WEIR_EINVAL);
	CHECK_ERR(weir_adaptive_init(&a, NULL, NULL), WEIR_EINVAL);
	CHECK_ERR(weir_adaptive_init(&a, &signal, NULL), WEIR_EINVAL);
	REFUSED(.kind = (weir_adaptive_kind)2);
	REFUSED(.flags = 1);
	REFUSED(.min = -1);
	REFUSED(.initial = 1, .min = 2);
	REFUSED(.initial = 30, .max = 20);
	REFUSED(.max = INT64_MAX);
	/* The default of initial is at least min, also if min does not fit. */
	REFUSED(.min = INT64_MAX, .max = INT64_MAX);
	REFUSED(.slow_ns = -1);
	REFUSED(.queue = -1);
	REFUSED(.reserved_ = { 0, 0, 0, 1 });
	CHECK_ERR(weir_adaptive_acquire(&zeroed, NULL, &began), WEIR_EINVAL);
	CHECK_ERR(weir_adaptive_learn(&zeroed, 0, 1, 1, WEIR_CALL_OK),
		  WEIR_EINVAL);
	CHECK_ERR(weir_adaptive_stat(&zeroed, &i), WEIR_EINVAL);
	CHECK_PANICS("weir_adaptive_release",
		     weir_adaptive_release(&zeroed, 0, WEIR_CALL_OK));
	begin((weir_adaptive_opts){ .min = 30 });
	CHECK_EQ(info().limit, 30);
	end();
	begin((weir_adaptive_opts){ .max = 10 });
	CHECK_EQ(info().limit, 10);
	end();
	CHECK_OK(weir_sem_init(&sem, 1));
	CHECK_OK(weir_adaptive_init(&a, &sem, NULL));
	CHECK_EQ(info().limit, 20);
	CHECK_ERR(weir_adaptive_learn(&a, 0, 1, -1, WEIR_CALL_OK), WEIR_EINVAL);
	CHECK_ERR(weir_adaptive_learn(&a, 0, 1, 1, (weir_call)3), WEIR_EINVAL);
	CHECK_ERR(weir_adaptive_acquire(&a, NULL, NULL), WEIR_EINVAL);
	CHECK_ERR(weir_adaptive_stat(&a, NULL), WEIR_EINVAL);
	end();
}
