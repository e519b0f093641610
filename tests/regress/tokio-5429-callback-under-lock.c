/* SPDX-License-Identifier: MIT */
/*
 * tokio#5429: user code that runs while the semaphore's internal lock is held
 * deadlocks when it calls the semaphore.
 *
 * Threads: caller.
 *
 *   1. caller: locks the queue.
 *   2. caller: runs user code.
 *   3. user code, on the same thread: releases, or drops an object that
 *      releases; waits forever for the queue's lock.
 *
 * In weir (C27) user code runs without any lock held.  Between threads the
 * panic hook is the only user code that a semaphore calls.  The hook must be
 * able to use the semaphore whose misuse caused it, and so must another thread
 * while the hook runs.  (Callbacks of operations are tested in tests/async.)
 */
#include "waiter.h"
#include "weir/permit.h"

static weir_sem *subject;
static int hooks;

static void use_everything(weir_sem *sem)
{
	weir_sem_info info;
	int64_t got;

	CHECK_OK(weir_sem_stat(sem, &info));
	CHECK(weir_sem_available(sem) >= 0);
	CHECK(!weir_sem_is_closed(sem));
	CHECK_ERR(weir_sem_try_acquire(sem, 3), WEIR_EAGAIN);
	CHECK_ERR(weir_sem_acquire_until(sem, 3, 1), WEIR_ETIMEDOUT);
	CHECK_OK(weir_sem_drain(sem, &got));
	if (got)
		weir_sem_release(sem, got);
	CHECK_ERR(weir_sem_try_release(sem, 4), WEIR_EOVERFLOW);
	CHECK_OK(weir_sem_resize(sem, 4, NULL));
	CHECK_OK(weir_sem_resize(sem, 3, NULL));
	CHECK_IDENTITY(sem);
}

static void *use_from_another_thread(void *arg)
{
	use_everything(arg);
	return NULL;
}

static void use_it_all(const char *message)
{
	CHECK(message[0] != '\0');
	hooks++;
	use_everything(subject);
	finish(start(use_from_another_thread, subject));
}

static void misuse(weir_policy policy)
{
	weir_sem_opts opts = { .permits = 3, .policy = policy,
			       .name = "subject" };
	weir_sem sem;
	struct waiter w = { .sem = &sem, .n = 3 };
	weir_permit forged = WEIR_PERMIT_INIT;

	CHECK_OK(weir_sem_init_opts(&sem, &opts));
	CHECK_OK(weir_sem_acquire(&sem, 2, NULL));
	queue_up(&w);		/* so that there is a waiter in the queue */
	subject = &sem;
	hooks = 0;
	weir_set_panic_hook(use_it_all);
	weir_sem_release(&sem, 3);
	CHECK_EQ(hooks, 1);
	weir_sem_release(&sem, -1);
	CHECK_EQ(hooks, 2);
	/* A permit object with permits that were never acquired. */
	forged.sem_ = &sem;
	forged.n_ = 3;
	weir_permit_release(&forged);
	CHECK_EQ(hooks, 3);
	weir_set_panic_hook(NULL);
	CHECK_EQ(waiters_of(&sem), 1);
	CHECK_EQ(stat_of(&sem).held, 2);
	weir_sem_release(&sem, 2);
	CHECK_OK(result_of(&w));
	CHECK_IDENTITY(&sem);
}

TEST(c27_the_panic_hook_may_use_the_semaphore)
{
	misuse(WEIR_FIFO);
	misuse(WEIR_BARGING);
}
