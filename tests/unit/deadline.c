/* SPDX-License-Identifier: MIT */
/*
 * Plain deadlines, C14 and C15, and failed acquires, C16.
 *
 * This program is linked with --wrap=clock_gettime, so that it sees whether the
 * library reads a clock, and which one.
 */
#include <time.h>

#include "job.h"

int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);

static int clock_reads;
static int other_clocks;
static const struct timespec *stopped_at;	/* null: the real clock */

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
	__atomic_add_fetch(&clock_reads, 1, __ATOMIC_RELAXED);
	if (clock != CLOCK_MONOTONIC)
		__atomic_add_fetch(&other_clocks, 1, __ATOMIC_RELAXED);
	if (!stopped_at)
		return __real_clock_gettime(clock, now);
	*now = *stopped_at;
	return 0;
}

/* C15: a deadline passes at its exact nanosecond, not before. */
TEST(c15_to_the_nanosecond)
{
	struct timespec noon = { .tv_sec = 1000, .tv_nsec = 999999999 };
	struct timespec end = { .tv_sec = 9223372036, .tv_nsec = 854775807 };
	const int64_t noon_ns = 1000999999999;
	weir_sem sem = WEIR_SEM_INIT(0);
	weir_ctx over, goes_on;

	stopped_at = &noon;
	CHECK_EQ(weir_now_ns(), noon_ns);
	CHECK_EQ(weir_deadline_after(1), noon_ns + 1);
	CHECK_EQ(weir_deadline_after(0), noon_ns);
	CHECK_EQ(weir_deadline_after(-1), noon_ns);
	CHECK_EQ(weir_deadline_after(WEIR_FOREVER - noon_ns - 1),
		 WEIR_FOREVER - 1);
	CHECK_EQ(weir_deadline_after(WEIR_FOREVER - noon_ns + 1), WEIR_FOREVER);
	CHECK_OK(weir_ctx_init(&over, NULL, noon_ns));
	CHECK_ERR(weir_ctx_err(&over), WEIR_ETIMEDOUT);
	CHECK_OK(weir_ctx_init(&goes_on, NULL, noon_ns + 1));
	CHECK_OK(weir_ctx_err(&goes_on));
	CHECK_OK(weir_sem_resize(&sem, 1, NULL));
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	CHECK_ERR(weir_sem_acquire_until(&sem, 1, noon_ns), WEIR_ETIMEDOUT);
	CHECK_OK(weir_ctx_destroy(&over));
	CHECK_OK(weir_ctx_destroy(&goes_on));
	/* WEIR_FOREVER is later than any time. */
	stopped_at = &end;
	CHECK_EQ(weir_now_ns(), WEIR_FOREVER - 1);
	stopped_at = NULL;
}

/* C14: free permits are taken although the deadline has passed. */
TEST(c14_a_past_deadline_limits_waiting_only)
{
	weir_sem sem = WEIR_SEM_INIT(6);

	CHECK_OK(weir_sem_acquire_until(&sem, 1, weir_now_ns() - 1));
	CHECK_OK(weir_sem_acquire_until(&sem, 1, 0));
	CHECK_OK(weir_sem_acquire_until(&sem, 1, -1));
	CHECK_OK(weir_sem_acquire_until(&sem, 1, INT64_MIN));
	CHECK_OK(weir_sem_acquire_for(&sem, 1, 0));
	CHECK_OK(weir_sem_acquire_for(&sem, 1, INT64_MIN));
	CHECK_ERR(weir_sem_acquire_until(&sem, 1, weir_now_ns() - 1),
		  WEIR_ETIMEDOUT);
	CHECK_ERR(weir_sem_acquire_until(&sem, 1, INT64_MIN), WEIR_ETIMEDOUT);
	CHECK_ERR(weir_sem_acquire_for(&sem, 1, 0), WEIR_ETIMEDOUT);
	CHECK_ERR(weir_sem_acquire_for(&sem, 1, -1), WEIR_ETIMEDOUT);
	CHECK_ERR(weir_sem_acquire_for(&sem, 1, INT64_MIN), WEIR_ETIMEDOUT);
	CHECK_EQ(waiters_of(&sem), 0);
}

