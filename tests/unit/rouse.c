/* SPDX-License-Identifier: MIT */
/*
 * Rousing: whether a FIFO hand-off wakes the waiter behind the granted one, and
 * how the semaphore learns whether that pays (src/core/sem_rouse.c).
 */
#include <sched.h>

#include "base/atomic.h"
#include "core/sem_grant.h"
#include "core/sem_lock.h"
#include "core/sem_queue.h"
#include "core/sem_word.h"
#include "job.h"

int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set);
int __wrap_sched_getcpu(void);

/* Two CPUs, also on a machine with one. */
int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set)
{
	(void)pid;
	CPU_ZERO_S(size, set);
	CPU_SET_S(0, size, set);
	CPU_SET_S(1, size, set);
	return 0;
}

static bool one_cpu;

/* Each call comes from another CPU than the call before, unless one_cpu. */
int __wrap_sched_getcpu(void)
{
	static uint32_t calls;

	/* relaxed: both; no memory is ordered by them. */
	return at_load_relaxed(&one_cpu) ? 0 :
	       (int)(at_add_relaxed(&calls, 1) % 2);
}

struct seen {
	uint32_t state;
	bool roused;
};

/* The last waiter of the queue. */
static struct seen last_waiter(weir_sem *sem)
{
	struct seen seen = { WEIR_WAITING_, false };

	CHECK_OK(weir_sem_lock_(sem, "test"));
	if (sem->queue_) {
		struct weir_waiter_ *w = weir_waiter_of_(sem->queue_->prev_);

		/* relaxed: the test waits for the value. */
		seen.state = at_load_relaxed(&w->state);
		seen.roused = w->roused;
	}
	weir_sem_unlock_(sem, 0);
	return seen;
}

static void queue_asleep(job *j, weir_sem *sem)
{
	queue_up(j, sem, 1, NULL);
	AWAIT(last_waiter(sem).state == WEIR_SLEEPING_);
}

static uint32_t failures_of(weir_sem *sem)
{
	return weir_state_(sem) >> 8 & 7;
}

static uint32_t skips_of(weir_sem *sem)
{
	return (weir_state_(sem) & WEIR_STATE_ROUSING_) >> 11;
}

/*
 * The caller's permit goes to a first waiter, which keeps it until the second one
 * sleeps, and then to the second.  Returns true if the second was roused.
 */
static bool pass_on_slowly(weir_sem *sem)
{
	job first, second;
	bool roused;

	queue_asleep(&first, sem);
	queue_asleep(&second, sem);
	weir_sem_release(sem, 1);
	CHECK_OK(job_end(&first));
	AWAIT(last_waiter(sem).state == WEIR_SLEEPING_);
	roused = last_waiter(sem).roused;
	weir_sem_release(sem, 1);
	CHECK_OK(job_end(&second));
	return roused;
}

/* The same; the second waiter gets a permit at once. */
static void pass_on_fast(weir_sem *sem)
{
	job first, second;

	queue_asleep(&first, sem);
	queue_asleep(&second, sem);
	weir_sem_release(sem, 1);
	weir_sem_release(sem, 1);
	CHECK_OK(job_end(&first));
	CHECK_OK(job_end(&second));
}

TEST(rousing_that_fails_becomes_rare)
{
	weir_sem sem = WEIR_SEM_INIT(2);
	uint32_t most = 0;

	CHECK_OK(weir_sem_acquire(&sem, 2, NULL));
	for (uint32_t known = 0; known < 8; ) {
		uint32_t failures = failures_of(&sem), skips = skips_of(&sem);
		bool roused = pass_on_slowly(&sem);

		CHECK(!roused || !skips);
		if (skips) {
			CHECK_EQ(failures_of(&sem), failures);
			CHECK_EQ(skips_of(&sem), skips - 1);
		} else if (roused) {
			CHECK_EQ(failures_of(&sem),
				 failures < 6 ? failures + 1 : 6);
			CHECK_EQ(skips_of(&sem),
				 (1u << failures_of(&sem)) - 1);
			known++;
		}
		if (skips_of(&sem) > most)
			most = skips_of(&sem);
	}
	CHECK_EQ(most, 63);
	/* A success ends it. */
	while (failures_of(&sem))
		pass_on_fast(&sem);
	CHECK_EQ(skips_of(&sem), 0);
	weir_sem_release(&sem, 2);
	CHECK_OK(weir_sem_destroy(&sem));
}

