/* SPDX-License-Identifier: MIT */
/* Taking permits: C1, C2, C3, C4, C5, C10. */
#include "job.h"

/* C1: counts are 64-bit and exact up to WEIR_SEM_MAX. */
TEST(c1_counts_reach_the_maximum)
{
	const int64_t big = (INT64_C(1) << 33) + 1;
	weir_sem sem;

	CHECK(WEIR_SEM_MAX >= INT64_C(1) << 60);
	CHECK_OK(weir_sem_init(&sem, WEIR_SEM_MAX));
	CHECK_EQ(weir_sem_available(&sem), WEIR_SEM_MAX);
	CHECK_OK(weir_sem_acquire(&sem, big, NULL));
	CHECK_EQ(weir_sem_available(&sem), WEIR_SEM_MAX - big);
	CHECK_OK(weir_sem_try_acquire(&sem, WEIR_SEM_MAX - big));
	CHECK_EQ(weir_sem_available(&sem), 0);
	CHECK_ERR(weir_sem_try_acquire(&sem, 1), WEIR_EAGAIN);
	CHECK_EQ(stat_of(&sem).held, WEIR_SEM_MAX);
	weir_sem_release(&sem, WEIR_SEM_MAX);
	CHECK_EQ(weir_sem_available(&sem), WEIR_SEM_MAX);
	CHECK_IDENTITY(&sem);
	CHECK_OK(weir_sem_destroy(&sem));
}

static void refuse(weir_sem *sem, int64_t n)
{
	weir_sem_info before = stat_of(sem);
	int64_t got = 7;

	CHECK_ERR(weir_sem_acquire(sem, n, NULL), WEIR_EINVAL);
	CHECK_ERR(weir_sem_acquire_until(sem, n, WEIR_FOREVER), WEIR_EINVAL);
	CHECK_ERR(weir_sem_acquire_for(sem, n, 1), WEIR_EINVAL);
	CHECK_ERR(weir_sem_try_acquire(sem, n), WEIR_EINVAL);
	CHECK_ERR(weir_sem_acquire_upto(sem, n, n, NULL, &got), WEIR_EINVAL);
	CHECK_EQ(got, 0);
	CHECK_ERR(weir_sem_acquire_upto(sem, 0, n, NULL, &got), WEIR_EINVAL);
	CHECK_ERR(weir_sem_try_release(sem, n), WEIR_EINVAL);
	CHECK_ERR(weir_sem_resize(sem, n, NULL), WEIR_EINVAL);
	CHECK_ERR(weir_sem_forget(sem, n), WEIR_EINVAL);
	CHECK_PANICS("", weir_sem_release(sem, n));
	CHECK(same_stat(before, stat_of(sem)));
}

/* C1: a count outside 0 .. WEIR_SEM_MAX is refused and changes nothing. */
TEST(c1_counts_out_of_range_change_nothing)
{
	static const int64_t bad[] = { -1, -5, INT64_MIN, INT64_MIN + 1,
				       WEIR_SEM_MAX + 1, INT64_MAX };
	weir_sem bounded, signal = WEIR_SEM_INIT_UNBOUNDED(5);

	CHECK_OK(weir_sem_init(&bounded, 5));
	CHECK_OK(weir_sem_acquire(&bounded, 2, NULL));
	for (unsigned i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		weir_sem other;

		refuse(&bounded, bad[i]);
		refuse(&signal, bad[i]);
		CHECK_ERR(weir_sem_init(&other, bad[i]), WEIR_EINVAL);
	}
}

/* C1: min above max is invalid. */
TEST(c1_upto_with_min_above_max)
{
	weir_sem sem = WEIR_SEM_INIT(5);
	int64_t got = 7;

	CHECK_ERR(weir_sem_acquire_upto(&sem, 3, 2, NULL, &got), WEIR_EINVAL);
	CHECK_EQ(got, 0);
	CHECK_EQ(weir_sem_available(&sem), 5);
}

