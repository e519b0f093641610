/* SPDX-License-Identifier: MIT */
/* Requests above the capacity, C11; requests for a range, C12. */
#include "job.h"

/* C11: without a ctx nothing could end the wait: refused at once. */
TEST(c11_too_big_without_a_ctx)
{
	weir_sem sem = WEIR_SEM_INIT(3), none = WEIR_SEM_INIT(0);
	weir_sem_info before = stat_of(&sem);
	int64_t got = 7;

	CHECK_ERR(weir_sem_acquire(&sem, 4, NULL), WEIR_ETOOBIG);
	CHECK_ERR(weir_sem_acquire_until(&sem, 4, WEIR_FOREVER), WEIR_ETOOBIG);
	CHECK_ERR(weir_sem_acquire_for(&sem, 4, 1), WEIR_ETOOBIG);
	CHECK_ERR(weir_sem_acquire_upto(&sem, 4, 9, NULL, &got), WEIR_ETOOBIG);
	CHECK_EQ(got, 0);
	CHECK_ERR(weir_sem_acquire(&none, 1, NULL), WEIR_ETOOBIG);
	CHECK(same_stat(before, stat_of(&sem)));
}

/* C11: with a ctx it waits for the ctx, oversized, and blocks no other call. */
TEST(c11_too_big_waits_for_its_ctx_alone)
{
	weir_sem sem = WEIR_SEM_INIT(3);
	weir_ctx ctx = WEIR_CTX_INIT;
	job big;

	wait_oversized(&big, &sem, 4, &ctx);
	CHECK_EQ(waiters_of(&sem), 0);
	CHECK_EQ(stat_of(&sem).waiting_permits, 0);
	CHECK_OK(weir_sem_try_acquire(&sem, 3));
	weir_sem_release(&sem, 3);
	CHECK_OK(weir_sem_acquire(&sem, 2, NULL));
	weir_sem_release(&sem, 2);
	CHECK(!job_done(&big));
	weir_ctx_cancel(&ctx);
	CHECK_ERR(job_end(&big), WEIR_ECANCELED);
	CHECK_EQ(oversized_of(&sem), 0);
	CHECK_EQ(weir_sem_available(&sem), 3);
}

/* C11: the deadline of the ctx ends the wait as well. */
TEST(c11_too_big_until_the_deadline_of_its_ctx)
{
	weir_sem sem = WEIR_SEM_INIT(3);
	weir_ctx ctx;

	CHECK_OK(weir_ctx_init(&ctx, NULL, weir_deadline_after(1000000)));
	CHECK_ERR(weir_sem_acquire(&sem, 4, &ctx), WEIR_ETIMEDOUT);
	CHECK_EQ(oversized_of(&sem), 0);
	CHECK_OK(weir_ctx_destroy(&ctx));
}

/* C11: when the capacity grows to fit, it joins the tail of the queue. */
TEST(c11_growth_enqueues_at_the_tail)
{
	weir_sem sem = WEIR_SEM_INIT(3);
	weir_ctx ctx = WEIR_CTX_INIT;
	job big, early;

	CHECK_OK(weir_sem_acquire(&sem, 3, NULL));
	wait_oversized(&big, &sem, 4, &ctx);
	queue_up(&early, &sem, 3, NULL);
	CHECK_OK(weir_sem_resize(&sem, 4, NULL));
	CHECK_EQ(oversized_of(&sem), 0);
	CHECK_EQ(waiters_of(&sem), 2);
	weir_sem_release(&sem, 2);
	/*
	 * The waiter that arrived later but was enqueued first is granted
	 * first.
	 */
	CHECK_EQ(waiters_of(&sem), 1);
	CHECK_OK(job_end(&early));
	CHECK(!job_done(&big));
	weir_sem_release(&sem, 4);
	CHECK_OK(job_end(&big));
}

/*
 * C11: growth that makes the request fit, with enough permits free, grants it.
 */
