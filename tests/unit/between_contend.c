/* SPDX-License-Identifier: MIT */
/*
 * Waiting for the lock of a semaphore: core/sem_contend.h.  The entries of its
 * table are hints, so no call depends on them.  These tests check that they are
 * right.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "base/fork.h"
#include "between.h"
#include "core/sem_contend.h"
#include "core/sem_grant.h"
#include "core/sem_lock.h"
#include "core/sem_word.h"
#include "core/waiter.h"

static weir_sem sem;
static int moments;	/* reached by the thread that waits */
static uint32_t slept;	/* of that thread */

static uint32_t sleepers(void)
{
	return __atomic_load_n(&weir_contended_of_(&sem)->sleepers,
			       __ATOMIC_SEQ_CST);
}

static const weir_sem *starved(void)
{
	return __atomic_load_n(&weir_contended_of_(&sem)->starved,
			       __ATOMIC_SEQ_CST);
}

static void set_starved(const weir_sem *value)
{
	__atomic_store_n(&weir_contended_of_(&sem)->starved, value,
			 __ATOMIC_SEQ_CST);
}

static int reached(void)
{
	return __atomic_load_n(&moments, __ATOMIC_SEQ_CST);
}

static void reach(void)
{
	__atomic_add_fetch(&moments, 1, __ATOMIC_SEQ_CST);
}

struct contender {
	between_fn *arm;
};

static void *resize_after(void *arg)
{
	((struct contender *)arg)->arm(NULL);
	CHECK_OK(weir_sem_resize(&sem, 1, NULL));
	happened();
	return NULL;
}

/* A thread waits for the lock until it has reached `count` moments. */
static void contend(between_fn *arm, int count)
{
	struct contender contender = { arm };
	check_thread thread;

	CHECK_OK(weir_sem_init(&sem, 1));
	__atomic_store_n(&moments, 0, __ATOMIC_SEQ_CST);
	CHECK_OK(weir_sem_lock_(&sem, "contend"));
	thread = start(resize_after, &contender);
	AWAIT(reached() >= count);
	weir_sem_unlock_(&sem, 0);
	finish(thread);
	CHECK_EQ(sleepers(), 0);
}

/* The low half of the word changes with the lock. */
static void check_half(const uint32_t *half)
{
	uint64_t word = __atomic_load_n(&sem.word_, __ATOMIC_SEQ_CST);
	uint32_t *halves = (uint32_t *)(void *)&sem.word_;

	CHECK(half == &halves[0] || half == &halves[1]);
	CHECK((uint32_t)word != (uint32_t)(word >> 32));
	CHECK_EQ(*half, (uint32_t)word);
}

static void next_sleep(void *unused);

static void has_slept(void *unused)
{
	(void)unused;
	check_half(napped_on());
	CHECK_EQ(sleepers(), 1);
	CHECK(!starved());
	slept++;
	before("sleep_once", 1, next_sleep, NULL);
}

/* sleep_once has three accesses: count, check the word, count back. */
static void next_sleep(void *unused)
{
	(void)unused;
	CHECK_EQ(sleepers(), 0);
	if (slept == WEIR_SLEEPS_) {
		CHECK(starved() == &sem);
		reach();
		return;
	}
	CHECK(!starved());
	before("sleep_once", 2, has_slept, NULL);
}

static void arm_sleeps(void *unused)
{
	slept = 0;
	before("sleep_once", 1, next_sleep, unused);
}

/* Some sleeps without success: the thread is starved, until it has the lock. */
TEST(starved_after_some_sleeps)
{
	contend(arm_sleeps, 1);
	CHECK(!starved());
}

static void unlock_now(void *unused);

static void lock_again(void *unused)
{
	CHECK(!weir_sem_lock_no_panic_(&sem));
	before("is_locked", 1, unlock_now, unused);
}

static void unlock_now(void *unused)
{
	/* A spin polls 1600 times at most. */
	CHECK(reached() < 2000);
	reach();
	weir_sem_unlock_(&sem, 0);
	before_cas("try_lock", lock_again, unused);
}

static void *resize_overtaken(void *unused)
{
	before("is_locked", 1, unlock_now, unused);
	CHECK_OK(weir_sem_resize(&sem, 1, NULL));
	return NULL;
}

/*
 * A thread that spins sees the lock dropped, and is overtaken, again and again.
 * It sleeps soon, and is starved in the end.
 */
TEST(starved_after_it_was_overtaken_while_it_spun)
{
	check_thread thread;

	CHECK_OK(weir_sem_init(&sem, 1));
	__atomic_store_n(&moments, 0, __ATOMIC_SEQ_CST);
	CHECK_OK(weir_sem_lock_(&sem, "overtaken"));
	thread = start(resize_overtaken, NULL);
	AWAIT(starved() == &sem);
	CHECK(reached() > 0);
	weir_sem_unlock_(&sem, 0);
	finish(thread);
	CHECK_EQ(sleepers(), 0);
	CHECK(!starved());
}

static weir_sem other;

static void sleep_on(void *unused)
{
	CHECK(starved() == &other);
	reach();
	if (reached() < (int)WEIR_SLEEPS_ + 2)
		before("sleep_once", 3, sleep_on, unused);
}

static void arm_sleep_on(void *unused)
{
	before("sleep_once", 3, sleep_on, unused);
}