/* C2: checked in this order: arguments, ctx, closed, n == 0. */
TEST(c2_checks_come_in_order)
{
	weir_sem sem = WEIR_SEM_INIT(5), shut = WEIR_SEM_INIT(5);
	weir_ctx ended = WEIR_CTX_INIT;
	int64_t got;

	weir_ctx_cancel(&ended);
	weir_sem_close(&shut, WEIR_CLOSE_NOW);
	CHECK_ERR(weir_sem_acquire(&shut, -1, &ended), WEIR_EINVAL);
	CHECK_ERR(weir_sem_acquire(&shut, -1, NULL), WEIR_EINVAL);
	CHECK_ERR(weir_sem_acquire(&shut, 1, &ended), WEIR_ECANCELED);
	CHECK_ERR(weir_sem_acquire(&shut, 0, &ended), WEIR_ECANCELED);
	CHECK_ERR(weir_sem_acquire(&sem, 1, &ended), WEIR_ECANCELED);
	CHECK_ERR(weir_sem_acquire(&sem, 0, &ended), WEIR_ECANCELED);
	CHECK_ERR(weir_sem_acquire(&sem, 99, &ended), WEIR_ECANCELED);
	CHECK_ERR(weir_sem_acquire_upto(&sem, 0, 5, &ended, &got),
		  WEIR_ECANCELED);
	CHECK_ERR(weir_sem_acquire(&shut, 0, NULL), WEIR_ECLOSED);
	CHECK_ERR(weir_sem_acquire(&shut, 99, NULL), WEIR_ECLOSED);
	CHECK_EQ(weir_sem_available(&sem), 5);
	CHECK_EQ(weir_sem_available(&shut), 5);
}

/* C2: n == 0 succeeds at once, even if others wait, and changes nothing. */
TEST(c2_zero_does_not_queue)
{
	weir_sem sem = WEIR_SEM_INIT(1);
	weir_sem_info before;
	job a;

	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	CHECK_OK(weir_sem_acquire(&sem, 0, NULL));
	queue_up(&a, &sem, 1, NULL);
	before = stat_of(&sem);
	CHECK_OK(weir_sem_acquire(&sem, 0, NULL));
	CHECK_OK(weir_sem_acquire_until(&sem, 0, 0));
	CHECK(same_stat(before, stat_of(&sem)));
	weir_sem_release(&sem, 0);
	CHECK(same_stat(before, stat_of(&sem)));
	weir_sem_release(&sem, 1);
	CHECK_OK(job_end(&a));
}

/* C2: with an empty queue, up to all free permits are taken at once. */
TEST(c2_free_permits_are_taken_at_once)
{
	weir_sem sem = WEIR_SEM_INIT(6);
	weir_ctx ctx = WEIR_CTX_INIT;

	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	CHECK_OK(weir_sem_acquire(&sem, 2, &ctx));
	CHECK_OK(weir_sem_acquire_until(&sem, 3, WEIR_FOREVER));
	CHECK_EQ(stat_of(&sem).held, 6);
	CHECK_IDENTITY(&sem);
}

/*
 * C2, C3: a call that has to wait is at the tail of the queue before it yields;
 * its place does not depend on when its thread runs next.
 */
TEST(c3_place_is_fixed_by_the_call)
{
	weir_sem sem = WEIR_SEM_INIT(2);
	job a, b, c;

	CHECK_OK(weir_sem_acquire(&sem, 2, NULL));
	queue_up(&a, &sem, 1, NULL);
	queue_up(&b, &sem, 1, NULL);
	queue_up(&c, &sem, 1, NULL);
	/* The first two threads cannot run; the third could. */
	job_freeze(&a);
	job_freeze(&b);
	weir_sem_release(&sem, 2);
	CHECK_EQ(stat_of(&sem).granted, 2);
	CHECK_EQ(waiters_of(&sem), 1);
	jobs_thaw();
	CHECK_OK(job_end(&a));
	CHECK_OK(job_end(&b));
	CHECK(!job_done(&c));
	weir_sem_release(&sem, 1);
	CHECK_OK(job_end(&c));
}

