/* SPDX-License-Identifier: MIT */
/* Works: acquire and release. */
#include "core/sem_contend.h"
#include "core/sem_grant.h"
#include "core/sem_lock.h"
#include "work.h"

#define HOUR INT64_C(3600000000000)
#define MILLISECOND 1000000

/* C2, C6, C24: released permits go to the waiter. */
void work_handoff(void)
{
	weir_sem sem = WEIR_SEM_INIT(1);
	struct job a = { .call = do_acquire, .sem = &sem, .n = 1 };

	CHECK_OK(run(do_acquire, &sem, 1));
	job_queue(&a);
	CHECK_OK(run(do_stat, &sem, 0));
	CHECK_OK(run(do_release, &sem, 1));
	job_ends(&a, WEIR_OK);
	CHECK_OK(run(do_try_release, &sem, 1));
	check_rest(&sem, 1);
	CHECK_OK(weir_sem_destroy(&sem));
}

/* C4, C6, C10: a heavy head first, then the two behind it together. */
void work_fifo(void)
{
	weir_sem sem = WEIR_SEM_INIT(2);
	struct job a = { .call = do_acquire_and_release, .sem = &sem, .n = 2 };
	struct job b = { .call = do_acquire_and_release, .sem = &sem, .n = 1 };
	struct job c = b;

	turns_from_zero();
	CHECK_OK(weir_sem_acquire(&sem, 2, NULL));
	job_queue(&a);
	job_queue(&b);
	job_queue(&c);
	CHECK_OK(run(do_release, &sem, 1));
	CHECK_EQ(waiters_of(&sem), 3);
	CHECK_OK(run(do_release, &sem, 1));
	job_ends(&a, WEIR_OK);
	job_ends(&b, WEIR_OK);
	job_ends(&c, WEIR_OK);
	CHECK_EQ(a.turn, 0);
	check_rest(&sem, 2);
	CHECK_OK(weir_sem_destroy(&sem));
}

/* C14: a distant deadline changes nothing. */
void work_timed_grant(void)
{
	weir_sem sem = WEIR_SEM_INIT(1);
	struct job a = { .call = do_acquire_until, .sem = &sem, .n = 1,
			 .deadline = clock_now() + HOUR };
	struct job b = { .call = do_acquire_for, .sem = &sem, .n = 1,
			 .max = HOUR };

	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	job_queue(&a);
	job_queue(&b);
	CHECK_OK(run(do_release, &sem, 1));
	job_ends(&a, WEIR_OK);
	if (!a.err)
		CHECK_OK(run(do_release, &sem, 1));
	job_ends(&b, WEIR_OK);
	if (!b.err)
		CHECK_OK(run(do_release, &sem, 1));
	check_rest(&sem, 1);
	CHECK_OK(weir_sem_destroy(&sem));
}

/* C7, C14, C15, C16: deadlines pass, and the waiter behind is granted. */
void work_timed_out(void)
{
	weir_sem sem = WEIR_SEM_INIT(2);
	struct job a = { .call = do_acquire_until, .sem = &sem, .n = 2,
			 .deadline = clock_now() + MILLISECOND };
	struct job b = { .call = do_acquire_for, .sem = &sem, .n = 2,
			 .max = MILLISECOND };
	struct job c = { .call = do_acquire_and_release, .sem = &sem, .n = 1 };

	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	job_queue(&a);
	job_queue(&b);
	job_start(&c);
	job_ends(&a, WEIR_ETIMEDOUT);
	job_ends(&b, WEIR_ETIMEDOUT);
	job_ends(&c, WEIR_OK);
	CHECK_OK(run(do_release, &sem, 1));
	check_rest(&sem, 2);
	CHECK_OK(weir_sem_destroy(&sem));
}

/* C12: between min and max, and all remaining permits. */
void work_upto(void)
{
	weir_sem sem = WEIR_SEM_INIT(4);
	struct job a = { .call = do_acquire_upto, .sem = &sem, .n = 2,
			 .max = 3 };
	struct job rest = { .call = do_drain, .sem = &sem };

	CHECK_OK(weir_sem_acquire(&sem, 4, NULL));
	job_queue(&a);
	CHECK_OK(run(do_release, &sem, 4));
	job_ends(&a, WEIR_OK);
	CHECK_EQ(a.got, 3);
	job_start(&rest);
	job_ends(&rest, WEIR_OK);
	CHECK_EQ(rest.got, 1);
	CHECK_OK(run(do_release, &sem, 4));
	check_rest(&sem, 4);
	CHECK_OK(weir_sem_destroy(&sem));
}

