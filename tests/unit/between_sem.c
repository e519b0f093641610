/* SPDX-License-Identifier: MIT */
/* Another thread acts between two steps of a call on a semaphore. */
#include "between.h"

#include "base/hook.h"
#include "weir/async.h"

static void take_one(void *sem)
{
	CHECK_OK(weir_sem_try_acquire(sem, 1));
}

static void release_one(void *sem)
{
	weir_sem_release(sem, 1);
}

/* C5: another thread takes one permit first; the try sees the rest. */
TEST(c5_taken_in_between)
{
	weir_sem sem = WEIR_SEM_INIT(3);

	before_cas("weir_try_fast_", take_one, &sem);
	CHECK_OK(weir_sem_try_acquire(&sem, 1));
	happened();
	CHECK_EQ(weir_sem_available(&sem), 1);
	before_cas("weir_try_fast_", take_one, &sem);
	CHECK_ERR(weir_sem_try_acquire(&sem, 1), WEIR_EAGAIN);
	happened();
	CHECK_EQ(stat_of(&sem).held, 3);
}

static void grow_to_eight(void *sem)
{
	CHECK_OK(weir_sem_resize(sem, 8, NULL));
}

/*
 * C5, C11: an oversized waiter blocks no other request; the result of a try
 * takes a resize into account that came after its first read of the queue.
 */
TEST(c5_growth_in_between)
{
	weir_ctx ctx = WEIR_CTX_INIT;
	weir_sem sem = WEIR_SEM_INIT(5);
	job a;

	wait_oversized(&a, &sem, 8, &ctx);
	CHECK_OK(weir_sem_try_acquire(&sem, 2));
	before("seen_to_fail", 3, grow_to_eight, &sem);
	CHECK_ERR(weir_sem_try_acquire(&sem, 1), WEIR_EAGAIN);
	happened();
	CHECK_EQ(waiters_of(&sem), 1);
	weir_sem_release(&sem, 2);
	CHECK_OK(job_end(&a));
}

/* C5: a spurious CAS failure does not make a try fail. */
TEST(c5_spurious_cas_failure)
{
	weir_sem sem = WEIR_SEM_INIT(1);

	fail_cas("weir_try_fast_");
	CHECK_OK(weir_sem_try_acquire(&sem, 1));
	happened();
	fail_cas("weir_put_fast_");
	weir_sem_release(&sem, 1);
	happened();
	CHECK_EQ(weir_sem_available(&sem), 1);
	fail_cas("try_lock");
	CHECK_OK(weir_sem_resize(&sem, 1, NULL));
	happened();
	fail_cas("grant_batch");
	CHECK_OK(weir_sem_resize(&sem, 1, NULL));
	happened();
	CHECK_IDENTITY(&sem);
}

/* A semaphore on the fast path of watched ones, which begins with an unlock. */
static void watch(weir_sem *sem, int64_t permits)
{
	weir_sem_opts opts = { .permits = permits, .flags = WEIR_SEM_TRACKED };

	CHECK_OK(weir_sem_init_opts(sem, &opts));
	CHECK_OK(weir_sem_resize(sem, permits, NULL));
}

/* C5, C47: the same for an acquire of a watched semaphore; it takes the rest. */
TEST(c47_taken_in_between)
{
	weir_sem sem;
	int64_t got = 0;

	watch(&sem, 3);
	before_cas("weir_take_watched_", take_one, &sem);
	CHECK_OK(weir_sem_acquire_upto(&sem, 1, 3, NULL, &got));
	happened();
	CHECK_EQ(got, 2);
	CHECK_EQ(stat_of(&sem).held, 3);
	weir_sem_release(&sem, 3);
	/* With a time limit, the request takes one count on a path of its own. */
	before_cas("weir_take_marked_", take_one, &sem);
	CHECK_OK(weir_sem_acquire_for(&sem, 1, 1000000000));
	happened();
	CHECK_EQ(weir_sem_available(&sem), 1);
	weir_sem_release(&sem, 2);
	CHECK_OK(weir_sem_destroy(&sem));
}

static void cancel_it(void *ctx)
{
	weir_ctx_cancel(ctx);
}

/*
 * C13, C47: the ctx is cancelled after the first check of it.  The cancel wins
 * over the permit, which is free again.
 */
