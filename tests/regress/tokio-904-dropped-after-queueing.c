/* SPDX-License-Identifier: MIT */
/*
 * tokio PR #904: a permit is lost when it is assigned to a waiter that was
 * dropped after it had queued.
 *
 * Threads: waiter, main.
 *
 *   1. waiter: enqueues and parks.
 *   2. waiter: its wait ends (cancelled, timed out, interrupted).
 *   3. main: releases; the permit is assigned to the waiter's node.
 *   4. main: acquire waits forever.
 *
 * In weir (C16) a wait that has ended leaves no trace.  A thread's wait can end
 * early in three ways, and in each the next permit goes to a live waiter.
 */
#include "waiter.h"

static void no_op(int signo)
{
	(void)signo;
}

static void check_permit_not_lost(weir_sem *sem)
{
	struct waiter next = { .sem = sem, .n = 1 };

	CHECK_EQ(waiters_of(sem), 0);
	CHECK_EQ(stat_of(sem).waiting_permits, 0);
	queue_up(&next);
	weir_sem_release(sem, 1);
	CHECK_OK(result_of(&next));
	weir_sem_release(sem, 1);
	CHECK_OK(weir_sem_try_acquire(sem, 1));
	CHECK_EQ(stat_of(sem).held, 1);
	CHECK_IDENTITY(sem);
}

static void drop(weir_policy policy)
{
	weir_sem_opts opts = { .capacity = 1, .policy = policy,
			       .flags = WEIR_SEM_INTERRUPTIBLE };
	struct sigaction action;
	weir_ctx ctx = WEIR_CTX_INIT;
	weir_sem sem;
	struct waiter w = { .sem = &sem, .n = 1, .ctx = &ctx };

	CHECK_OK(weir_sem_init_opts(&sem, &opts));
	queue_up(&w);
	weir_ctx_cancel(&ctx);
	CHECK_ERR(result_of(&w), WEIR_ECANCELED);
	check_permit_not_lost(&sem);

	CHECK_ERR(weir_sem_acquire_for(&sem, 1, 100000), WEIR_ETIMEDOUT);
	check_permit_not_lost(&sem);

	memset(&action, 0, sizeof(action));
	action.sa_handler = no_op;
	CHECK_EQ(real_sigaction(SIGUSR2, &action, NULL), 0);
	w.ctx = NULL;
	queue_up(&w);
	/*
	 * A signal before the thread sleeps does not end the wait: repeat it.
	 */
	AWAIT(has_returned(&w) || pthread_kill(w.thread.id, SIGUSR2) ||
	      has_returned(&w));
	CHECK_ERR(result_of(&w), WEIR_EINTR);
	check_permit_not_lost(&sem);
	CHECK_OK(weir_sem_destroy(&sem));
	CHECK_OK(weir_ctx_destroy(&ctx));
}

TEST(c16_an_ended_wait_takes_no_permit)
{
	drop(WEIR_FIFO);
}

TEST(c16_an_ended_wait_takes_no_permit_barging)
{
	drop(WEIR_BARGING);
}