TEST(none_is_roused_on_the_cpu_of_the_releasing_thread)
{
	weir_sem sem = WEIR_SEM_INIT(2);

	/* relaxed: the threads start later. */
	at_store_relaxed(&one_cpu, true);
	CHECK_OK(weir_sem_acquire(&sem, 2, NULL));
	CHECK(!pass_on_slowly(&sem));
	at_store_relaxed(&one_cpu, false);
	weir_sem_release(&sem, 2);
	CHECK_OK(weir_sem_destroy(&sem));
}

/* C7: a cancel of a waiter that is not the head wakes no other waiter. */
TEST(c7_a_cancel_rouses_no_waiter)
{
	weir_sem sem = WEIR_SEM_INIT(1);
	job first, second;
	weir_ctx ctx;

	CHECK_OK(weir_ctx_init(&ctx, NULL, WEIR_FOREVER));
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	queue_asleep(&first, &sem);
	queue_up(&second, &sem, 1, &ctx);
	weir_ctx_cancel(&ctx);
	CHECK_ERR(job_end(&second), WEIR_ECANCELED);
	CHECK(!last_waiter(&sem).roused);
	weir_sem_release(&sem, 1);
	CHECK_OK(job_end(&first));
	weir_sem_release(&sem, 1);
	CHECK_OK(weir_ctx_destroy(&ctx));
	CHECK_OK(weir_sem_destroy(&sem));
}

/*
 * BARGING: the bound is where FIFO records the failures.  A waiter that is
 * overdue is granted, and the one behind it is not roused.
 */
TEST(c30_a_barging_hand_off_rouses_no_waiter)
{
	weir_sem_opts opts = { .permits = 2, .policy = WEIR_BARGING,
			       .barge_us = 1 };
	weir_sem sem;
	uint32_t state;

	CHECK_OK(weir_sem_init_opts(&sem, &opts));
	state = weir_state_(&sem);
	CHECK_OK(weir_sem_acquire(&sem, 2, NULL));
	for (int i = 0; i < 4; i++)
		CHECK(!pass_on_slowly(&sem));
	CHECK_EQ(weir_state_(&sem), state);
	weir_sem_release(&sem, 2);
	CHECK_OK(weir_sem_destroy(&sem));
}

TEST(an_interruptible_waiter_is_roused)
{
	weir_sem_opts opts = { .permits = 2, .flags = WEIR_SEM_INTERRUPTIBLE };
	weir_sem sem;

	CHECK_OK(weir_sem_init_opts(&sem, &opts));
	CHECK_OK(weir_sem_acquire(&sem, 2, NULL));
	while (!pass_on_slowly(&sem))
		;
	weir_sem_release(&sem, 2);
	CHECK_OK(weir_sem_destroy(&sem));
}

/*
 * C6: a list has one roused waiter.  The wake of a second one would replace that
 * of the first, which sleeps until then even if it has been notified.
 */
TEST(c6_one_waiter_of_a_list_is_roused)
{
	struct weir_waiter_ one = { .state = WEIR_SLEEPING_ };
	struct weir_waiter_ other = { .state = WEIR_SLEEPING_ };
	struct weir_to_notify_ to_notify = { .first = NULL };

	weir_waiter_rouse_(&one, &to_notify);
	weir_waiter_rouse_(&other, &to_notify);
	CHECK(to_notify.roused == &one.state);
	CHECK_EQ(one.state, WEIR_ROUSED_);
	CHECK_EQ(other.state, WEIR_SLEEPING_);
	CHECK(!other.roused);
	weir_wake_roused_(&to_notify);
	CHECK(!to_notify.roused);
	/* A waiter is roused once. */
	one.state = WEIR_SLEEPING_;
	weir_waiter_rouse_(&one, &to_notify);
	CHECK(!to_notify.roused);
	CHECK_EQ(one.state, WEIR_SLEEPING_);
}