/* The entry belongs to a thread that waits for another semaphore's lock. */
TEST(another_thread_is_starved)
{
	CHECK_OK(weir_sem_init(&sem, 1));
	set_starved(&other);
	contend(arm_sleep_on, WEIR_SLEEPS_ + 2);
	CHECK(starved() == &other);
	set_starved(NULL);
}

static void get_lock(void *unused)
{
	(void)unused;
	CHECK(weir_door_(__atomic_load_n(&sem.word_, __ATOMIC_SEQ_CST)) !=
	      WEIR_LOCKED_);
	set_starved(NULL);
}

/* A newcomer spins until the starved thread has the lock. */
TEST(newcomer_lets_a_starved_thread_go_first)
{
	int before_it = yields();

	CHECK_OK(weir_sem_init(&sem, 1));
	set_starved(&sem);
	before("weir_sem_is_awaited_", 4, get_lock, NULL);
	CHECK_OK(weir_sem_resize(&sem, 2, NULL));
	happened();
	CHECK_EQ(yields(), before_it);
}

/* The starved thread does not run: the newcomer yields once and goes on. */
TEST(newcomer_does_not_wait_for_a_thread_that_does_not_run)
{
	int before_it = yields();

	CHECK_OK(weir_sem_init(&sem, 1));
	set_starved(&sem);
	CHECK_OK(weir_sem_resize(&sem, 2, NULL));
	CHECK_EQ(yields(), before_it + 1);
	CHECK(starved() == &sem);
	set_starved(&other);
	CHECK_OK(weir_sem_resize(&sem, 3, NULL));
	CHECK_EQ(yields(), before_it + 1);
	set_starved(NULL);
}

static void set_sleepers(uint32_t count)
{
	__atomic_store_n(&weir_contended_of_(&sem)->sleepers, count,
			 __ATOMIC_SEQ_CST);
}

/* C28: an unlock wakes a thread that sleeps until the lock is dropped. */
TEST(an_unlock_wakes_a_sleeping_contender)
{
	struct weir_waiter_ foreign = { .forks = (uint8_t)(weir_forks_() + 1),
					.place = WEIR_IN_QUEUE_ };
	int before_it = wakes();

	CHECK_OK(weir_sem_init(&sem, 1));
	CHECK_OK(weir_sem_resize(&sem, 2, NULL));
	CHECK_EQ(wakes(), before_it);
	set_sleepers(1);
	CHECK_OK(weir_sem_resize(&sem, 3, NULL));
	CHECK_EQ(wakes(), before_it + 1);
	/* C29: also if the lock is dropped at once. */
	foreign.link = (struct weir_ring_){ &foreign.link, &foreign.link };
	sem.queue_ = &foreign.link;
	CHECK_EQ(weir_sem_lock_no_panic_(&sem), WEIR_HAD_WAITERS_);
	CHECK_EQ(wakes(), before_it + 2);
	sem.queue_ = NULL;
	set_sleepers(0);
}

/*
 * The fork count of the lock holder at each check of the contender: ten times
 * that of another process, once its own, and so again.  A second passes before
 * each check, which counts for 100 ms: 900 ms, because the first one begins the
 * measurement.
 */
static void next_check(void *unused)
{
	static int check;
	uint8_t own = (uint8_t)weir_forks_();
	bool is_own = ++check % 11 == 0;

	__atomic_store_n(&sem.forks_, is_own ? own : (uint8_t)(own + 1),
			 __ATOMIC_RELAXED);
	pass_seconds(1);
	if (check < 22)
		before("is_orphaned", 1, next_check, unused);
	else
		reach();
}

static void arm_checks(void *unused)
{
	before("is_orphaned", 1, next_check, unused);
}

/*
 * C29: a lock that is held by a thread of this process in between is not
 * reported as held since a fork.
 */
TEST(c29_a_lock_holder_of_this_process_ends_the_measurement)
{
	contend(arm_checks, 1);
}

static void check_table(void)
{
	for (uint32_t i = 0; i < WEIR_CONTENDED_; i++) {
		CHECK_EQ(weir_contended_[i].sleepers, 0);
		CHECK(!weir_contended_[i].starved);
	}
}

/* C29: threads of the parent do not wait in the child. */
TEST(c29_the_child_has_no_contenders)
{
	char text[512];

	for (uint32_t i = 0; i < WEIR_CONTENDED_; i++) {
		weir_contended_[i].sleepers = 1;
		weir_contended_[i].starved = &sem;
	}
	CHECK_EQ(in_child(check_table, text, sizeof(text)), 0);
	for (uint32_t i = 0; i < WEIR_CONTENDED_; i++) {
		CHECK_EQ(weir_contended_[i].sleepers, 1);
		weir_contended_[i].sleepers = 0;
		weir_contended_[i].starved = NULL;
	}
}

static void exit_if_counted_once(void *unused)
{
	(void)unused;
	_exit(sleepers() != 1);
}

static void fork_now(void *unused)
{
	int status;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (!pid) {
		alarm(60);
		/* The check of the next sleep. */
		before("sleep_once", 2, exit_if_counted_once, unused);
		return;
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	reach();
}

static void arm_fork(void *unused)
{
	before("sleep_once", 2, fork_now, unused);
}

/*
 * C29: a signal handler forks while its thread waits for the lock.  The child
 * has reset the count, so the thread does not subtract itself there.
 */
TEST(c29_forked_while_it_waits_for_the_lock)
{
	contend(arm_fork, 1);
}
