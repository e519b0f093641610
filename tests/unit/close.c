/* SPDX-License-Identifier: MIT */
/* Closing: C19. */
#include "job.h"

/* C19: every waiter and every later acquire gets ECLOSED. */
TEST(c19_close_now_ends_every_wait)
{
	weir_sem sem = WEIR_SEM_INIT(2);
	weir_ctx ctx = WEIR_CTX_INIT;
	int64_t got = 7;
	job plain, timed, upto, with, oversized;

	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	CHECK(!weir_sem_is_closed(&sem));
	queue_up(&plain, &sem, 2, NULL);
	queue_up_until(&timed, &sem, 1, WEIR_FOREVER);
	queue_up_upto(&upto, &sem, 1, 2, NULL);
	queue_up(&with, &sem, 1, &ctx);
	wait_oversized(&oversized, &sem, 3, &ctx);
	weir_sem_close(&sem, WEIR_CLOSE_NOW);
	CHECK_EQ(waiters_of(&sem), 0);
	CHECK_ERR(job_end(&plain), WEIR_ECLOSED);
	CHECK_ERR(job_end(&timed), WEIR_ECLOSED);
	CHECK_ERR(job_end(&upto), WEIR_ECLOSED);
	CHECK_EQ(upto.got, 0);
	CHECK_ERR(job_end(&with), WEIR_ECLOSED);
	CHECK_ERR(job_end(&oversized), WEIR_ECLOSED);
	CHECK(weir_sem_is_closed(&sem));
	CHECK(stat_of(&sem).closed);

	/* One permit is free; no acquire gets it any more. */
	CHECK_EQ(weir_sem_available(&sem), 1);
	CHECK_ERR(weir_sem_acquire(&sem, 1, NULL), WEIR_ECLOSED);
	CHECK_ERR(weir_sem_acquire(&sem, 1, &ctx), WEIR_ECLOSED);
	CHECK_ERR(weir_sem_acquire(&sem, 3, &ctx), WEIR_ECLOSED);
	CHECK_ERR(weir_sem_acquire_until(&sem, 1, 0), WEIR_ECLOSED);
	CHECK_ERR(weir_sem_acquire_for(&sem, 1, 1), WEIR_ECLOSED);
	CHECK_ERR(weir_sem_try_acquire(&sem, 1), WEIR_ECLOSED);
	CHECK_ERR(weir_sem_acquire_upto(&sem, 0, 1, NULL, &got), WEIR_ECLOSED);
	CHECK_EQ(got, 0);
	CHECK_ERR(weir_sem_drain(&sem, &got), WEIR_ECLOSED);
	CHECK_EQ(weir_sem_available(&sem), 1);
}

/*
 * C19: oversized waiters are refused as well, all of them; waiters for idle go
 * on.
 */
TEST(c19_close_refuses_oversized_waiters)
{
	weir_sem sem = WEIR_SEM_INIT(1);
	weir_ctx ctx = WEIR_CTX_INIT;
	job a, b, idle;

	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	wait_oversized(&a, &sem, 2, &ctx);
	wait_for_idle(&idle, &sem, NULL);
	wait_oversized(&b, &sem, 3, &ctx);
	weir_sem_close(&sem, WEIR_CLOSE_NOW);
	CHECK_ERR(job_end(&a), WEIR_ECLOSED);
	CHECK_ERR(job_end(&b), WEIR_ECLOSED);
	CHECK_EQ(oversized_of(&sem), 1);
	weir_sem_release(&sem, 1);
	CHECK_OK(job_end(&idle));
}

/*
 * C19: held permits stay valid and are released as usual, also those that were
 * granted to a call that had not returned at the close.
 */
