/* SPDX-License-Identifier: MIT */
/* The policies: C30. */
#include "core/sem_queue.h"
#include "job.h"

/* A bound that passes at once, and one that no test reaches. */
#define SHORT_US 1u
#define LONG_US WEIR_BARGE_US_MAX

static void init_barging(weir_sem *sem, int64_t permits, uint32_t barge_us)
{
	weir_sem_opts opts = { .permits = permits, .policy = WEIR_BARGING,
			       .barge_us = barge_us };

	CHECK_OK(weir_sem_init_opts(sem, &opts));
}

static void await_overdue(weir_sem *sem, uint32_t barge_us)
{
	AWAIT(stat_of(sem).oldest_wait_ns > (int64_t)barge_us * 1000);
}

/*
 * C30: when a waiter becomes overdue.  With FIFO, or while waiting for idle,
 * never.
 */
TEST(c30_when_a_waiter_is_due)
{
	weir_sem fifo = WEIR_SEM_INIT(1), barging;
	weir_sem_opts opts = { .policy = WEIR_BARGING, .barge_us = 7 };
	struct weir_waiter_ w = { .wants = WEIR_WANTS_PERMITS_,
				  .since_ns = 500 };

	CHECK_OK(weir_sem_init_opts(&barging, &opts));
	CHECK_EQ(weir_sem_due_ns_(&barging, &w), 7500);
	CHECK_EQ(weir_sem_due_ns_(&fifo, &w), WEIR_FOREVER);
	w.since_ns = WEIR_FOREVER - 7001;
	CHECK_EQ(weir_sem_due_ns_(&barging, &w), WEIR_FOREVER - 1);
	w.since_ns = WEIR_FOREVER - 6999;
	CHECK_EQ(weir_sem_due_ns_(&barging, &w), WEIR_FOREVER);
	w.since_ns = 500;
	w.wants = WEIR_WANTS_IDLE_;
	CHECK_EQ(weir_sem_due_ns_(&barging, &w), WEIR_FOREVER);
}

/*
 * The wait time of an operation is correct even if its 32-bit tick counter has
 * wrapped; a tick is 2^20 ns, and 52 days have 2^32.
 */
TEST(wait_time_after_a_long_uptime)
{
	const int64_t week = INT64_C(604800000000000) >> 20 << 20;
	struct weir_waiter_ w = { .kind = WEIR_OPERATION_ };

	for (int64_t up = week; up < 52 * week; up += week) {
		weir_waiter_set_since_(&w, up);
		CHECK_EQ(weir_waiter_waited_ns_(&w, up + 20000005), 20000005);
		/* Some machines' clocks go back. */
		CHECK(weir_waiter_waited_ns_(&w, up - 20000000) < 0);
	}
}

/* C30: FIFO is the default; the default bound is as documented. */
TEST(c30_fifo_is_the_default)
{
	weir_sem sem = WEIR_SEM_INIT(1);
	weir_sem_opts opts = { .permits = 1 };

	CHECK_EQ(stat_of(&sem).policy, WEIR_FIFO);
	CHECK_OK(weir_sem_init_opts(&sem, &opts));
	CHECK_EQ(stat_of(&sem).policy, WEIR_FIFO);
	CHECK_EQ(WEIR_BARGE_US, 1000);
}

/* C30: a new request takes free permits ahead of the queue. */
TEST(c30_new_requests_may_pass)
{
	weir_sem sem;
	int64_t got = 0;
	job heavy;

	init_barging(&sem, 4, LONG_US);
	CHECK_OK(weir_sem_acquire(&sem, 3, NULL));
	queue_up(&heavy, &sem, 4, NULL);
	CHECK_OK(weir_sem_try_acquire(&sem, 1));
	weir_sem_release(&sem, 1);
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	weir_sem_release(&sem, 1);
	CHECK_OK(weir_sem_acquire_until(&sem, 1, 0));
	weir_sem_release(&sem, 1);
	CHECK_OK(weir_sem_drain(&sem, &got));
	CHECK_EQ(got, 1);
	CHECK_EQ(waiters_of(&sem), 1);
	weir_sem_release(&sem, 4);
	CHECK_OK(job_end(&heavy));
}

/*
 * C30, C11: a woken head that does not run blocks no other waiter, not even one
 * that growth moved behind it and that no longer wakes by itself at its bound.
 */
TEST(c30_a_woken_waiter_blocks_no_other)
{
	weir_ctx ctx = WEIR_CTX_INIT;
	weir_sem sem;
	job a, b;

	init_barging(&sem, 1, LONG_US);
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	wait_oversized(&b, &sem, 2, &ctx);
	queue_up(&a, &sem, 1, NULL);
	CHECK(job_freeze(&a));
	CHECK_OK(weir_sem_resize(&sem, 3, NULL));
	weir_sem_release(&sem, 1);
	CHECK_OK(job_end(&b));
	CHECK_EQ(stat_of(&sem).granted, 1);
	jobs_thaw();
	CHECK_OK(job_end(&a));
	CHECK_EQ(stat_of(&sem).held, 3);
}

