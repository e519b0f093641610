/* SPDX-License-Identifier: MIT */
/*
 * Calls beside the queue: weir_sem_try_acquire_barging (C5, C6), weir_sem_remove
 * (C9) and the list of waiters; the static initialiser with options (C23).
 */
#include "job.h"
#include "weir/async.h"

/* C4: the call overtakes a head that does not fit, and no head that does. */
TEST(c4_barging_overtakes_a_heavy_head)
{
	weir_sem sem = WEIR_SEM_INIT(5);
	job heavy;

	CHECK_OK(weir_sem_acquire(&sem, 3, NULL));
	queue_up(&heavy, &sem, 4, NULL);
	CHECK_ERR(weir_sem_try_acquire(&sem, 1), WEIR_EAGAIN);
	CHECK_ERR(weir_sem_try_acquire_barging(&sem, 3), WEIR_EAGAIN);
	CHECK_OK(weir_sem_try_acquire_barging(&sem, 2));
	CHECK_ERR(weir_sem_try_acquire_barging(&sem, 1), WEIR_EAGAIN);
	CHECK_EQ(waiters_of(&sem), 1);
	CHECK_IDENTITY(&sem);
	weir_sem_release(&sem, 3);
	CHECK_EQ(waiters_of(&sem), 1);
	weir_sem_release(&sem, 1);
	CHECK_OK(job_end(&heavy));
	CHECK_EQ(weir_sem_available(&sem), 0);
	weir_sem_release(&sem, 5);
	CHECK_OK(weir_sem_destroy(&sem));
}

/* C1, C2, C19: arguments, zero and close, as for a try. */
TEST(c5_barging_results)
{
	weir_sem sem = WEIR_SEM_INIT(1);

	CHECK_ERR(weir_sem_try_acquire_barging(NULL, 1), WEIR_EINVAL);
	CHECK_ERR(weir_sem_try_acquire_barging(&sem, -1), WEIR_EINVAL);
	CHECK_ERR(weir_sem_try_acquire_barging(&sem, WEIR_SEM_MAX + 1),
		  WEIR_EINVAL);
	CHECK_OK(weir_sem_try_acquire_barging(&sem, 1));
	CHECK_OK(weir_sem_try_acquire_barging(&sem, 0));
	CHECK_ERR(weir_sem_try_acquire_barging(&sem, 1), WEIR_EAGAIN);
	weir_sem_release(&sem, 1);
	weir_sem_close(&sem, WEIR_CLOSE_DRAIN);
	CHECK_OK(weir_sem_try_acquire_barging(&sem, 1));
	CHECK_ERR(weir_sem_try_acquire_barging(&sem, 1), WEIR_ECLOSED);
	weir_sem_release(&sem, 1);
	weir_sem_close(&sem, WEIR_CLOSE_NOW);
	CHECK_ERR(weir_sem_try_acquire_barging(&sem, 1), WEIR_ECLOSED);
	CHECK_OK(weir_sem_destroy(&sem));
	CHECK_PANICS("weir_sem_try_acquire_barging: semaphore",
		     CHECK_ERR(weir_sem_try_acquire_barging(&sem, 1),
			       WEIR_EINVAL));
}

/* C30: no call overtakes a barging waiter past the starvation bound. */
TEST(c30_barging_try_keeps_the_bound)
{
	weir_sem_opts opts = { .permits = 3, .policy = WEIR_BARGING,
			       .barge_us = 1 };
	weir_sem sem;
	job heavy;

	CHECK_OK(weir_sem_init_opts(&sem, &opts));
	CHECK_OK(weir_sem_acquire(&sem, 2, NULL));
	queue_up(&heavy, &sem, 3, NULL);
	AWAIT(stat_of(&sem).oldest_wait_ns > 1000);
	CHECK_ERR(weir_sem_try_acquire_barging(&sem, 1), WEIR_EAGAIN);
	weir_sem_release(&sem, 2);
	CHECK_OK(job_end(&heavy));
	weir_sem_release(&sem, 3);
	CHECK_OK(weir_sem_destroy(&sem));
}

/* C9: free permits of an unbounded semaphore can be removed, past the queue. */
TEST(c9_remove)
{
	weir_sem sem = WEIR_SEM_INIT_UNBOUNDED(7), bounded = WEIR_SEM_INIT(1);
	int64_t removed = -1;
	job heavy;

	CHECK_OK(weir_sem_remove(&sem, 2, &removed));
	CHECK_EQ(removed, 2);
	CHECK_EQ(weir_sem_available(&sem), 5);
	CHECK_OK(weir_sem_remove(&sem, 0, &removed));
	CHECK_EQ(removed, 0);
	queue_up(&heavy, &sem, 6, NULL);
	CHECK_OK(weir_sem_remove(&sem, WEIR_SEM_MAX, NULL));
	CHECK_EQ(weir_sem_available(&sem), 0);
	CHECK_OK(weir_sem_remove(&sem, 1, &removed));
	CHECK_EQ(removed, 0);
	weir_sem_release(&sem, 5);
	CHECK_EQ(waiters_of(&sem), 1);
	weir_sem_release(&sem, 1);
	CHECK_OK(job_end(&heavy));
	weir_sem_release(&sem, 1);
	weir_sem_close(&sem, WEIR_CLOSE_NOW);
	CHECK_OK(weir_sem_remove(&sem, 1, &removed));
	CHECK_EQ(removed, 1);
	CHECK_ERR(weir_sem_remove(&bounded, 1, &removed), WEIR_EINVAL);
	CHECK_EQ(removed, 0);
	CHECK_ERR(weir_sem_remove(&sem, -1, &removed), WEIR_EINVAL);
	CHECK_ERR(weir_sem_remove(NULL, 1, &removed), WEIR_EINVAL);
	CHECK_EQ(weir_sem_available(&bounded), 1);
	CHECK_OK(weir_sem_destroy(&sem));
}

