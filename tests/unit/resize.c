/* SPDX-License-Identifier: MIT */
/* Waiting for idle, C20; changing the capacity, C21. */
#include "job.h"
#include "weir/async.h"

/* C20: no permit is held: it returns at once.  The ctx is checked first. */
TEST(c20_idle_already)
{
	weir_sem sem = WEIR_SEM_INIT(3), none = WEIR_SEM_INIT(0);
	weir_ctx ended = WEIR_CTX_INIT;

	CHECK_OK(weir_sem_wait_idle(&sem, NULL));
	CHECK_OK(weir_sem_wait_idle(&none, NULL));
	weir_ctx_cancel(&ended);
	CHECK_ERR(weir_sem_wait_idle(&sem, &ended), WEIR_ECANCELED);
}

/*
 * C20: it returns when the last permit is released, not before; so does every
 * waiter for idle.
 */
TEST(c20_idle_when_the_last_is_released)
{
	weir_sem sem = WEIR_SEM_INIT(3);
	weir_ctx ctx = WEIR_CTX_INIT;
	job a, b;

	CHECK_OK(weir_sem_acquire(&sem, 3, NULL));
	wait_for_idle(&a, &sem, NULL);
	wait_for_idle(&b, &sem, &ctx);
	weir_sem_release(&sem, 2);
	CHECK_EQ(oversized_of(&sem), 2);
	/* A waiter for idle blocks no other call. */
	CHECK_OK(weir_sem_try_acquire(&sem, 1));
	weir_sem_release(&sem, 1);
	CHECK_EQ(oversized_of(&sem), 2);
	weir_sem_release(&sem, 1);
	CHECK_EQ(oversized_of(&sem), 0);
	CHECK_OK(job_end(&a));
	CHECK_OK(job_end(&b));
}

/* C20: permits that are handed to a queued waiter count as held. */
TEST(c20_not_idle_while_granted)
{
	weir_sem sem = WEIR_SEM_INIT(1);
	job a, idle;

	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	queue_up(&a, &sem, 1, NULL);
	wait_for_idle(&idle, &sem, NULL);
	job_freeze(&a);
	weir_sem_release(&sem, 1);
	CHECK_EQ(oversized_of(&sem), 1);
	jobs_thaw();
	CHECK_OK(job_end(&a));
	CHECK_EQ(oversized_of(&sem), 1);
	weir_sem_release(&sem, 1);
	CHECK_OK(job_end(&idle));
}

/*
 * C20: the ctx ends the wait; an unbounded semaphore has no count of held
 * permits.
 */
TEST(c20_errors)
{
	weir_sem sem = WEIR_SEM_INIT(1), signal = WEIR_SEM_INIT_UNBOUNDED(1);
	weir_ctx ctx = WEIR_CTX_INIT, late;
	job a;

	CHECK_ERR(weir_sem_wait_idle(&signal, NULL), WEIR_EINVAL);
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	wait_for_idle(&a, &sem, &ctx);
	weir_ctx_cancel(&ctx);
	CHECK_ERR(job_end(&a), WEIR_ECANCELED);
	CHECK_OK(weir_ctx_init(&late, NULL, weir_deadline_after(100000)));
	CHECK_ERR(weir_sem_wait_idle(&sem, &late), WEIR_ETIMEDOUT);
	CHECK_EQ(oversized_of(&sem), 0);
	CHECK_OK(weir_ctx_destroy(&late));
}

/* C20: it also works after a close, and a close does not end it. */
TEST(c20_idle_after_close)
{
	weir_sem sem = WEIR_SEM_INIT(2);
	job a, b;

	CHECK_OK(weir_sem_acquire(&sem, 2, NULL));
	wait_for_idle(&a, &sem, NULL);
	weir_sem_close(&sem, WEIR_CLOSE_NOW);
	wait_for_idle(&b, &sem, NULL);
	CHECK_EQ(oversized_of(&sem), 2);
	weir_sem_release(&sem, 1);
	CHECK_EQ(oversized_of(&sem), 2);
	weir_sem_release(&sem, 1);
	CHECK_OK(job_end(&a));
	CHECK_OK(job_end(&b));
}

/* C21: an unbounded semaphore has no capacity to decrease; it stays usable. */
TEST(c21_forget_of_an_unbounded_semaphore)
{
	weir_sem sem = WEIR_SEM_INIT_UNBOUNDED(1);
	size_t waiters = 1;

	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	CHECK_OK(weir_sem_forget(&sem, 1));
	/* This call takes the lock. */
	CHECK_OK(weir_sem_waiters(&sem, NULL, 0, &waiters));
	CHECK_EQ(waiters, 0);
	CHECK_OK(weir_sem_destroy(&sem));
}

