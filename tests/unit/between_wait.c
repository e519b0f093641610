/* SPDX-License-Identifier: MIT */
/* Between the steps of a wait: enqueue, park, notification, timeout. */
#include "between.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cpu.h"
#include "core/sem_grant.h"
#include "core/sem_lock.h"
#include "core/sem_wait.h"

static void release_one(void *sem)
{
	weir_sem_release(sem, 1);
}

static void acquire_one_held(weir_sem *sem)
{
	CHECK_OK(weir_sem_init(sem, 1));
	CHECK_OK(weir_sem_acquire(sem, 1, NULL));
}

static void *granted_before(void *moment)
{
	weir_sem sem;

	acquire_one_held(&sem);
	before(moment, 1, release_one, &sem);
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	happened();
	CHECK_EQ(stat_of(&sem).held, 1);
	return NULL;
}

/*
 * C6: a waiter is granted while it spins, and just before it parks.  Each on
 * its own thread: a thread that has spun without success does not spin the next
 * time.
 */
TEST(c6_granted_before_it_sleeps)
{
	char spinning[] = "take_notification", parking[] = "announce_sleep";

	finish(start(granted_before, spinning));
	finish(start(granted_before, parking));
}

static void come_to_the_deadline(void *unused)
{
	(void)unused;
	pass_seconds(20);
}

/* C17: many timed-out waits of a thread do not change how it waits. */
TEST(c17_many_timed_out_waits)
{
	const int64_t ten_seconds = 10000000000;
	weir_sem sem;

	acquire_one_held(&sem);
	for (int i = 0; i < 300; i++) {
		before("take_notification", 1, come_to_the_deadline, NULL);
		CHECK_ERR(weir_sem_acquire_for(&sem, 1, ten_seconds),
			  WEIR_ETIMEDOUT);
		happened();
	}
	before("take_notification", 1, release_one, &sem);
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	happened();
}

/*
 * C14, C18: a wait whose CAS to announce the sleep fails spuriously, and that
 * is then woken spuriously, which is not a signal, lasts until its deadline.
 * It sleeps and does not loop (C28).
 */
TEST(c14_spurious_wake_up)
{
	weir_sem_opts opts = { .permits = 1, .flags = WEIR_SEM_INTERRUPTIBLE };
	weir_sem sem;

	CHECK_OK(weir_sem_init_opts(&sem, &opts));
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	fail_cas("announce_sleep");
	set_next_sleep(SPURIOUS_WAKE);
	/*
	 * If the deadline passed before it could sleep, retry with more time.
	 */
	for (int64_t ns = 1000000; !between_is_done(); ns *= 2) {
		int64_t deadline = weir_deadline_after(ns);
		int slept = sleeps();

		CHECK_ERR(weir_sem_acquire_until(&sem, 1, deadline),
			  WEIR_ETIMEDOUT);
		CHECK(weir_now_ns() >= deadline);
		CHECK(sleeps() < slept + 10);
	}
}

static int handled;

static void note(int signal)
{
	(void)signal;
	__atomic_add_fetch(&handled, 1, __ATOMIC_SEQ_CST);
}

/* Interrupt j and wait until it sleeps again. */
static void interrupt(job *j)
{
	int now = __atomic_load_n(&handled, __ATOMIC_SEQ_CST);

	CHECK_EQ(pthread_kill(j->thread.id, SIGUSR1), 0);
	AWAIT(__atomic_load_n(&handled, __ATOMIC_SEQ_CST) == now + 1);
	AWAIT(job_asleep(j));
}

/*
 * A waiter that is granted but not notified must wait for the notification,
 * which accesses its stack, whatever wakes it.
 */
static void interrupt_often(void *j)
{
	interrupt(j);		/* ends the wait; it awaits notification */
	interrupt(j);
	interrupt(j);
}

