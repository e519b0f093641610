/* SPDX-License-Identifier: MIT */
/* The policies: C30. */
#include "core/sem_queue.h"
#include "job.h"

/* The bound of a semaphore, and of one whose bound no test outlasts. */
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

/* C30: when a waiter is due; FIFO, and whoever waits for idleness, never is. */
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

/* How long an operation has waited is told right though its count of ticks has begun
 * again; a tick is 2^20 ns, and 52 days have 2^32. */
TEST(waited_on_a_machine_that_is_up_for_long)
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

/* C30: FIFO is the default; the default bound is documented. */
TEST(c30_fifo_is_the_default)
{
	weir_sem sem = WEIR_SEM_INIT(1);
	weir_sem_opts opts = { .permits = 1 };

	CHECK_EQ(stat_of(&sem).policy, WEIR_FIFO);
	CHECK_OK(weir_sem_init_opts(&sem, &opts));
	CHECK_EQ(stat_of(&sem).policy, WEIR_FIFO);
	CHECK_EQ(WEIR_BARGE_US, 1000);
}

/* C30: a newcomer takes what is free ahead of the queue. */
TEST(c30_newcomers_may_pass)
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

/* C30, C11: it holds up nobody, also not one that growth put behind it, who has
 * no bound of his own any more to wake him. */
TEST(c30_nobody_waits_for_a_waiter_on_its_way)
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

/* C30: also when the waiter has been called and is not there yet.  It keeps
 * its place and is served later. */
TEST(c30_newcomers_may_pass_a_waiter_on_its_way)
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

/* C30: with nobody in the way a waiter gets what is released. */
TEST(c30_waiters_are_served_without_newcomers)
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

/* C30: beyond the bound, the next permits are handed to the head directly. */
TEST(c30_overdue_is_handed_the_next_permits)
{
	weir_sem sem;
	job a;

	init_barging(&sem, 1, SHORT_US);
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	queue_up(&a, &sem, 1, NULL);
	CHECK(job_freeze(&a));	/* it can do nothing for itself */
	await_overdue(&sem, SHORT_US);
	weir_sem_release(&sem, 1);
	CHECK_EQ(waiters_of(&sem), 0);
	CHECK_EQ(stat_of(&sem).granted, 1);
	CHECK_ERR(weir_sem_try_acquire(&sem, 1), WEIR_EAGAIN);
	jobs_thaw();
	CHECK_OK(job_end(&a));
}

/* C30: nobody passes an overdue head, however little it takes: what comes back
 * adds up until the heavy one fits. */
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

/* C30: starvation is impossible: in a crowd that never lets go of everything at
 * once, one that needs everything is served again and again. */
TEST(c30_nobody_starves_in_a_crowd)
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

/* C7, C30: a head that has been called and leaves calls the next. */
TEST(c30_a_called_head_that_leaves_calls_the_next)
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

/* C12, C30: called, it takes as many as it finds, up to its most. */
TEST(c12_a_called_head_takes_what_it_finds)
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

/* C20, C30: who waits for idleness waits as long as it takes. */
TEST(c20_idle_by_the_barging_policy)
{
	weir_sem sem;
	job idle;

	init_barging(&sem, 1, SHORT_US);
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	watch_idle(&idle, &sem, NULL);
	weir_sem_release(&sem, 1);
	CHECK_OK(job_end(&idle));
}

/* C19, C21, C30: closing and growing reach barging waiters. */
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

/* C30: the bound has a limit. */
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

/* C18, C30: the bound of a waiter is no signal. */
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