/* C20, C21: forgetting held permits, or paying a debt, leads to idle too. */
TEST(c20_idle_by_forgetting)
{
	weir_sem sem = WEIR_SEM_INIT(3);
	int64_t debt = 7;
	job a;

	CHECK_OK(weir_sem_acquire(&sem, 3, NULL));
	CHECK_OK(weir_sem_resize(&sem, 1, &debt));
	CHECK_EQ(debt, 2);
	wait_for_idle(&a, &sem, NULL);
	weir_sem_release(&sem, 2);
	CHECK_EQ(oversized_of(&sem), 1);
	CHECK_OK(weir_sem_forget(&sem, 1));
	CHECK_OK(job_end(&a));
	CHECK_EQ(stat_of(&sem).capacity, 0);
	CHECK_IDENTITY(&sem);
}

/* C21: growth takes effect at once and grants in order. */
TEST(c21_growth_grants)
{
	weir_sem sem = WEIR_SEM_INIT(2);
	int64_t debt = 7;
	job a, b, c;

	CHECK_OK(weir_sem_acquire(&sem, 2, NULL));
	queue_up(&a, &sem, 2, NULL);
	queue_up(&b, &sem, 1, NULL);
	queue_up(&c, &sem, 1, NULL);
	CHECK_OK(weir_sem_resize(&sem, 5, &debt));
	CHECK_EQ(debt, 0);
	CHECK_EQ(waiters_of(&sem), 1);
	CHECK_OK(job_end(&a));
	CHECK_OK(job_end(&b));
	CHECK_OK(weir_sem_resize(&sem, 7, NULL));
	CHECK_OK(job_end(&c));
	CHECK_EQ(weir_sem_available(&sem), 1);
	CHECK_IDENTITY(&sem);
}

/* C21: a shrink below the held permits is a debt; releases pay it first. */
TEST(c21_shrink_leaves_a_debt)
{
	weir_sem sem = WEIR_SEM_INIT(6);
	int64_t debt = 7;
	job a;

	CHECK_OK(weir_sem_acquire(&sem, 5, NULL));
	CHECK_OK(weir_sem_resize(&sem, 5, &debt));
	CHECK_EQ(debt, 0);
	CHECK_EQ(weir_sem_available(&sem), 0);
	CHECK_OK(weir_sem_resize(&sem, 2, &debt));
	CHECK_EQ(debt, 3);
	CHECK_EQ(stat_of(&sem).debt, 3);
	CHECK_EQ(stat_of(&sem).held, 5);
	CHECK_EQ(weir_sem_available(&sem), 0);
	/* C8: the held permits are compared, not the debt. */
	CHECK_ERR(weir_sem_try_release(&sem, 6), WEIR_EOVERFLOW);
	CHECK_PANICS("5 held (capacity 2, free 0)",
		     weir_sem_release(&sem, 6));
	queue_up(&a, &sem, 1, NULL);
	/* C2: a request for 0 never waits. */
	CHECK_OK(weir_sem_try_acquire(&sem, 0));
	weir_sem_release(&sem, 2);
	CHECK_EQ(stat_of(&sem).debt, 1);
	CHECK_EQ(waiters_of(&sem), 1);
	weir_sem_release(&sem, 1);
	CHECK_EQ(stat_of(&sem).debt, 0);
	CHECK_EQ(waiters_of(&sem), 1);
	weir_sem_release(&sem, 2);
	CHECK_OK(job_end(&a));
	CHECK_EQ(weir_sem_available(&sem), 1);
	/* All five are accounted for: one is held, no more can be released. */
	CHECK_ERR(weir_sem_try_release(&sem, 2), WEIR_EOVERFLOW);
	CHECK_IDENTITY(&sem);
}

/* C21: growth cancels a debt before it frees permits. */
TEST(c21_growth_cancels_debt)
{
	weir_sem sem = WEIR_SEM_INIT(4);
	int64_t debt = 7;

	CHECK_OK(weir_sem_acquire(&sem, 4, NULL));
	CHECK_OK(weir_sem_resize(&sem, 0, &debt));
	CHECK_EQ(debt, 4);
	CHECK_OK(weir_sem_resize(&sem, 3, &debt));
	CHECK_EQ(debt, 1);
	CHECK_OK(weir_sem_resize(&sem, 6, &debt));
	CHECK_EQ(debt, 0);
	CHECK_EQ(weir_sem_available(&sem), 2);
	CHECK_OK(weir_sem_resize(&sem, WEIR_SEM_MAX, NULL));
	CHECK_EQ(weir_sem_available(&sem), WEIR_SEM_MAX - 4);
	CHECK_IDENTITY(&sem);
}