/* C14, C18: the grant wins. */
TEST(c18_interrupted_between_grant_and_notification)
{
	weir_sem_opts opts = { .permits = 1, .flags = WEIR_SEM_INTERRUPTIBLE };
	struct sigaction action = { .sa_handler = note };
	weir_sem sem;
	job a;

	CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
	CHECK_OK(weir_sem_init_opts(&sem, &opts));
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	queue_up(&a, &sem, 1, NULL);
	before("notify_each", 1, interrupt_often, &a);
	weir_sem_release(&sem, 1);
	happened();
	CHECK_OK(job_end(&a));
	CHECK_EQ(stat_of(&sem).held, 1);
	CHECK_EQ(stat_of(&sem).granted, 0);
}

static void take_in_passing(void *sem)
{
	weir_sem_release(sem, 1);	/* wakes the enqueueing waiter */
	CHECK_OK(weir_sem_try_acquire(sem, 1));
	pass_seconds(60);
	/* Now it is overdue: no request passes it any more. */
	CHECK_IDENTITY(sem);
	weir_sem_release(sem, 1);
	CHECK_ERR(weir_sem_try_acquire(sem, 1), WEIR_EAGAIN);
}

/*
 * C30: a waiter is woken to retry, passed by another request, and overdue when
 * it runs.
 */
TEST(c30_overdue_after_the_wake_up)
{
	weir_sem_opts opts = { .permits = 1, .policy = WEIR_BARGING,
			       .barge_us = WEIR_BARGE_US_MAX };
	weir_sem sem;

	CHECK_OK(weir_sem_init_opts(&sem, &opts));
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	before_cas("announce_sleep", take_in_passing, &sem);
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	happened();
	CHECK_EQ(stat_of(&sem).held, 1);
}

static void nothing(void *unused)
{
	(void)unused;
}

static void arm_at_the_lock(void *unused)
{
	before("try_lock", 1, nothing, unused);
}

/* Wakes the head, which is about to park. */
static void release_and_arm(void *sem)
{
	weir_sem_release(sem, 1);
	before("weir_sem_take_first_", 1, arm_at_the_lock, NULL);
}

/*
 * C28, C30: a woken head takes the free permits and returns; it does not take
 * the lock a second time.
 */
TEST(c30_woken_once)
{
	weir_sem_opts opts = { .permits = 1, .policy = WEIR_BARGING,
			       .barge_us = WEIR_BARGE_US_MAX };
	weir_sem sem;

	CHECK_OK(weir_sem_init_opts(&sem, &opts));
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	before_cas("announce_sleep", release_and_arm, &sem);
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	CHECK(!between_is_done());
	weir_sem_release(&sem, 1);
	CHECK_OK(weir_sem_destroy(&sem));
	happened();
}

/* The waiting thread, and the waiter that gets ahead of it. */
static job self, ahead;

static void *thaw_when_it_sleeps(void *unused)
{
	AWAIT(job_asleep(&self));
	jobs_thaw();
	return unused;
}

static void move_to_the_tail(void *sem)
{
	queue_up_releasing(&ahead, sem, 1);
	CHECK(job_freeze(&ahead));
	/* Wakes the head, which is about to park. */
	weir_sem_release(sem, 2);
	CHECK_OK(weir_sem_resize(sem, 1, NULL));
	CHECK_EQ(oversized_of(sem), 1);
	/*
	 * The waiter ahead does not run: it is granted directly, so it blocks
	 * none.
	 */
	CHECK_OK(weir_sem_resize(sem, 2, NULL));
	CHECK_EQ(waiters_of(sem), 1);
	self.tid = (int)syscall(SYS_gettid);
	self.thread = start(thaw_when_it_sleeps, NULL);
}

/*
 * C4, C11, C30: a shrink makes a woken head oversized, and growth moves it to
 * the tail.  It retries and finds enough permits, but it is not its turn.
 */