/* C14: no clock is read unless a wait is needed. */
TEST(c14_no_clock_when_uncontended)
{
	weir_sem sem = WEIR_SEM_INIT(1);
	int before = clock_reads;

	for (int i = 0; i < 100; i++) {
		CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
		weir_sem_release(&sem, 1);
		CHECK_OK(weir_sem_acquire_until(&sem, 1, 1));
		weir_sem_release(&sem, 1);
		CHECK_OK(weir_sem_acquire_for(&sem, 1, 1000));
		weir_sem_release(&sem, 1);
		CHECK_OK(weir_sem_try_acquire(&sem, 1));
		weir_sem_release(&sem, 1);
	}
	CHECK_EQ(clock_reads, before);
	/* Check the counter: a wait reads the clock. */
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	CHECK_ERR(weir_sem_acquire_for(&sem, 1, 1000), WEIR_ETIMEDOUT);
	CHECK(clock_reads > before);
}

/*
 * C14: a grant wins over a timeout that meets it.  The waiter is frozen until
 * both have happened.  If it had already returned, retry with more time.
 */
TEST(c14_a_grant_beats_the_deadline)
{
	bool shown = false;

	for (int64_t ns = 10000000; !shown; ns *= 2) {
		weir_sem sem = WEIR_SEM_INIT(1);
		job a = { .sem = &sem, .n = 1, .max = -1,
			  .has_deadline = true };

		CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
		a.deadline = weir_deadline_after(ns);
		job_start(&a);
		/*
		 * Wait until it is parked: it must not be frozen while it holds
		 * the lock.
		 */
		AWAIT((waiters_of(&sem) == 1 && job_asleep(&a)) || job_done(&a));
		shown = job_freeze(&a) && waiters_of(&sem) == 1;
		weir_sem_release(&sem, 1);
		CHECK_EQ(waiters_of(&sem), 0);
		AWAIT(weir_now_ns() > a.deadline);
		jobs_thaw();
		CHECK_ERR(job_end(&a), shown ? WEIR_OK : WEIR_ETIMEDOUT);
		CHECK_EQ(stat_of(&sem).held, shown);
	}
}

/* C15: the only clock is CLOCK_MONOTONIC, in nanoseconds. */
TEST(c15_time_is_monotonic)
{
	weir_sem sem = WEIR_SEM_INIT(0);
	weir_ctx ctx;
	struct timespec before, after;
	int64_t now;
	int others;

	CHECK_EQ(clock_gettime(CLOCK_MONOTONIC, &before), 0);
	now = weir_now_ns();
	CHECK_EQ(clock_gettime(CLOCK_MONOTONIC, &after), 0);
	CHECK(now >= before.tv_sec * INT64_C(1000000000) + before.tv_nsec);
	CHECK(now <= after.tv_sec * INT64_C(1000000000) + after.tv_nsec);
	others = other_clocks;
	CHECK_OK(weir_sem_resize(&sem, 1, NULL));
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	CHECK_ERR(weir_sem_acquire_for(&sem, 1, 1000), WEIR_ETIMEDOUT);
	CHECK_OK(weir_ctx_init(&ctx, NULL, weir_deadline_after(1000)));
	CHECK_ERR(weir_sem_acquire(&sem, 1, &ctx), WEIR_ETIMEDOUT);
	CHECK_ERR(weir_ctx_wait(&ctx, WEIR_FOREVER), WEIR_ETIMEDOUT);
	CHECK_OK(weir_ctx_destroy(&ctx));
	CHECK_EQ(other_clocks, others);
}

/* C15: a wait never ends before its deadline. */
TEST(c15_not_before_the_deadline)
{
	weir_sem sem = WEIR_SEM_INIT_UNBOUNDED(0);

	for (int i = 0; i < 50; i++) {
		int64_t deadline = weir_deadline_after(i * 10000);

		CHECK_ERR(weir_sem_acquire_until(&sem, 1, deadline),
			  WEIR_ETIMEDOUT);
		CHECK(weir_now_ns() >= deadline);
	}
}

