/* SPDX-License-Identifier: MIT */
/* C27: user code, here the panic hook, runs with no lock held. */
#include "job.h"

static weir_sem sem;
static int calls, depth, deepest;

static void use_it(const char *message)
{
	int64_t got = 0;
	job a;

	(void)message;
	calls++;
	if (++depth > deepest)
		deepest = depth;
	/* Every call that takes the lock, on this thread and on another. */
	CHECK_IDENTITY(&sem);
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	CHECK_OK(weir_sem_resize(&sem, 3, NULL));
	CHECK_OK(weir_sem_drain(&sem, &got));
	queue_up(&a, &sem, 1, NULL);
	weir_sem_release(&sem, 1);
	CHECK_OK(job_end(&a));
	weir_sem_release(&sem, got + 1);
	CHECK_OK(weir_sem_resize(&sem, 2, NULL));
	depth--;
}

/* C27, C8: an over-release on the fast path. */
TEST(c27_the_hook_may_use_the_semaphore)
{
	weir_panic_fn *before = weir_set_panic_hook(use_it);

	CHECK_OK(weir_sem_init(&sem, 2));
	weir_sem_release(&sem, 1);
	CHECK_EQ(calls, 1);
	weir_sem_release(&sem, -1);
	CHECK_EQ(calls, 2);
	CHECK_EQ(deepest, 1);
	CHECK_EQ(weir_sem_available(&sem), 2);
	weir_set_panic_hook(before);
}

static void use_it_behind_a_queue(const char *message)
{
	(void)message;
	calls++;
	CHECK_IDENTITY(&sem);
	CHECK_ERR(weir_sem_try_acquire(&sem, 1), WEIR_EAGAIN);
	CHECK_ERR(weir_sem_acquire_until(&sem, 1, 0), WEIR_ETIMEDOUT);
	CHECK_ERR(weir_sem_destroy(&sem), WEIR_EBUSY);
	weir_sem_release(&sem, 1);	/* grants the waiter */
}

TEST(c27_the_hook_may_grant)
{
	weir_panic_fn *before;
	job a;

	CHECK_OK(weir_sem_init(&sem, 2));
	CHECK_OK(weir_sem_acquire(&sem, 2, NULL));
	queue_up(&a, &sem, 1, NULL);
	calls = 0;
	before = weir_set_panic_hook(use_it_behind_a_queue);
	weir_sem_release(&sem, 3);
	weir_set_panic_hook(before);
	CHECK_EQ(calls, 1);
	CHECK_OK(job_end(&a));
	CHECK_EQ(stat_of(&sem).held, 2);
}

static void release_too_much(const char *message)
{
	(void)message;
	calls++;
	if (++depth < 3)
		weir_sem_release(&sem, 9);
	depth--;
}

/* C27: a hook that panics itself is called again, and the recursion ends. */
TEST(c27_a_hook_that_panics)
{
	weir_panic_fn *before = weir_set_panic_hook(release_too_much);

	CHECK_OK(weir_sem_init(&sem, 2));
	calls = depth = 0;
	weir_sem_release(&sem, 9);
	weir_set_panic_hook(before);
	CHECK_EQ(calls, 3);
	CHECK_EQ(weir_sem_available(&sem), 2);
}