TEST(c30_woken_and_then_moved_to_the_tail)
{
	weir_sem_opts opts = { .permits = 2, .policy = WEIR_BARGING,
			       .barge_us = WEIR_BARGE_US_MAX };
	weir_ctx ctx = WEIR_CTX_INIT;
	weir_sem sem;

	CHECK_OK(weir_sem_init_opts(&sem, &opts));
	CHECK_OK(weir_sem_acquire(&sem, 2, NULL));
	before_cas("announce_sleep", move_to_the_tail, &sem);
	CHECK_OK(weir_sem_acquire(&sem, 2, &ctx));
	happened();
	/* Set before `ahead` released its permits. */
	CHECK_EQ(ahead.got, 1);
	finish(self.thread);
	CHECK_OK(job_end(&ahead));
	CHECK_EQ(stat_of(&sem).held, 2);
}

static void *try_one(void *sem)
{
	CHECK_OK(weir_sem_try_acquire(sem, 1));
	return NULL;
}

struct long_hold {
	weir_sem *sem;
	check_thread thread;
};

static void hold_on(void *arg)
{
	struct long_hold *hold = arg;

	hold->thread = start(try_one, hold->sem);
	/* The time between two naps counts for 100 ms at most: sem_lock.c. */
	for (int i = 0; i < 20; i++) {
		int before_it = naps();

		AWAIT(naps() > before_it + 1);
		pass_seconds(10);
	}
}

/*
 * C5, C29: a lock that is held very long, as by a thread that is not scheduled,
 * is waited for as long as its holder is in this process; a try does not fail
 * because of it.
 */
static void lock_is_held_very_long(void)
{
	weir_sem sem = WEIR_SEM_INIT(1);
	struct long_hold hold = { .sem = &sem };

	before("set_capacity", 1, hold_on, &hold);
	CHECK_OK(weir_sem_resize(&sem, 2, NULL));
	happened();
	finish(hold.thread);
	CHECK_EQ(weir_sem_available(&sem), 1);
}

TEST(c5_the_lock_is_held_very_long)
{
	lock_is_held_very_long();
}

/* C29: the same in a child, whose own thread holds the lock. */
TEST(c29_the_lock_is_held_very_long_in_a_child)
{
	char text[512];

	CHECK_EQ(in_child(lock_is_held_very_long, text, sizeof(text)), 0);
}

/* C18, C30: reaching its bound wakes a waiter; that is not a signal. */
TEST(c18_reaching_the_bound_is_not_a_signal)
{
	weir_sem_opts opts = { .permits = 1, .policy = WEIR_BARGING,
			       .flags = WEIR_SEM_INTERRUPTIBLE, .barge_us = 1 };
	weir_sem sem;
	job first, second;
	int slept;

	CHECK_OK(weir_sem_init_opts(&sem, &opts));
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	queue_up(&first, &sem, 1, NULL);
	slept = sleeps();
	queue_up(&second, &sem, 1, NULL);
	/* It sleeps until its bound, and then until it is granted. */
	AWAIT(sleeps() >= slept + 2);
	weir_sem_release(&sem, 1);
	CHECK_OK(job_end(&first));
	weir_sem_release(&sem, 1);
	CHECK_OK(job_end(&second));
}

/* C28, C30: a waiter that has reached its bound sleeps until its deadline. */
TEST(c28_a_waiter_sleeps_again_after_its_bound)
{
	weir_sem_opts opts = { .permits = 1, .policy = WEIR_BARGING,
			       .barge_us = 1000 };
	weir_sem sem;
	job first;
	int slept;

	CHECK_OK(weir_sem_init_opts(&sem, &opts));
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	queue_up(&first, &sem, 1, NULL);
	slept = sleeps();
	CHECK_ERR(weir_sem_acquire_for(&sem, 1, 50000000), WEIR_ETIMEDOUT);
	CHECK(sleeps() < slept + 10);
	weir_sem_release(&sem, 1);
	CHECK_OK(job_end(&first));
}

static int polls;

static void count_poll(void *function)
{
	polls++;
	before(function, 1, count_poll, function);
}