TEST(c47_cancelled_in_between)
{
	weir_ctx ctx = WEIR_CTX_INIT;
	weir_sem sem;

	watch(&sem, 1);
	before_cas("weir_take_watched_", cancel_it, &ctx);
	CHECK_ERR(weir_sem_acquire(&sem, 1, &ctx), WEIR_ECANCELED);
	happened();
	CHECK_EQ(weir_sem_available(&sem), 1);
	CHECK_EQ(stat_of(&sem).held, 0);
	CHECK_OK(weir_sem_destroy(&sem));
	CHECK_OK(weir_ctx_destroy(&ctx));
}

static weir_err released_while_closing(weir_policy policy, weir_close how)
{
	weir_sem_opts opts = { .permits = 1, .policy = policy };
	weir_sem sem;
	weir_err err;
	job a;

	/* The head of a BARGING queue does not reach the bound meanwhile. */
	if (policy == WEIR_BARGING)
		opts.barge_us = WEIR_BARGE_US_MAX;
	CHECK_OK(weir_sem_init_opts(&sem, &opts));
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	queue_up(&a, &sem, 1, NULL);
	before("grant_what_fits", 1, release_one, &sem);
	weir_sem_close(&sem, how);
	happened();
	err = job_end(&a);
	CHECK_EQ(weir_sem_available(&sem), err ? 1 : 0);
	if (!err)
		weir_sem_release(&sem, 1);
	CHECK_OK(weir_sem_destroy(&sem));
	return err;
}

/*
 * C19: a permit is released after the close has locked the semaphore.  It goes to
 * the head, except if the head is one that would be woken to retry: its retry
 * would find the semaphore closed.
 */
TEST(c19_released_while_closing)
{
	CHECK_OK(released_while_closing(WEIR_FIFO, WEIR_CLOSE_NOW));
	CHECK_OK(released_while_closing(WEIR_FIFO, WEIR_CLOSE_DRAIN));
	CHECK_ERR(released_while_closing(WEIR_BARGING, WEIR_CLOSE_NOW),
		  WEIR_ECLOSED);
	CHECK_OK(released_while_closing(WEIR_BARGING, WEIR_CLOSE_DRAIN));
}

/*
 * C6: two releases meet on the fast path, on the slow path, and under the lock.
 */
TEST(c6_released_in_between)
{
	weir_sem sem = WEIR_SEM_INIT(4);

	CHECK_OK(weir_sem_acquire(&sem, 4, NULL));
	before_cas("weir_put_fast_", release_one, &sem);
	weir_sem_release(&sem, 1);
	happened();
	CHECK_EQ(weir_sem_available(&sem), 2);
	weir_sem_close(&sem, WEIR_CLOSE_NOW);	/* closes the fast path */
	before_cas("put", release_one, &sem);
	weir_sem_release(&sem, 1);
	happened();
	CHECK_EQ(weir_sem_available(&sem), 4);
}

static void two_releases_meet(void *sem)
{
	before_cas("put", release_one, sem);
	weir_sem_release(sem, 1);
	happened();
}

/*
 * C25: releases under another thread's lock add their permits and return; the
 * lock holder examines the word again and grants to the waiter that now fits.
 */
TEST(c25_two_releases_meet_under_the_lock)
{
	weir_sem sem = WEIR_SEM_INIT(2);
	job a;

	CHECK_OK(weir_sem_acquire(&sem, 2, NULL));
	queue_up(&a, &sem, 2, NULL);
	before_cas("grant_batch", two_releases_meet, &sem);
	CHECK_OK(weir_sem_resize(&sem, 2, NULL));
	happened();
	CHECK_EQ(waiters_of(&sem), 0);
	CHECK_OK(job_end(&a));
	CHECK_EQ(stat_of(&sem).held, 2);
}

/* The word changes before the lock is taken; the lock is taken nevertheless. */
TEST(c24_changed_before_the_lock_is_taken)
{
	weir_sem sem = WEIR_SEM_INIT(2);

	before_cas("try_lock", take_one, &sem);
	CHECK_OK(weir_sem_resize(&sem, 3, NULL));
	happened();
	CHECK_EQ(stat_of(&sem).held, 1);
}

static void nothing(void *unused)
{
	(void)unused;
}

/*
 * A stat of a semaphore without waiters does not take the lock, so a loop of
 * them delays no other call.
 */
TEST(stat_without_waiters_takes_no_lock)
{
	weir_sem sem = WEIR_SEM_INIT(2);

	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	before("try_lock", 1, nothing, NULL);
	CHECK_EQ(stat_of(&sem).held, 1);
	CHECK(!between_is_done());
	CHECK_OK(weir_sem_resize(&sem, 2, NULL));
	happened();
}