/* C30: the head is woken to retry, new requests barge, no waiter starves. */
void work_barging(void)
{
	weir_sem_opts opts = { .permits = 1, .policy = WEIR_BARGING,
			       .barge_us = 200 };
	weir_sem sem;
	struct job a = { .call = do_acquire_and_release, .sem = &sem, .n = 1 };
	struct job b = a, c = a;
	weir_err err;

	CHECK_OK(weir_sem_init_opts(&sem, &opts));
	CHECK_OK(run(do_acquire, &sem, 1));
	job_queue(&a);
	job_queue(&b);
	CHECK_OK(run(do_release, &sem, 1));
	job_start(&c);
	err = run(do_try_acquire, &sem, 1);
	CHECK(err == WEIR_OK || err == WEIR_EAGAIN);
	if (!err)
		CHECK_OK(run(do_release, &sem, 1));
	job_ends(&a, WEIR_OK);
	job_ends(&b, WEIR_OK);
	job_ends(&c, WEIR_OK);
	check_rest(&sem, 1);
	CHECK_OK(weir_sem_destroy(&sem));
}

/* C18: a signal may end the wait, without any other effect. */
void work_interruptible(void)
{
	weir_sem_opts opts = { .permits = 1, .flags = WEIR_SEM_INTERRUPTIBLE };
	weir_sem sem;
	struct job a = { .call = do_acquire, .sem = &sem, .n = 1 };

	CHECK_OK(weir_sem_init_opts(&sem, &opts));
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	job_queue(&a);
	CHECK_OK(run(do_release, &sem, 1));
	job_join(&a);
	if (a.err == WEIR_OK)
		CHECK_OK(run(do_release, &sem, 1));
	else
		CHECK_ERR(a.err, WEIR_EINTR);
	check_rest(&sem, 1);
	CHECK_OK(weir_sem_destroy(&sem));
}

/* C31: one call waits, the next is refused. */
void work_max_waiters(void)
{
	weir_sem_opts opts = { .permits = 1, .max_waiters = 1 };
	weir_sem sem;
	struct job a = { .call = do_acquire, .sem = &sem, .n = 1 };

	CHECK_OK(weir_sem_init_opts(&sem, &opts));
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	job_queue(&a);
	CHECK_ERR(run(do_acquire, &sem, 1), WEIR_EBUSY);
	CHECK_OK(run(do_release, &sem, 1));
	job_ends(&a, WEIR_OK);
	CHECK_OK(run(do_release, &sem, 1));
	check_rest(&sem, 1);
	CHECK_OK(weir_sem_destroy(&sem));
}

/*
 * C5, C25: a thread holds the lock and does not run.  Releases complete; calls
 * that need the lock sleep, whatever the sleeps return.  A thread that was woken
 * and did not get the lock is starved: later calls yield to it.
 */
void work_locked(void)
{
	weir_sem sem = WEIR_SEM_INIT(2);
	struct job a = { .call = do_acquire_and_release, .sem = &sem, .n = 2 };
	struct job b = { .call = do_stat, .sem = &sem };
	struct job c = { .call = do_resize, .sem = &sem, .n = 2 };

	CHECK_OK(weir_sem_acquire(&sem, 2, NULL));
	CHECK_OK(weir_sem_lock_(&sem, "work_locked"));
	job_start(&a);
	UNTIL((weir_sem_wake_contender_(&sem), weir_sem_is_awaited_(&sem)));
	job_start(&b);
	job_start(&c);
	CHECK_OK(run(do_release, &sem, 1));
	UNTIL(job_has_slept(&a) && job_has_slept(&b) && job_has_slept(&c));
	CHECK(!job_is_done(&a) && !job_is_done(&b) && !job_is_done(&c));
	weir_sem_unlock_(&sem, 0);
	job_ends(&b, WEIR_OK);
	job_ends(&c, WEIR_OK);
	CHECK_OK(run(do_release, &sem, 1));
	job_ends(&a, WEIR_OK);
	check_rest(&sem, 2);
	CHECK_OK(weir_sem_destroy(&sem));
}