TEST(c19_held_permits_stay_valid)
{
	weir_sem sem = WEIR_SEM_INIT(2);
	job a;

	CHECK_OK(weir_sem_acquire(&sem, 2, NULL));
	queue_up(&a, &sem, 1, NULL);
	job_freeze(&a);
	weir_sem_release(&sem, 1);
	weir_sem_close(&sem, WEIR_CLOSE_NOW);
	jobs_thaw();
	CHECK_OK(job_end(&a));
	CHECK_EQ(stat_of(&sem).held, 2);
	weir_sem_release(&sem, 1);
	CHECK_OK(weir_sem_try_release(&sem, 1));
	CHECK_ERR(weir_sem_try_release(&sem, 1), WEIR_EOVERFLOW);
	CHECK_EQ(weir_sem_available(&sem), 2);
	CHECK_OK(weir_sem_wait_idle(&sem, NULL));
	CHECK_OK(weir_sem_destroy(&sem));
}

/* C19: a closed semaphore stays closed, whatever else is called. */
TEST(c19_nothing_reopens)
{
	weir_sem sem = WEIR_SEM_INIT(5);
	weir_ctx ctx = WEIR_CTX_INIT;

	CHECK_OK(weir_sem_acquire(&sem, 5, NULL));
	weir_sem_close(&sem, WEIR_CLOSE_NOW);
	weir_sem_close(&sem, WEIR_CLOSE_NOW);
	weir_sem_close(&sem, WEIR_CLOSE_DRAIN);
	CHECK_ERR(weir_sem_try_acquire(&sem, 1), WEIR_ECLOSED);
	CHECK_OK(weir_sem_forget(&sem, 1));
	CHECK_ERR(weir_sem_try_acquire(&sem, 1), WEIR_ECLOSED);
	weir_sem_release(&sem, 2);
	CHECK_ERR(weir_sem_try_acquire(&sem, 1), WEIR_ECLOSED);
	CHECK_OK(weir_sem_resize(&sem, 1, NULL));
	CHECK_ERR(weir_sem_try_acquire(&sem, 1), WEIR_ECLOSED);
	CHECK_OK(weir_sem_resize(&sem, 9, NULL));
	CHECK_ERR(weir_sem_try_acquire(&sem, 1), WEIR_ECLOSED);
	CHECK_ERR(weir_sem_acquire(&sem, 1, &ctx), WEIR_ECLOSED);
	weir_sem_release(&sem, 2);
	CHECK_OK(weir_sem_wait_idle(&sem, NULL));
	CHECK_ERR(weir_sem_acquire(&sem, 1, NULL), WEIR_ECLOSED);
	CHECK(weir_sem_is_closed(&sem));
	CHECK(stat_of(&sem).closed);
	CHECK_IDENTITY(&sem);
}

/* C19: in drain mode acquires succeed while permits last, and none waits. */
TEST(c19_drain_mode_lasts_as_long_as_the_permits)
{
	weir_sem sem = WEIR_SEM_INIT(5);
	weir_ctx ctx = WEIR_CTX_INIT;
	int64_t got = 7;

	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	weir_sem_close(&sem, WEIR_CLOSE_DRAIN);
	CHECK(weir_sem_is_closed(&sem));
	CHECK_OK(weir_sem_acquire(&sem, 0, NULL));
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	CHECK_OK(weir_sem_try_acquire(&sem, 1));
	CHECK_OK(weir_sem_acquire_until(&sem, 1, WEIR_FOREVER));
	/* One is left. */
	CHECK_ERR(weir_sem_acquire(&sem, 2, NULL), WEIR_ECLOSED);
	CHECK_ERR(weir_sem_acquire(&sem, 2, &ctx), WEIR_ECLOSED);
	CHECK_ERR(weir_sem_acquire(&sem, 9, &ctx), WEIR_ECLOSED);
	CHECK_ERR(weir_sem_acquire_for(&sem, 2, INT64_MAX), WEIR_ECLOSED);
	CHECK_ERR(weir_sem_try_acquire(&sem, 2), WEIR_ECLOSED);
	CHECK_ERR(weir_sem_acquire_upto(&sem, 2, 3, NULL, &got), WEIR_ECLOSED);
	CHECK_OK(weir_sem_acquire_upto(&sem, 1, 3, NULL, &got));
	CHECK_EQ(got, 1);
	CHECK_ERR(weir_sem_acquire(&sem, 1, NULL), WEIR_ECLOSED);
	/* Released permits can be taken again. */
	weir_sem_release(&sem, 3);
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	CHECK_OK(weir_sem_drain(&sem, &got));
	CHECK_EQ(got, 2);
	CHECK_EQ(waiters_of(&sem), 0);
	CHECK_IDENTITY(&sem);
}