/* Returns how often the head *w looks at the word before it retries. */
static int polls_until(const struct weir_waiter_ *w, int64_t until_ns)
{
	static char function[] = "weir_sem_spin_retry_";

	polls = 0;
	before(function, 1, count_poll, function);
	weir_sem_spin_retry_(w, until_ns);
	between_forget();
	return polls;
}

/*
 * The same without a limit.  The time of the spin may pass before the first look,
 * while another thread has the CPU: the spin is repeated until there are `least`.
 */
static int polls_before_retry(const struct weir_waiter_ *w, int least)
{
	while (polls_until(w, WEIR_FOREVER) < least)
		;
	return polls;
}

/* C13, C30: what ends the spin of a head that was woken to retry. */
TEST(c30_a_woken_head_spins_before_it_retries)
{
	weir_sem sem = WEIR_SEM_INIT_BARGING(1);
	struct weir_waiter_ w = { .sem = &sem, .min = 1 };
	weir_ctx ctx;

	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	polls_before_retry(&w, 2);
	CHECK_OK(weir_ctx_init(&ctx, NULL, WEIR_FOREVER));
	w.ctx = &ctx;
	polls_before_retry(&w, 2);
	/* Overdue, or late. */
	CHECK_EQ(polls_until(&w, weir_now_ns()), 0);
	CHECK_EQ(polls_until(&w, INT64_MIN), 0);
	/* Another thread has the lock. */
	CHECK_OK(weir_sem_lock_(&sem, "test"));
	CHECK_EQ(polls_before_retry(&w, 1), 1);
	weir_sem_unlock_(&sem, 0);
	/* Its permits are free. */
	weir_sem_release(&sem, 1);
	CHECK_EQ(polls_before_retry(&w, 1), 1);
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	weir_ctx_cancel(&ctx);
	CHECK_EQ(polls_before_retry(&w, 1), 1);
	CHECK_OK(weir_ctx_destroy(&ctx));
}

static void *acquire_and_count_polls(void *sem)
{
	static char function[] = "weir_sem_spin_retry_";

	before(function, 1, count_poll, function);
	CHECK_OK(weir_sem_acquire(sem, 1, NULL));
	between_forget();
	return NULL;
}

/*
 * A waiter that did not spin before it slept does not spin before it retries.  This
 * one has joined behind another, so it does not spin.
 */
TEST(c30_a_head_that_slept_retries_at_once)
{
	weir_sem sem = WEIR_SEM_INIT_BARGING(1);
	check_thread second;
	job first;

	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	queue_up(&first, &sem, 1, NULL);
	polls = 0;
	second = start(acquire_and_count_polls, &sem);
	AWAIT(waiters_of(&sem) == 2);
	weir_sem_release(&sem, 1);
	CHECK_OK(job_end(&first));
	weir_sem_release(&sem, 1);
	finish(second);
	CHECK_EQ(polls, 0);
}

/*
 * As if the last release had come from a CPU that is so far from this one.  The
 * thread may move to another CPU in between, and skips spins that did not pay.
 */
static bool spins_until_notified(struct weir_waiter_ *w, uint8_t cpus_away)
{
	w->sem->cpu_ = (uint8_t)((weir_cpu_() ^ cpus_away) << 4);
	return weir_sem_spin_notified_(w);
}

/* C30: a head spins before it sleeps, if the releases come from another CPU. */
TEST(c30_a_head_spins_before_it_sleeps)
{
	weir_sem sem = WEIR_SEM_INIT_BARGING(1), fifo = WEIR_SEM_INIT(1);
	struct weir_waiter_ w = { .sem = &sem, .min = 1 };

	CHECK(!spins_until_notified(&w, 1));
	w.state = WEIR_NOTIFIED_RETRY_;
	while (!spins_until_notified(&w, 1))
		;
	while (spins_until_notified(&w, 0))
		;
	w.sem = &fifo;
	CHECK(!spins_until_notified(&w, 1));
}