TEST(c11_growth_can_grant_it)
{
	weir_sem sem = WEIR_SEM_INIT(3);
	weir_ctx ctx = WEIR_CTX_INIT;
	job big, bigger;

	wait_oversized(&big, &sem, 4, &ctx);
	wait_oversized(&bigger, &sem, 9, &ctx);
	CHECK_OK(weir_sem_resize(&sem, 5, NULL));
	CHECK_OK(job_end(&big));
	CHECK_EQ(oversized_of(&sem), 1);
	CHECK_EQ(weir_sem_available(&sem), 1);
	weir_ctx_cancel(&ctx);
	CHECK_ERR(job_end(&bigger), WEIR_ECANCELED);
}

/*
 * C11: a shrink below the weight of a queued request makes it oversized with a
 * ctx, and refuses it without one.
 */
TEST(c11_shrink_below_the_weight_of_a_waiter)
{
	weir_sem sem = WEIR_SEM_INIT(4);
	weir_ctx ctx = WEIR_CTX_INIT;
	job with, without, timed, fits;

	CHECK_OK(weir_sem_acquire(&sem, 4, NULL));
	queue_up(&with, &sem, 4, &ctx);
	queue_up(&without, &sem, 4, NULL);
	queue_up_until(&timed, &sem, 4, WEIR_FOREVER);
	queue_up(&fits, &sem, 3, NULL);
	CHECK_OK(weir_sem_resize(&sem, 3, NULL));
	CHECK_ERR(job_end(&without), WEIR_ETOOBIG);
	CHECK_ERR(job_end(&timed), WEIR_ETOOBIG);
	CHECK_EQ(waiters_of(&sem), 1);
	CHECK_EQ(oversized_of(&sem), 1);
	weir_sem_release(&sem, 4);
	CHECK_OK(job_end(&fits));
	CHECK(!job_done(&with));
	weir_ctx_cancel(&ctx);
	CHECK_ERR(job_end(&with), WEIR_ECANCELED);
}

/* C11: also with other waiters ahead, in the queue or oversized. */
TEST(c11_behind_others)
{
	weir_sem sem = WEIR_SEM_INIT(4);
	weir_ctx ctx = WEIR_CTX_INIT;
	job fits, big, idle, grows;

	CHECK_OK(weir_sem_acquire(&sem, 4, NULL));
	queue_up(&fits, &sem, 1, NULL);
	queue_up(&big, &sem, 4, NULL);
	CHECK_OK(weir_sem_resize(&sem, 3, NULL));
	CHECK_ERR(job_end(&big), WEIR_ETOOBIG);
	wait_for_idle(&idle, &sem, &ctx);
	wait_oversized(&grows, &sem, 5, &ctx);
	CHECK_OK(weir_sem_resize(&sem, 5, NULL));
	CHECK_OK(job_end(&fits));
	CHECK_EQ(waiters_of(&sem), 1);
	CHECK_EQ(oversized_of(&sem), 1);
	weir_sem_release(&sem, 5);
	CHECK_OK(job_end(&grows));
	weir_sem_release(&sem, 5);
	CHECK_OK(job_end(&idle));
}

/* C11: no request is above the capacity of an unbounded semaphore. */
TEST(c11_unbounded_has_no_too_big)
{
	weir_sem sem = WEIR_SEM_INIT_UNBOUNDED(1);
	job a;

	queue_up(&a, &sem, WEIR_SEM_MAX, NULL);
	weir_sem_release(&sem, WEIR_SEM_MAX - 1);
	CHECK_OK(job_end(&a));
	CHECK_EQ(weir_sem_available(&sem), 0);
}

/* C1, C11: the sum of a long queue's weights saturates. */
TEST(c11_waiting_permits_saturate)
{
	weir_sem sem = WEIR_SEM_INIT_UNBOUNDED(0);
	weir_ctx ctx = WEIR_CTX_INIT;
	job a[10];

	for (int i = 0; i < 10; i++)
		queue_up(&a[i], &sem, WEIR_SEM_MAX, &ctx);
	CHECK_EQ(stat_of(&sem).waiting_permits, INT64_MAX);
	weir_ctx_cancel(&ctx);
	for (int i = 0; i < 10; i++)
		CHECK_ERR(job_end(&a[i]), WEIR_ECANCELED);
	CHECK_EQ(stat_of(&sem).waiting_permits, 0);
}