/* C19: drain mode ends the waits that do not fit, in order. */
TEST(c19_drain_mode_ends_the_queue)
{
	weir_sem sem = WEIR_SEM_INIT(5);
	weir_ctx ctx = WEIR_CTX_INIT;
	job four, two, more, one, oversized;

	CHECK_OK(weir_sem_acquire(&sem, 2, NULL));
	queue_up(&four, &sem, 4, NULL);
	queue_up(&two, &sem, 2, NULL);
	queue_up(&more, &sem, 2, NULL);
	queue_up(&one, &sem, 1, NULL);
	wait_oversized(&oversized, &sem, 6, &ctx);
	weir_sem_close(&sem, WEIR_CLOSE_DRAIN);
	/* Three permits are free: too few for the head, enough for others. */
	CHECK_ERR(job_end(&four), WEIR_ECLOSED);
	CHECK_OK(job_end(&two));
	CHECK_ERR(job_end(&more), WEIR_ECLOSED);
	CHECK_OK(job_end(&one));
	CHECK_ERR(job_end(&oversized), WEIR_ECLOSED);
	CHECK_EQ(stat_of(&sem).held, 5);
	CHECK_EQ(waiters_of(&sem), 0);
	CHECK_EQ(oversized_of(&sem), 0);
}

/* C19: NOW after DRAIN is NOW, DRAIN after NOW stays NOW. */
TEST(c19_now_is_stronger_than_drain)
{
	weir_sem sem = WEIR_SEM_INIT(2), other = WEIR_SEM_INIT(2);

	weir_sem_close(&sem, WEIR_CLOSE_DRAIN);
	weir_sem_close(&sem, WEIR_CLOSE_DRAIN);
	CHECK_OK(weir_sem_try_acquire(&sem, 1));
	weir_sem_close(&sem, WEIR_CLOSE_NOW);
	CHECK_ERR(weir_sem_try_acquire(&sem, 1), WEIR_ECLOSED);
	weir_sem_close(&sem, WEIR_CLOSE_DRAIN);
	CHECK_ERR(weir_sem_try_acquire(&sem, 1), WEIR_ECLOSED);
	weir_sem_close(&other, WEIR_CLOSE_NOW);
	weir_sem_close(&other, WEIR_CLOSE_DRAIN);
	CHECK_ERR(weir_sem_acquire(&other, 1, NULL), WEIR_ECLOSED);
}

/* C19: the same on an unbounded semaphore and under BARGING. */
TEST(c19_of_every_kind)
{
	weir_sem signal = WEIR_SEM_INIT_UNBOUNDED(0);
	weir_sem barging = WEIR_SEM_INIT_BARGING(1);
	job a, b;

	queue_up(&a, &signal, 1, NULL);
	CHECK_OK(weir_sem_acquire(&barging, 1, NULL));
	queue_up(&b, &barging, 1, NULL);
	weir_sem_close(&signal, WEIR_CLOSE_NOW);
	weir_sem_close(&barging, WEIR_CLOSE_NOW);
	CHECK_ERR(job_end(&a), WEIR_ECLOSED);
	CHECK_ERR(job_end(&b), WEIR_ECLOSED);
	weir_sem_release(&signal, 1);
	weir_sem_release(&barging, 1);
	CHECK_ERR(weir_sem_try_acquire(&signal, 1), WEIR_ECLOSED);
	CHECK_ERR(weir_sem_try_acquire(&barging, 1), WEIR_ECLOSED);
	CHECK_EQ(weir_sem_available(&signal), 1);
}