/* C21: the capacity is absolute, so repeating a resize changes nothing. */
TEST(c21_resize_is_absolute)
{
	weir_sem sem = WEIR_SEM_INIT(4), signal = WEIR_SEM_INIT_UNBOUNDED(4);

	CHECK_OK(weir_sem_resize(&sem, 7, NULL));
	CHECK_OK(weir_sem_resize(&sem, 7, NULL));
	CHECK_EQ(stat_of(&sem).capacity, 7);
	CHECK_EQ(weir_sem_available(&sem), 7);
	CHECK_ERR(weir_sem_resize(&signal, 5, NULL), WEIR_EINVAL);
	CHECK_EQ(weir_sem_available(&signal), 4);
}

/* C21: forget removes held permits from the capacity permanently. */
TEST(c21_forget)
{
	weir_sem sem = WEIR_SEM_INIT(5), signal = WEIR_SEM_INIT_UNBOUNDED(5);

	CHECK_OK(weir_sem_acquire(&sem, 3, NULL));
	CHECK_ERR(weir_sem_forget(&sem, 4), WEIR_EOVERFLOW);
	CHECK_OK(weir_sem_forget(&sem, 0));
	CHECK_EQ(stat_of(&sem).capacity, 5);
	CHECK_OK(weir_sem_forget(&sem, 2));
	CHECK_EQ(stat_of(&sem).capacity, 3);
	CHECK_EQ(stat_of(&sem).held, 1);
	CHECK_EQ(weir_sem_available(&sem), 2);
	CHECK_ERR(weir_sem_try_release(&sem, 2), WEIR_EOVERFLOW);
	weir_sem_release(&sem, 1);
	CHECK_EQ(weir_sem_available(&sem), 3);
	CHECK_ERR(weir_sem_acquire(&sem, 4, NULL), WEIR_ETOOBIG);
	CHECK_OK(weir_sem_forget(&signal, 3));
	CHECK_EQ(weir_sem_available(&signal), 5);
}

/* C21: forgotten permits pay a debt first. */
TEST(c21_forget_pays_debt)
{
	weir_sem sem = WEIR_SEM_INIT(5);

	CHECK_OK(weir_sem_acquire(&sem, 5, NULL));
	CHECK_OK(weir_sem_resize(&sem, 3, NULL));
	CHECK_OK(weir_sem_forget(&sem, 1));
	CHECK_EQ(stat_of(&sem).debt, 1);
	CHECK_EQ(stat_of(&sem).capacity, 3);
	CHECK_OK(weir_sem_forget(&sem, 3));
	CHECK_EQ(stat_of(&sem).debt, 0);
	CHECK_EQ(stat_of(&sem).capacity, 1);
	CHECK_EQ(stat_of(&sem).held, 1);
	CHECK_IDENTITY(&sem);
}

/* C21: an unbounded semaphore has no capacity to lower; a BARGING one has. */
TEST(c21_forget_of_every_kind)
{
	weir_sem signal = WEIR_SEM_INIT_UNBOUNDED(0);
	weir_sem barging = WEIR_SEM_INIT_BARGING(5);

	CHECK_OK(weir_sem_forget(&signal, 3));
	weir_sem_release(&signal, WEIR_SEM_MAX);
	CHECK_EQ(weir_sem_available(&signal), WEIR_SEM_MAX);
	CHECK_OK(weir_sem_acquire(&barging, 2, NULL));
	CHECK_OK(weir_sem_forget(&barging, 2));
	CHECK_EQ(stat_of(&barging).capacity, 3);
	CHECK_EQ(stat_of(&barging).held, 0);
}

/* C11, C21: forget can lower the capacity below a waiter's weight. */
TEST(c21_forget_under_a_waiter)
{
	weir_sem sem = WEIR_SEM_INIT(4);
	job four, two;

	CHECK_OK(weir_sem_acquire(&sem, 2, NULL));
	queue_up(&four, &sem, 4, NULL);
	queue_up(&two, &sem, 2, NULL);
	CHECK_OK(weir_sem_forget(&sem, 1));
	CHECK_ERR(job_end(&four), WEIR_ETOOBIG);
	CHECK_OK(job_end(&two));
	CHECK_EQ(stat_of(&sem).held, 3);
	CHECK_IDENTITY(&sem);
}