static void grow_and_take(void *sem)
{
	CHECK_OK(weir_sem_resize(sem, 3, NULL));
	take_one(sem);
}

/* The counts change during a stat: its snapshot is consistent. */
TEST(stat_meets_changes)
{
	for (int i = 1; i <= 7; i++) {
		weir_sem sem = WEIR_SEM_INIT(2);

		before("read_unlocked", i, grow_and_take, &sem);
		CHECK_IDENTITY(&sem);
		happened();
		CHECK_EQ(stat_of(&sem).capacity, 3);
		CHECK_EQ(stat_of(&sem).held, 1);
	}
}

/*
 * C8: an apparent over-release is checked again if the counts changed
 * meanwhile; the second check passes.
 */
TEST(c8_the_counts_move_while_they_are_compared)
{
	weir_sem sem = WEIR_SEM_INIT(2);

	before("overflows", 4, take_one, &sem);
	CHECK_OK(weir_sem_try_release(&sem, 1));
	happened();
	before("overflows", 5, grow_and_take, &sem);
	CHECK_OK(weir_sem_try_release(&sem, 1));
	happened();
	CHECK_EQ(weir_sem_available(&sem), 3);
}

static void release_before(const struct weir_event_ *event)
{
	weir_hook_set_(NULL);
	release_one((weir_sem *)(uintptr_t)event->object);
}

/*
 * C8: another thread releases the last permit just before.  In drain mode every
 * release takes the lock.
 */
TEST(c8_released_twice_at_once)
{
	weir_sem sem = WEIR_SEM_INIT(1);

	weir_sem_close(&sem, WEIR_CLOSE_DRAIN);
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	CHECK(weir_hook_set_(release_before) == NULL);
	CHECK_ERR(weir_sem_try_release(&sem, 1), WEIR_EOVERFLOW);
	CHECK_EQ(weir_sem_available(&sem), 1);
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	CHECK(weir_hook_set_(release_before) == NULL);
	CHECK_PANICS("0 held", weir_sem_release(&sem, 1));
	CHECK_EQ(weir_sem_available(&sem), 1);
}

static void release_two(void *sem)
{
	weir_sem_release(sem, 2);
}

/*
 * C8, C21: an over-release meets a resize that has changed one of the two
 * counts.  The resize detects the excess permit and removes it.
 */
TEST(c8_one_too_many_in_the_middle_of_a_resize)
{
	weir_sem_opts opts = { .permits = 2, .name = "middle" };
	weir_sem sem;

	CHECK_OK(weir_sem_init_opts(&sem, &opts));
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	before("set_capacity", 3, release_two, &sem);
	CHECK_PANICS("weir_sem_resize: semaphore \"middle\": 1 more permits",
		     CHECK_OK(weir_sem_resize(&sem, 1, NULL)));
	happened();
	CHECK_EQ(stat_of(&sem).capacity, 1);
	CHECK_EQ(weir_sem_available(&sem), 1);
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	before("set_capacity", 3, release_two, &sem);
	CHECK_PANICS("1 more permits",
		     CHECK_OK(weir_sem_resize(&sem, 2, NULL)));
	happened();
	CHECK_EQ(stat_of(&sem).capacity, 2);
	CHECK_EQ(weir_sem_available(&sem), 2);
	CHECK_IDENTITY(&sem);
}

/* C8, C21: the same for a release of permits that are being forgotten. */
TEST(c8_released_while_it_is_forgotten)
{
	weir_sem_opts opts = { .permits = 2, .name = "lost" };
	weir_sem sem;

	CHECK_OK(weir_sem_init_opts(&sem, &opts));
	CHECK_OK(weir_sem_acquire(&sem, 2, NULL));
	before("set_capacity", 3, release_two, &sem);
	CHECK_PANICS("weir_sem_forget: semaphore \"lost\": 1 more permits",
		     CHECK_OK(weir_sem_forget(&sem, 1)));
	happened();
	CHECK_EQ(stat_of(&sem).capacity, 1);
	CHECK_EQ(weir_sem_available(&sem), 1);
	CHECK_IDENTITY(&sem);
}

static void reference(void *sem)
{
	CHECK(weir_sem_ref(sem) == sem);
}

/* C22: a heap semaphore gains a reference while it loses one. */
TEST(c22_referenced_in_between)
{
	weir_sem_opts opts = { .permits = 1 };
	weir_sem *sem = weir_sem_new(&opts);

	CHECK(weir_sem_ref(sem) == sem);
	before_cas("weir_sem_unref", reference, sem);
	weir_sem_unref(sem);
	happened();
	weir_sem_unref(sem);
	CHECK_OK(weir_sem_try_acquire(sem, 1));
	weir_sem_release(sem, 1);
	weir_sem_unref(sem);
}