/* C3, C11, C20: the list has the queue in order, then the other waiters. */
TEST(c3_waiters)
{
	weir_sem sem = WEIR_SEM_INIT(4);
	weir_ctx ctx = WEIR_CTX_INIT;
	weir_sem_waiter list[5];
	job a, b, idle, big;
	size_t n = 9;
	weir_op op;

	CHECK_OK(weir_sem_waiters(&sem, NULL, 0, &n));
	CHECK_EQ(n, 0);
	CHECK_OK(weir_sem_acquire(&sem, 4, NULL));
	queue_up(&a, &sem, 3, NULL);
	weir_op_init(&op, NULL, NULL, NULL);
	CHECK_ERR(weir_op_submit(&op, &sem, 1, NULL), WEIR_EQUEUED);
	queue_up_upto(&b, &sem, 2, 4, &ctx);
	wait_for_idle(&idle, &sem, NULL);
	wait_oversized(&big, &sem, 9, &ctx);
	list[4].permits = -1;
	CHECK_OK(weir_sem_waiters(&sem, list, 4, &n));
	CHECK_EQ(n, 5);
	CHECK_EQ(list[4].permits, -1);
	CHECK_EQ(list[0].permits, 3);
	CHECK_EQ(list[0].waits, WEIR_WAITS_QUEUED);
	CHECK(!list[0].is_op && !list[0].op && !list[0].ctx);
	CHECK(list[0].waited_ns >= 0);
	CHECK_EQ(list[1].permits, 1);
	CHECK(list[1].is_op && list[1].op == &op);
	CHECK_EQ(list[2].permits, 2);
	CHECK(list[2].ctx == &ctx);
	CHECK_EQ(list[3].waits, WEIR_WAITS_IDLE);
	CHECK_OK(weir_sem_waiters(&sem, list, 5, &n));
	CHECK_EQ(n, 5);
	CHECK_EQ(list[4].permits, 9);
	CHECK_EQ(list[4].waits, WEIR_WAITS_OVERSIZED);
	CHECK_ERR(weir_sem_waiters(&sem, NULL, 1, &n), WEIR_EINVAL);
	CHECK_ERR(weir_sem_waiters(&sem, list, 1, NULL), WEIR_EINVAL);
	CHECK_ERR(weir_sem_waiters(NULL, list, 1, &n), WEIR_EINVAL);
	CHECK_OK(weir_op_cancel(&op));
	weir_ctx_cancel(&ctx);
	CHECK_ERR(job_end(&b), WEIR_ECANCELED);
	CHECK_ERR(job_end(&big), WEIR_ECANCELED);
	weir_sem_release(&sem, 4);
	CHECK_OK(job_end(&a));
	weir_sem_release(&sem, 3);
	CHECK_OK(job_end(&idle));
	CHECK_OK(weir_ctx_destroy(&ctx));
}

static weir_sem slots = WEIR_SEM_INIT_OPTS(1, 8, "slots", WEIR_FIFO,
					   WEIR_SEM_INTERRUPTIBLE |
						   WEIR_SEM_UNWATCHED);
static weir_sem same = WEIR_SEM_INIT_OPTS(3, 0, "same", WEIR_FIFO,
					  WEIR_SEM_UNWATCHED);
static weir_sem event = WEIR_SEM_INIT_OPTS(2, 0, NULL, WEIR_FIFO,
					   WEIR_SEM_UNBOUNDED);
static weir_sem tracked = WEIR_SEM_INIT_OPTS(3, 3, "tracked", WEIR_BARGING,
					     WEIR_SEM_TRACKED);

static void check_same(const weir_sem *made, const weir_sem_opts *opts)
{
	weir_sem sem;

	CHECK_OK(weir_sem_init_opts(&sem, opts));
	/*
	 * The call has made it a watched one: its name is in the registry.  The
	 * other one has a flag, and is registered by its first acquire.
	 */
	if (opts->flags & WEIR_SEM_TRACKED) {
		CHECK_EQ(strcmp(sem.name_, opts->name), 0);
		sem.name_ = opts->name;
		CHECK(!(sem.state_ & 8u));
		sem.state_ |= 8u;
	}
	CHECK_EQ(memcmp(made, &sem, sizeof(sem)), 0);
}

/* C23: the static initialiser makes what weir_sem_init_opts makes. */
TEST(c23_static_with_options)
{
	check_same(&slots, &(weir_sem_opts){
		.permits = 1, .capacity = 8, .name = slots.name_,
		.flags = WEIR_SEM_INTERRUPTIBLE | WEIR_SEM_UNWATCHED });
	check_same(&same, &(weir_sem_opts){
		.permits = 3, .name = same.name_,
		.flags = WEIR_SEM_UNWATCHED });
	check_same(&event, &(weir_sem_opts){
		.permits = 2, .flags = WEIR_SEM_UNBOUNDED });
	check_same(&tracked, &(weir_sem_opts){
		.permits = 3, .name = tracked.name_, .policy = WEIR_BARGING,
		.flags = WEIR_SEM_TRACKED });
	CHECK_EQ(strcmp(stat_of(&slots).name, "slots"), 0);
	CHECK_EQ(stat_of(&slots).held, 7);
	CHECK_OK(weir_sem_acquire(&slots, 1, NULL));
	weir_sem_release(&slots, 8);
	CHECK_ERR(weir_sem_try_release(&slots, 1), WEIR_EOVERFLOW);
	CHECK_OK(weir_sem_acquire(&tracked, 3, NULL));
	weir_sem_release(&tracked, 3);
}
