/* SPDX-License-Identifier: MIT */
/* Signals and thread cancellation, C18; bounded queues, C31. */
#include <signal.h>

#include "job.h"

static int handled;

static void note(int signal)
{
	(void)signal;
	__atomic_add_fetch(&handled, 1, __ATOMIC_SEQ_CST);
}

static void catch_signal(void)
{
	/* Without SA_RESTART the kernel interrupts the wait. */
	struct sigaction action = { .sa_handler = note };

	CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
	__atomic_store_n(&handled, 0, __ATOMIC_SEQ_CST);
}

static void signal_and_await(job *j)
{
	int before = __atomic_load_n(&handled, __ATOMIC_SEQ_CST);

	AWAIT(job_asleep(j));
	CHECK_EQ(pthread_kill(j->thread.id, SIGUSR1), 0);
	AWAIT(__atomic_load_n(&handled, __ATOMIC_SEQ_CST) == before + 1);
}

/* C18: a signal is handled and the wait goes on, at its place. */
TEST(c18_signals_do_not_end_a_wait)
{
	weir_sem sem = WEIR_SEM_INIT(1);
	weir_ctx ctx = WEIR_CTX_INIT;
	job a, b, idle;

	catch_signal();
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	queue_up(&a, &sem, 1, NULL);
	queue_up(&b, &sem, 1, &ctx);
	wait_for_idle(&idle, &sem, NULL);
	for (int i = 0; i < 20; i++) {
		signal_and_await(&a);
		signal_and_await(&b);
		signal_and_await(&idle);
	}
	AWAIT(job_asleep(&a) && job_asleep(&b) && job_asleep(&idle));
	CHECK_EQ(waiters_of(&sem), 2);
	CHECK_EQ(oversized_of(&sem), 1);
	weir_sem_release(&sem, 1);
	CHECK_OK(job_end(&a));
	CHECK(!job_done(&b));
	weir_sem_release(&sem, 1);
	CHECK_OK(job_end(&b));
	weir_sem_release(&sem, 1);
	CHECK_OK(job_end(&idle));
}

/*
 * C18: with INTERRUPTIBLE the wait ends like after any other failure: when the
 * head leaves, the next waiter is granted (C7, C16).
 */
TEST(c18_interruptible_returns_on_a_signal)
{
	weir_sem_opts opts = { .permits = 2, .flags = WEIR_SEM_INTERRUPTIBLE };
	weir_sem sem;
	job heavy, light;

	catch_signal();
	CHECK_OK(weir_sem_init_opts(&sem, &opts));
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	queue_up(&heavy, &sem, 2, NULL);
	queue_up(&light, &sem, 1, NULL);
	signal_and_await(&heavy);
	CHECK_ERR(job_end(&heavy), WEIR_EINTR);
	CHECK_OK(job_end(&light));
	CHECK_EQ(stat_of(&sem).held, 2);
	CHECK_EQ(waiters_of(&sem), 0);
}

/* C14, C18: a grant wins over a later signal. */
TEST(c18_a_grant_beats_a_signal)
{
	weir_sem_opts opts = { .permits = 1, .flags = WEIR_SEM_INTERRUPTIBLE };
	weir_sem sem;
	job a;

	CHECK_OK(weir_sem_init_opts(&sem, &opts));
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	queue_up(&a, &sem, 1, NULL);
	CHECK(job_freeze(&a));	/* by a signal */
	weir_sem_release(&sem, 1);
	jobs_thaw();
	CHECK_OK(job_end(&a));
}

struct victim {
	weir_sem *sem;
	weir_err err;
	bool returned;
};

static void *acquire_then_cancel_point(void *arg)
{
	struct victim *v = arg;

	v->err = weir_sem_acquire(v->sem, 1, NULL);
	v->returned = true;
	pthread_testcancel();
	return NULL;
}

/* C18: acquire is not a cancellation point, waiting or not. */
TEST(c18_pthread_cancel_does_not_end_a_wait)
{
	weir_sem sem = WEIR_SEM_INIT(1);
	struct victim v = { .sem = &sem };
	check_thread thread;

	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	thread = start(acquire_then_cancel_point, &v);
	AWAIT(waiters_of(&sem) == 1);
	CHECK_EQ(pthread_cancel(thread.id), 0);
	CHECK_EQ(waiters_of(&sem), 1);
	weir_sem_release(&sem, 1);
	CHECK(finish(thread) == PTHREAD_CANCELED);
	CHECK(v.returned);
	CHECK_OK(v.err);
	CHECK_EQ(stat_of(&sem).held, 1);
}

static void *acquire_with_cancel_pending(void *arg)
{
	struct victim *v = arg;

	pthread_cancel(pthread_self());
	return acquire_then_cancel_point(v);
}

/* C18: also if the cancellation was pending before and permits are free. */
TEST(c18_pending_cancel_and_free_permits)
{
	weir_sem sem = WEIR_SEM_INIT(1);
	struct victim v = { .sem = &sem };

	CHECK(finish(start(acquire_with_cancel_pending, &v)) ==
	      PTHREAD_CANCELED);
	CHECK(v.returned);
	CHECK_OK(v.err);
	CHECK_EQ(stat_of(&sem).held, 1);
}

/* C31: with a full queue WEIR_EBUSY at once; room again after one leaves. */
TEST(c31_max_waiters)
{
	weir_sem_opts opts = { .permits = 1, .max_waiters = 2 };
	weir_sem sem;
	weir_ctx ctx = WEIR_CTX_INIT;
	int64_t got = 7;
	job a, b, c, big, idle;

	CHECK_OK(weir_sem_init_opts(&sem, &opts));
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	queue_up(&a, &sem, 1, &ctx);
	queue_up(&b, &sem, 1, NULL);
	CHECK_ERR(weir_sem_acquire(&sem, 1, NULL), WEIR_EBUSY);
	CHECK_ERR(weir_sem_acquire_for(&sem, 1, INT64_MAX), WEIR_EBUSY);
	CHECK_ERR(weir_sem_acquire_upto(&sem, 1, 1, NULL, &got), WEIR_EBUSY);
	CHECK_EQ(got, 0);
	CHECK_ERR(weir_sem_try_acquire(&sem, 1), WEIR_EAGAIN);
	CHECK_OK(weir_sem_acquire(&sem, 0, NULL));
	/* Oversized waiters do not count. */
	wait_oversized(&big, &sem, 2, &ctx);
	wait_for_idle(&idle, &sem, NULL);
	weir_ctx_cancel(&ctx);
	CHECK_ERR(job_end(&a), WEIR_ECANCELED);
	CHECK_ERR(job_end(&big), WEIR_ECANCELED);
	queue_up(&c, &sem, 1, NULL);
	CHECK_ERR(weir_sem_acquire(&sem, 1, NULL), WEIR_EBUSY);
	weir_sem_release(&sem, 1);
	CHECK_OK(job_end(&b));
	weir_sem_release(&sem, 1);
	CHECK_OK(job_end(&c));
	weir_sem_release(&sem, 1);
	CHECK_OK(job_end(&idle));
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
}