/* C15: relative timeouts saturate. */
TEST(c15_relative_forms_saturate)
{
	weir_sem sem = WEIR_SEM_INIT(1);
	int64_t before = weir_now_ns(), now;
	job a, b;

	CHECK_EQ(weir_deadline_after(INT64_MAX), WEIR_FOREVER);
	CHECK_EQ(weir_deadline_after(INT64_MAX - 1), WEIR_FOREVER);
	CHECK_EQ(weir_deadline_after(WEIR_FOREVER - before), WEIR_FOREVER);
	CHECK(weir_deadline_after(1000) >= before + 1000);
	now = weir_deadline_after(INT64_MIN);
	CHECK(now >= before && now <= weir_now_ns());
	now = weir_deadline_after(-1);
	CHECK(now >= before && now <= weir_now_ns());

	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	queue_up_until(&a, &sem, 1, WEIR_FOREVER);
	queue_up_until(&b, &sem, 1, WEIR_FOREVER - 1);
	CHECK(!job_done(&a) && !job_done(&b));
	weir_sem_release(&sem, 1);
	CHECK_OK(job_end(&a));
	weir_sem_release(&sem, 1);
	CHECK_OK(job_end(&b));
}

static void *wait_for_ever(void *arg)
{
	CHECK_OK(weir_sem_acquire_for(arg, 1, INT64_MAX));
	return NULL;
}

/* C15: the longest timeout is not in the past. */
TEST(c15_the_longest_timeout_waits)
{
	weir_sem sem = WEIR_SEM_INIT_UNBOUNDED(0);
	check_thread thread = start(wait_for_ever, &sem);

	AWAIT(waiters_of(&sem) == 1);
	weir_sem_release(&sem, 1);
	finish(thread);
}

/* C16: after any failure the state is as if the call had not been made. */
TEST(c16_a_failed_acquire_leaves_no_trace)
{
	weir_sem_opts opts = { .permits = 3, .max_waiters = 2 };
	weir_sem sem;
	weir_sem_info before;
	weir_ctx ended = WEIR_CTX_INIT, late;
	int64_t got;
	job a, b;

	CHECK_OK(weir_sem_init_opts(&sem, &opts));
	CHECK_OK(weir_sem_acquire(&sem, 2, NULL));
	queue_up(&a, &sem, 3, NULL);
	weir_ctx_cancel(&ended);
	CHECK_OK(weir_ctx_init(&late, NULL, weir_deadline_after(1000000)));
	before = stat_of(&sem);
	CHECK_ERR(weir_sem_acquire(&sem, 1, &ended), WEIR_ECANCELED);
	CHECK_ERR(weir_sem_acquire(&sem, 1, &late), WEIR_ETIMEDOUT);
	CHECK_ERR(weir_sem_acquire(&sem, 1, &late), WEIR_ETIMEDOUT);
	CHECK_ERR(weir_sem_acquire_for(&sem, 1, 100000), WEIR_ETIMEDOUT);
	CHECK_ERR(weir_sem_acquire(&sem, 4, NULL), WEIR_ETOOBIG);
	CHECK_ERR(weir_sem_try_acquire(&sem, 1), WEIR_EAGAIN);
	CHECK_ERR(weir_sem_acquire(&sem, -1, NULL), WEIR_EINVAL);
	CHECK_ERR(weir_sem_acquire_upto(&sem, 1, 3, &late, &got),
		  WEIR_ETIMEDOUT);
	CHECK(same_stat(before, stat_of(&sem)));
	queue_up(&b, &sem, 1, NULL);
	before = stat_of(&sem);
	CHECK_ERR(weir_sem_acquire(&sem, 1, NULL), WEIR_EBUSY);
	CHECK(same_stat(before, stat_of(&sem)));
	weir_sem_release(&sem, 2);
	CHECK_OK(job_end(&a));
	weir_sem_release(&sem, 3);
	CHECK_OK(job_end(&b));
	weir_sem_close(&sem, WEIR_CLOSE_NOW);
	before = stat_of(&sem);
	CHECK_ERR(weir_sem_acquire(&sem, 1, NULL), WEIR_ECLOSED);
	CHECK(same_stat(before, stat_of(&sem)));
	CHECK_OK(weir_ctx_destroy(&late));
}