/* C21: a relative resize, in one step: results, debt and waiters. */
TEST(c21_resize_by)
{
	weir_sem sem = WEIR_SEM_INIT(3), signal = WEIR_SEM_INIT_UNBOUNDED(0);
	weir_ctx ctx = WEIR_CTX_INIT;
	int64_t debt = 7;
	job a, big;

	CHECK_OK(weir_sem_acquire(&sem, 3, NULL));
	queue_up(&a, &sem, 1, NULL);
	wait_oversized(&big, &sem, 5, &ctx);
	CHECK_OK(weir_sem_resize_by(&sem, 1, &debt));
	CHECK_EQ(debt, 0);
	CHECK_OK(job_end(&a));
	CHECK_OK(weir_sem_resize_by(&sem, -3, &debt));
	CHECK_EQ(debt, 3);
	CHECK_EQ(stat_of(&sem).capacity, 1);
	CHECK_IDENTITY(&sem);
	CHECK_ERR(weir_sem_resize_by(&sem, -2, &debt), WEIR_EINVAL);
	CHECK_ERR(weir_sem_resize_by(&sem, WEIR_SEM_MAX, &debt), WEIR_EINVAL);
	CHECK_ERR(weir_sem_resize_by(&sem, INT64_MIN, &debt), WEIR_EINVAL);
	CHECK_ERR(weir_sem_resize_by(&sem, INT64_MAX, &debt), WEIR_EINVAL);
	CHECK_ERR(weir_sem_resize_by(NULL, 1, &debt), WEIR_EINVAL);
	CHECK_ERR(weir_sem_resize_by(&signal, 1, &debt), WEIR_EINVAL);
	CHECK_EQ(stat_of(&sem).capacity, 1);
	CHECK_OK(weir_sem_resize_by(&sem, 0, NULL));
	CHECK_OK(weir_sem_resize_by(&sem, -1, NULL));
	CHECK_OK(weir_sem_resize_by(&sem, WEIR_SEM_MAX, &debt));
	CHECK_OK(job_end(&big));
	CHECK_EQ(stat_of(&sem).held, 9);
	CHECK_OK(weir_ctx_destroy(&ctx));
	CHECK_OK(weir_sem_resize_by(&sem, -WEIR_SEM_MAX, &debt));
	CHECK_EQ(debt, 9);
}

static void *add_and_remove(void *arg)
{
	for (int i = 0; i < 2000; i++) {
		CHECK_OK(weir_sem_resize_by(arg, 3, NULL));
		CHECK_OK(weir_sem_resize_by(arg, -2, NULL));
	}
	return NULL;
}

/* C21, C24: relative resizes of several threads add up. */
TEST(c21_resize_by_loses_nothing)
{
	weir_sem sem = WEIR_SEM_INIT(5);
	check_thread a = start(add_and_remove, &sem);
	check_thread b = start(add_and_remove, &sem);

	finish(a);
	finish(b);
	CHECK_EQ(stat_of(&sem).capacity, 4005);
	CHECK_EQ(weir_sem_available(&sem), 4005);
}

/*
 * C11: an operation on a watched semaphore leaves the queue at a shrink, and
 * joins it again at a growth.
 */
TEST(c11_resizes_move_an_operation)
{
	weir_sem_opts opts = { .permits = 3, .name = "resized" };
	weir_ctx ctx = WEIR_CTX_INIT;
	weir_sem sem;
	weir_op op;

	CHECK_OK(weir_sem_init_opts(&sem, &opts));
	CHECK_OK(weir_sem_acquire(&sem, 3, NULL));
	weir_op_init(&op, NULL, NULL, NULL);
	CHECK_ERR(weir_op_submit(&op, &sem, 3, &ctx), WEIR_EQUEUED);
	CHECK_OK(weir_sem_resize(&sem, 2, NULL));
	CHECK_EQ(oversized_of(&sem), 1);
	CHECK_EQ(stat_of(&sem).waiters, 0);
	CHECK_OK(weir_sem_resize(&sem, 3, NULL));
	CHECK_EQ(oversized_of(&sem), 0);
	CHECK_EQ(stat_of(&sem).waiters, 1);
	weir_sem_release(&sem, 3);
	CHECK_OK(weir_op_poll(&op));
	weir_sem_release(&sem, 3);
	CHECK_OK(weir_sem_destroy(&sem));
}