static void first_hook(const char *message) { (void)message; }
static void second_hook(const char *message) { (void)message; }

static void set_second(void *unused)
{
	(void)unused;
	CHECK(weir_set_panic_hook(second_hook) == NULL);
}

/*
 * C8: of two concurrent calls that set the panic hook, one follows the other.
 */
TEST(c8_panic_hook_set_in_between)
{
	before_cas("weir_set_panic_hook", set_second, NULL);
	CHECK(weir_set_panic_hook(first_hook) == second_hook);
	happened();
	CHECK(weir_set_panic_hook(NULL) == first_hook);
}

static void first_listener(const struct weir_event_ *event) { (void)event; }
static void second_listener(const struct weir_event_ *event) { (void)event; }

static void set_second_listener(void *unused)
{
	(void)unused;
	CHECK(weir_hook_set_(second_listener) == NULL);
}

/* C27: the same for the hook that reports slow paths. */
TEST(c27_hook_set_in_between)
{
	before_cas("weir_hook_set_", set_second_listener, NULL);
	CHECK(weir_hook_set_(first_listener) == second_listener);
	happened();
	CHECK(weir_hook_set_(NULL) == first_listener);
}

static void close_now(void *sem)
{
	weir_sem_close(sem, WEIR_CLOSE_NOW);
}

/* C19: closed while a try is about to take the lock. */
TEST(c19_closed_before_the_try_locks)
{
	weir_sem_opts opts = { .permits = 1, .flags = WEIR_SEM_TRACKED };
	weir_sem sem;

	CHECK_OK(weir_sem_init_opts(&sem, &opts));
	before("serve_spinner", 1, close_now, &sem);
	CHECK_ERR(weir_sem_try_acquire(&sem, 1), WEIR_ECLOSED);
	happened();
	CHECK_EQ(weir_sem_available(&sem), 1);
}

static void try_one(void *sem)
{
	CHECK_ERR(weir_sem_try_acquire(sem, 1), WEIR_EAGAIN);
}

/* C5: too few permits are free.  The try fails without waiting for the lock. */
TEST(c5_try_that_must_fail_needs_no_lock)
{
	weir_sem sem;

	CHECK_OK(weir_sem_init(&sem, 0));
	before("weir_sem_close", 1, try_one, &sem);
	weir_sem_close(&sem, WEIR_CLOSE_NOW);
	happened();
}

struct moment {
	weir_sem *sem;
	bool closed;
};

static void release_and_look(void *arg)
{
	struct moment *m = arg;

	weir_sem_release(m->sem, 1);
	m->closed = weir_sem_is_closed(m->sem);
}

/* Close with two waiters; one permit is released while the close holds the lock. */
static void release_during_close(weir_close how)
{
	weir_sem_opts opts = { .capacity = 2 };
	struct moment m = { .closed = true };
	weir_op a, b;
	weir_sem sem;

	CHECK_OK(weir_sem_init_opts(&sem, &opts));
	m.sem = &sem;
	weir_op_init(&a, NULL, NULL, NULL);
	weir_op_init(&b, NULL, NULL, NULL);
	CHECK_ERR(weir_op_submit(&a, &sem, 1, NULL), WEIR_EQUEUED);
	CHECK_ERR(weir_op_submit(&b, &sem, 1, NULL), WEIR_EQUEUED);
	before("weir_sem_close", 1, release_and_look, &m);
	weir_sem_close(&sem, how);
	happened();
	CHECK(!m.closed);
	CHECK_OK(weir_op_poll(&a));
	CHECK_ERR(weir_op_poll(&b), WEIR_ECLOSED);
	CHECK(weir_sem_is_closed(&sem));
	CHECK_EQ(weir_sem_available(&sem), 0);
}

/*
 * C6, C19: a release that meets the lock of a close comes before the close if
 * its thread then reads "not closed".  Its permit goes to the first waiter.
 */
TEST(c19_release_before_the_close_is_granted)
{
	release_during_close(WEIR_CLOSE_NOW);
	release_during_close(WEIR_CLOSE_DRAIN);
}

static void count(void *times)
{
	++*(int *)times;
}

/*
 * C7, C14: an acquire whose deadline has passed fails without the lock, so that a
 * thread that polls delays no other call.  Errors that only the lock holder can
 * determine are returned as before.
 */