/*
 * C30: also while the head has been woken to retry and has not run yet.  The
 * head keeps its place and is granted later.
 */
TEST(c30_new_requests_may_pass_a_woken_waiter)
{
	weir_sem sem;
	job a;

	init_barging(&sem, 1, LONG_US);
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	queue_up(&a, &sem, 1, NULL);
	CHECK(job_freeze(&a));
	weir_sem_release(&sem, 1);
	CHECK_EQ(stat_of(&sem).free, 1);
	CHECK_EQ(waiters_of(&sem), 1);
	CHECK_OK(weir_sem_try_acquire(&sem, 1));
	jobs_thaw();
	AWAIT(job_asleep(&a));
	CHECK_EQ(waiters_of(&sem), 1);
	weir_sem_release(&sem, 1);
	CHECK_OK(job_end(&a));
	CHECK_EQ(stat_of(&sem).held, 1);
}

/*
 * C30: a waiter behind a woken head that does not run wakes by itself when it
 * reaches its bound.  No other call is made.
 */
TEST(c30_a_waiter_behind_a_woken_head_wakes_at_its_bound)
{
	weir_sem sem;
	job a, b;

	init_barging(&sem, 2, 100000);
	CHECK_OK(weir_sem_acquire(&sem, 2, NULL));
	queue_up(&a, &sem, 1, NULL);
	queue_up(&b, &sem, 1, NULL);
	CHECK(job_freeze(&a));
	/* Wakes the head; if the bound has passed, grants to it instead. */
	weir_sem_release(&sem, 2);
	CHECK_OK(job_end(&b));
	jobs_thaw();
	CHECK_OK(job_end(&a));
	CHECK_EQ(stat_of(&sem).held, 2);
}

/* C30: without new requests, released permits go to the waiters. */
TEST(c30_waiters_are_granted_without_new_requests)
{
	weir_sem sem;
	job a[8];

	init_barging(&sem, 8, LONG_US);
	CHECK_OK(weir_sem_acquire(&sem, 8, NULL));
	for (int i = 0; i < 8; i++)
		queue_up(&a[i], &sem, 1, NULL);
	weir_sem_release(&sem, 8);
	for (int i = 0; i < 8; i++)
		CHECK_OK(job_end(&a[i]));
	CHECK_EQ(stat_of(&sem).held, 8);
	CHECK_EQ(waiters_of(&sem), 0);
}

/* C30: after the bound, the next permits are handed to the head directly. */
TEST(c30_overdue_is_handed_the_next_permits)
{
	weir_sem sem;
	job a;

	init_barging(&sem, 1, SHORT_US);
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	queue_up(&a, &sem, 1, NULL);
	CHECK(job_freeze(&a));	/* it cannot take permits itself */
	await_overdue(&sem, SHORT_US);
	weir_sem_release(&sem, 1);
	CHECK_EQ(waiters_of(&sem), 0);
	CHECK_EQ(stat_of(&sem).granted, 1);
	CHECK_ERR(weir_sem_try_acquire(&sem, 1), WEIR_EAGAIN);
	jobs_thaw();
	CHECK_OK(job_end(&a));
}

/*
 * C30: no request passes an overdue head, however few permits it needs:
 * released permits accumulate until the heavy head fits.
 */
TEST(c30_a_heavy_head_does_not_starve)
{
	weir_sem sem;
	int64_t got = 7;
	job heavy, light;

	init_barging(&sem, 4, SHORT_US);
	CHECK_OK(weir_sem_acquire(&sem, 4, NULL));
	queue_up(&heavy, &sem, 4, NULL);
	await_overdue(&sem, SHORT_US);
	for (int64_t back = 1; back < 4; back++) {
		weir_sem_release(&sem, 1);
		CHECK_EQ(weir_sem_available(&sem), back);
		CHECK_ERR(weir_sem_try_acquire(&sem, 1), WEIR_EAGAIN);
		CHECK_ERR(weir_sem_acquire_until(&sem, 1, 0), WEIR_ETIMEDOUT);
		CHECK_OK(weir_sem_drain(&sem, &got));
		CHECK_EQ(got, 0);
		CHECK_OK(weir_sem_acquire_upto(&sem, 0, 3, NULL, &got));
		CHECK_EQ(got, 0);
	}
	queue_up(&light, &sem, 1, NULL);
	weir_sem_release(&sem, 1);
	CHECK_OK(job_end(&heavy));
	weir_sem_release(&sem, 4);
	CHECK_OK(job_end(&light));
}

struct crowd {
	weir_sem sem;
	int stop;
};