/* C12: as many as are free between min and max. */
TEST(c12_upto_takes_what_is_free)
{
	weir_sem sem = WEIR_SEM_INIT(10);
	int64_t got = 0;

	CHECK_OK(weir_sem_acquire_upto(&sem, 1, 4, NULL, &got));
	CHECK_EQ(got, 4);
	CHECK_OK(weir_sem_acquire_upto(&sem, 6, 6, NULL, &got));
	CHECK_EQ(got, 6);
	weir_sem_release(&sem, 3);
	CHECK_OK(weir_sem_acquire_upto(&sem, 2, WEIR_SEM_MAX, NULL, &got));
	CHECK_EQ(got, 3);
	CHECK_EQ(weir_sem_available(&sem), 0);
	CHECK_IDENTITY(&sem);
}

/* C12: min 0 never waits and may get 0. */
TEST(c12_upto_from_zero_never_waits)
{
	weir_sem sem = WEIR_SEM_INIT(2);
	int64_t got = 7;
	job a;

	CHECK_OK(weir_sem_acquire_upto(&sem, 0, 5, NULL, &got));
	CHECK_EQ(got, 2);
	CHECK_OK(weir_sem_acquire_upto(&sem, 0, 5, NULL, &got));
	CHECK_EQ(got, 0);
	queue_up(&a, &sem, 2, NULL);
	weir_sem_release(&sem, 1);
	/* One permit is free, but the queue comes first. */
	CHECK_OK(weir_sem_acquire_upto(&sem, 0, 5, NULL, &got));
	CHECK_EQ(got, 0);
	weir_sem_release(&sem, 1);
	CHECK_OK(job_end(&a));
}

/* C12: it waits in the queue for min, then takes up to max. */
TEST(c12_upto_waits_for_min)
{
	weir_sem sem = WEIR_SEM_INIT(8);
	job a, b;

	CHECK_OK(weir_sem_acquire(&sem, 8, NULL));
	queue_up_upto(&a, &sem, 3, 5, NULL);
	queue_up_upto(&b, &sem, 1, 5, NULL);
	weir_sem_release(&sem, 2);
	CHECK_EQ(waiters_of(&sem), 2);
	weir_sem_release(&sem, 4);
	CHECK_EQ(waiters_of(&sem), 0);
	CHECK_OK(job_end(&a));
	CHECK_EQ(a.got, 5);
	CHECK_OK(job_end(&b));
	CHECK_EQ(b.got, 1);
	CHECK_EQ(stat_of(&sem).held, 8);
}

/* C12: a failed call returns 0. */
TEST(c12_upto_failed_got_nothing)
{
	weir_sem sem = WEIR_SEM_INIT(2);
	weir_ctx ctx = WEIR_CTX_INIT;
	job a;

	CHECK_OK(weir_sem_acquire(&sem, 2, NULL));
	queue_up_upto(&a, &sem, 1, 2, &ctx);
	weir_ctx_cancel(&ctx);
	CHECK_ERR(job_end(&a), WEIR_ECANCELED);
	CHECK_EQ(a.got, 0);
	weir_sem_release(&sem, 2);
	CHECK_EQ(weir_sem_available(&sem), 2);
}

/* C12: drain takes all free permits and returns their number. */
TEST(c12_drain)
{
	weir_sem sem = WEIR_SEM_INIT(9), signal = WEIR_SEM_INIT_UNBOUNDED(4);
	int64_t got = -1;

	CHECK_OK(weir_sem_acquire(&sem, 2, NULL));
	CHECK_OK(weir_sem_drain(&sem, &got));
	CHECK_EQ(got, 7);
	CHECK_OK(weir_sem_drain(&sem, &got));
	CHECK_EQ(got, 0);
	CHECK_EQ(stat_of(&sem).held, 9);
	CHECK_OK(weir_sem_drain(&signal, &got));
	CHECK_EQ(got, 4);
	CHECK_EQ(weir_sem_available(&signal), 0);
}