/* C4: a heavy head blocks lighter waiters behind it, even if they would fit. */
TEST(c4_no_request_overtakes_a_heavy_head)
{
	weir_sem sem = WEIR_SEM_INIT(4);
	int64_t got = 7;
	job heavy, light;

	CHECK_OK(weir_sem_acquire(&sem, 3, NULL));
	queue_up(&heavy, &sem, 3, NULL);
	queue_up(&light, &sem, 1, NULL);
	CHECK_EQ(weir_sem_available(&sem), 1);
	CHECK_ERR(weir_sem_try_acquire(&sem, 1), WEIR_EAGAIN);
	CHECK_ERR(weir_sem_acquire_until(&sem, 1, 0), WEIR_ETIMEDOUT);
	CHECK_OK(weir_sem_drain(&sem, &got));
	CHECK_EQ(got, 0);
	weir_sem_release(&sem, 1);
	CHECK_EQ(waiters_of(&sem), 2);
	CHECK_EQ(weir_sem_available(&sem), 2);
	weir_sem_release(&sem, 1);
	CHECK_EQ(waiters_of(&sem), 1);
	CHECK_OK(job_end(&heavy));
	CHECK(!job_done(&light));
	weir_sem_release(&sem, 1);
	CHECK_OK(job_end(&light));
}

/* C5: the results of a try. */
TEST(c5_try_results)
{
	weir_sem sem = WEIR_SEM_INIT(3);
	job a;

	CHECK_OK(weir_sem_try_acquire(&sem, 2));
	CHECK_ERR(weir_sem_try_acquire(&sem, 2), WEIR_EAGAIN);
	CHECK_ERR(weir_sem_try_acquire(&sem, 4), WEIR_EAGAIN);
	queue_up(&a, &sem, 3, NULL);
	/* One permit is free, but another call waits. */
	CHECK_ERR(weir_sem_try_acquire(&sem, 1), WEIR_EAGAIN);
	weir_sem_release(&sem, 2);
	CHECK_OK(job_end(&a));
	weir_sem_release(&sem, 3);
	CHECK_OK(weir_sem_try_acquire(&sem, 3));
	weir_sem_close(&sem, WEIR_CLOSE_NOW);
	CHECK_ERR(weir_sem_try_acquire(&sem, 1), WEIR_ECLOSED);
}

enum { TRIERS = 4 };

static void *try_often(void *arg)
{
	weir_sem *sem = arg;

	/* At most TRIERS permits are held, so no try may fail. */
	for (int i = 0; i < 20000; i++) {
		CHECK_OK(weir_sem_try_acquire(sem, 1));
		weir_sem_release(sem, 1);
	}
	return NULL;
}

/* C5: no spurious failure, whatever other calls run at the same time. */
TEST(c5_try_does_not_fail_spuriously)
{
	weir_sem sem = WEIR_SEM_INIT(TRIERS);
	check_thread thread[TRIERS];

	for (int i = 0; i < TRIERS; i++)
		thread[i] = start(try_often, &sem);
	for (int i = 0; i < 20000; i++) {
		CHECK_OK(weir_sem_resize(&sem, TRIERS + i % 2, NULL));
		CHECK_IDENTITY(&sem);
	}
	for (int i = 0; i < TRIERS; i++)
		finish(thread[i]);
}

/*
 * C10: all or nothing.  Two waiters that each need all permits cannot block
 * each other with halves: free permits stay free until there are enough.
 */
TEST(c10_a_waiter_holds_nothing)
{
	weir_sem sem = WEIR_SEM_INIT(2);
	job a, b;

	CHECK_OK(weir_sem_acquire(&sem, 2, NULL));
	queue_up_releasing(&a, &sem, 2);
	queue_up_releasing(&b, &sem, 2);
	weir_sem_release(&sem, 1);
	CHECK_EQ(stat_of(&sem).free, 1);
	CHECK_EQ(stat_of(&sem).granted, 0);
	CHECK_EQ(stat_of(&sem).held, 1);
	CHECK_EQ(stat_of(&sem).waiting_permits, 4);
	weir_sem_release(&sem, 1);
	CHECK_OK(job_end(&a));
	CHECK_OK(job_end(&b));
	CHECK_EQ(weir_sem_available(&sem), 2);
}