static void *hog(void *arg)
{
	struct crowd *c = arg;

	while (!__atomic_load_n(&c->stop, __ATOMIC_RELAXED)) {
		CHECK_OK(weir_sem_acquire(&c->sem, 1, NULL));
		weir_sem_release(&c->sem, 1);
	}
	return NULL;
}

/*
 * C30: starvation is impossible: while several threads never release all
 * permits at the same time, a waiter that needs all of them is granted again
 * and again.
 */
TEST(c30_no_waiter_starves)
{
	struct crowd c = { .stop = 0 };
	check_thread thread[3];

	init_barging(&c.sem, 2, 50);
	for (int i = 0; i < 3; i++)
		thread[i] = start(hog, &c);
	for (int i = 0; i < 100; i++) {
		CHECK_OK(weir_sem_acquire(&c.sem, 2, NULL));
		CHECK_EQ(weir_sem_available(&c.sem), 0);
		weir_sem_release(&c.sem, 2);
	}
	__atomic_store_n(&c.stop, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < 3; i++)
		finish(thread[i]);
	CHECK_EQ(weir_sem_available(&c.sem), 2);
}

/* C7, C30: when a woken head leaves, the next waiter is woken. */
TEST(c30_a_woken_head_that_leaves_wakes_the_next)
{
	weir_sem sem;
	weir_ctx ctx = WEIR_CTX_INIT;
	job a, b;

	init_barging(&sem, 1, LONG_US);
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	queue_up(&a, &sem, 1, &ctx);
	queue_up(&b, &sem, 1, NULL);
	CHECK(job_freeze(&a));
	weir_sem_release(&sem, 1);
	weir_ctx_cancel(&ctx);
	CHECK_OK(job_end(&b));
	jobs_thaw();
	CHECK_ERR(job_end(&a), WEIR_ECANCELED);
	CHECK_EQ(stat_of(&sem).held, 1);
}

/* C12, C30: a woken head takes as many as are free, up to its maximum. */
TEST(c12_a_woken_head_takes_free_permits)
{
	weir_sem sem;
	job a, b;

	init_barging(&sem, 5, LONG_US);
	CHECK_OK(weir_sem_acquire(&sem, 5, NULL));
	queue_up_upto(&a, &sem, 1, 3, NULL);
	weir_sem_release(&sem, 2);
	CHECK_OK(job_end(&a));
	CHECK_EQ(a.got, 2);
	queue_up_upto(&b, &sem, 1, 2, NULL);
	weir_sem_release(&sem, 3);
	CHECK_OK(job_end(&b));
	CHECK_EQ(b.got, 2);
	CHECK_EQ(weir_sem_available(&sem), 1);
}

/* C20, C30: a wait for idle has no bound. */
TEST(c20_idle_by_the_barging_policy)
{
	weir_sem sem;
	job idle;

	init_barging(&sem, 1, SHORT_US);
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	wait_for_idle(&idle, &sem, NULL);
	weir_sem_release(&sem, 1);
	CHECK_OK(job_end(&idle));
}

/* C19, C21, C30: close and growth reach BARGING waiters. */
TEST(c30_close_and_resize)
{
	weir_sem sem;
	job a, b;

	init_barging(&sem, 1, LONG_US);
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	queue_up(&a, &sem, 1, NULL);
	queue_up(&b, &sem, 1, NULL);
	CHECK_OK(weir_sem_resize(&sem, 2, NULL));
	CHECK_OK(job_end(&a));
	weir_sem_close(&sem, WEIR_CLOSE_NOW);
	CHECK_ERR(job_end(&b), WEIR_ECLOSED);
	CHECK_EQ(stat_of(&sem).held, 2);
}

/* C30: the bound has a maximum. */
TEST(c30_bad_bounds_and_policies)
{
	weir_sem_opts opts = { .permits = 1, .policy = WEIR_BARGING,
			       .barge_us = WEIR_BARGE_US_MAX + 1 };
	weir_sem sem;

	CHECK_ERR(weir_sem_init_opts(&sem, &opts), WEIR_EINVAL);
	opts.barge_us = 0;
	opts.policy = (weir_policy)7;
	CHECK_ERR(weir_sem_init_opts(&sem, &opts), WEIR_EINVAL);
}

/* C18, C30: reaching the bound is not a signal. */
TEST(c30_past_the_bound_is_no_interruption)
{
	weir_sem_opts opts = { .permits = 1, .policy = WEIR_BARGING,
			       .barge_us = SHORT_US,
			       .flags = WEIR_SEM_INTERRUPTIBLE };
	weir_sem sem;
	job a, b;

	CHECK_OK(weir_sem_init_opts(&sem, &opts));
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	queue_up(&a, &sem, 1, NULL);
	queue_up(&b, &sem, 1, NULL);
	weir_sem_release(&sem, 1);
	CHECK_OK(job_end(&a));
	weir_sem_release(&sem, 1);
	CHECK_OK(job_end(&b));
}