TEST(c14_late_acquire_needs_no_lock)
{
	weir_sem sem;
	int locks = 0;

	CHECK_OK(weir_sem_init(&sem, 1));
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	before("try_lock", 1, count, &locks);
	CHECK_ERR(weir_sem_acquire_for(&sem, 1, 0), WEIR_ETIMEDOUT);
	CHECK_ERR(weir_sem_acquire_for(&sem, 1, -1), WEIR_ETIMEDOUT);
	CHECK_ERR(weir_sem_acquire_until(&sem, 1, weir_now_ns()),
		  WEIR_ETIMEDOUT);
	CHECK_EQ(locks, 0);
	CHECK_ERR(weir_sem_acquire_for(&sem, 2, 0), WEIR_ETOOBIG);
	happened();
	CHECK_EQ(locks, 1);
	weir_sem_close(&sem, WEIR_CLOSE_NOW);
	CHECK_ERR(weir_sem_acquire_for(&sem, 1, 0), WEIR_ECLOSED);
}

/* C4, C11, C14: a request for 0 permits is granted also while permits are owed. */
TEST(c14_late_acquire_of_no_permits)
{
	weir_sem sem;

	CHECK_OK(weir_sem_init(&sem, 2));
	CHECK_OK(weir_sem_acquire(&sem, 2, NULL));
	CHECK_OK(weir_sem_resize(&sem, 1, NULL));
	CHECK_OK(weir_sem_acquire_for(&sem, 0, 0));
	weir_sem_release(&sem, 2);
}

/* C14: a permit that is released after the fast path has failed is taken. */
TEST(c14_release_during_late_acquire)
{
	weir_sem sem;

	CHECK_OK(weir_sem_init(&sem, 1));
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	before("weir_sem_seen_to_time_out_", 2, release_one, &sem);
	CHECK_OK(weir_sem_acquire_for(&sem, 1, 0));
	happened();
	weir_sem_release(&sem, 1);
}

/* C14: a BARGING request spins before it waits; one that may not wait does not. */
TEST(c14_late_acquire_does_not_spin)
{
	const weir_sem_opts opts = { .permits = 1, .policy = WEIR_BARGING };
	weir_sem sem;
	int spins = 0;

	CHECK_OK(weir_sem_init_opts(&sem, &opts));
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	before("weir_sem_spin_acquire_", 1, count, &spins);
	CHECK_ERR(weir_sem_acquire_for(&sem, 1, 0), WEIR_ETIMEDOUT);
	CHECK_EQ(spins, 0);
	CHECK_ERR(weir_sem_acquire_for(&sem, 1, 1), WEIR_ETIMEDOUT);
	happened();
	weir_sem_release(&sem, 1);
}

TEST(c14_late_acquire_of_a_full_queue)
{
	const weir_sem_opts opts = { .permits = 1, .max_waiters = 1 };
	weir_sem sem;
	job a;

	CHECK_OK(weir_sem_init_opts(&sem, &opts));
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	CHECK_ERR(weir_sem_acquire_for(&sem, 1, 0), WEIR_ETIMEDOUT);
	queue_up(&a, &sem, 1, NULL);
	CHECK_ERR(weir_sem_acquire_for(&sem, 1, 0), WEIR_EBUSY);
	weir_sem_release(&sem, 1);
	CHECK_OK(job_end(&a));
}

/* C11, C14: a late acquire reads the word before a growth, the capacity after. */
TEST(c14_growth_during_late_acquire)
{
	weir_sem sem = WEIR_SEM_INIT(1);

	before("weir_sem_seen_to_time_out_", 3, grow_to_eight, &sem);
	CHECK_OK(weir_sem_acquire_for(&sem, 4, 0));
	happened();
	weir_sem_release(&sem, 4);
}

/* C5: a waiter is queued, so the try fails, also without the lock. */
TEST(c5_try_behind_a_waiter_needs_no_lock)
{
	weir_sem sem;
	int locks = 0;
	job a;

	CHECK_OK(weir_sem_init(&sem, 2));
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	queue_up(&a, &sem, 2, NULL);
	before("try_lock", 1, count, &locks);
	CHECK_ERR(weir_sem_try_acquire(&sem, 1), WEIR_EAGAIN);
	CHECK_EQ(locks, 0);
	weir_sem_close(&sem, WEIR_CLOSE_NOW);
	happened();
	CHECK_EQ(locks, 1);
	CHECK_ERR(job_end(&a), WEIR_ECLOSED);
}
