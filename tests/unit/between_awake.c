/* SPDX-License-Identifier: MIT */
/*
 * A thread that finds no permits polls for a moment before it parks: as the
 * spinner at the head of the queue, or before it is enqueued (BARGING).  Each
 * test runs on its own thread: a thread that has spun without success does not
 * spin the next time.
 */
#include "between.h"
#include "core/waiter.h"

static weir_sem sem;

static void all_out(weir_policy policy, int64_t capacity)
{
	weir_sem_opts opts = { .capacity = capacity, .policy = policy };

	CHECK_OK(weir_sem_init_opts(&sem, &opts));
}

static void *in_a_thread(void *test)
{
	(*(void (**)(void))test)();
	return NULL;
}

#define IN_A_THREAD(name)                                                      \
	static void name##_(void);                                             \
	TEST(name)                                                             \
	{                                                                      \
		void (*test)(void) = name##_;                                  \
		finish(start(in_a_thread, &test));                             \
	}                                                                      \
	static void name##_(void)

static void release_one(void *unused)
{
	(void)unused;
	weir_sem_release(&sem, 1);
}

/* C6: the head of the queue takes released permits without a wake-up. */
IN_A_THREAD(c6_the_head_spins)
{
	int before_it = sleeps();

	all_out(WEIR_FIFO, 1);
	before("is_available", 1, release_one, NULL);
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	happened();
	CHECK_EQ(sleeps(), before_it);
	CHECK_EQ(stat_of(&sem).held, 1);
	CHECK_EQ(stat_of(&sem).granted, 0);
}

static void check_granted(void *unused)
{
	(void)unused;
	CHECK_EQ(stat_of(&sem).granted, 1);
}

static void release_then_check(void *unused)
{
	release_one(unused);
	before("try_lock", 1, check_granted, NULL);
}

/* C6: another call grants to the spinner while it takes the lock. */
IN_A_THREAD(c6_granted_while_taking)
{
	all_out(WEIR_FIFO, 1);
	before("is_available", 1, release_then_check, NULL);
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	happened();
	CHECK_EQ(stat_of(&sem).held, 1);
	CHECK_EQ(stat_of(&sem).granted, 0);
}

static void release_twice(void *unused)
{
	release_one(unused);
	release_one(unused);
}

/* C6, C12: the spinner gets the permits of the first release only. */
IN_A_THREAD(c12_as_many_as_the_first_release)
{
	int64_t got;

	all_out(WEIR_FIFO, 2);
	before("announce_sleep", 1, release_twice, NULL);
	CHECK_OK(weir_sem_acquire_upto(&sem, 1, 2, NULL, &got));
	happened();
	CHECK_EQ(got, 1);
	CHECK_EQ(stat_of(&sem).free, 1);
}

static void release_two_and_try(void *unused)
{
	(void)unused;
	weir_sem_release(&sem, 2);
	/* One permit belongs to the spinner, one is free. */
	CHECK_OK(weir_sem_try_acquire(&sem, 1));
	CHECK_ERR(weir_sem_try_acquire(&sem, 1), WEIR_EAGAIN);
}

/* C5, C6: permits released for the spinner are its own before the next call. */
IN_A_THREAD(c6_the_spinner_is_granted_first)
{
	all_out(WEIR_FIFO, 2);
	before("is_available", 1, release_two_and_try, NULL);
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	happened();
	CHECK_EQ(stat_of(&sem).held, 2);
}

static void release_two_and_acquire(void *unused)
{
	(void)unused;
	weir_sem_release(&sem, 2);
	CHECK_OK(weir_sem_acquire_until(&sem, 1, 0));
	CHECK_ERR(weir_sem_acquire_until(&sem, 1, 0), WEIR_ETIMEDOUT);
}

/* C6, C14: the same for a call whose deadline has passed. */
IN_A_THREAD(c14_the_spinner_is_granted_first)
{
	all_out(WEIR_FIFO, 2);
	before("is_available", 1, release_two_and_acquire, NULL);
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	happened();
	CHECK_EQ(stat_of(&sem).held, 2);
}

static weir_ctx ctx;

static void cancel_it(void *unused)
{
	(void)unused;
	weir_ctx_cancel(&ctx);
}

static void release_and_cancel_later(void *unused)
{
	release_one(unused);
	/* The spinner has taken the permit and leaves its context. */
	before("weir_lock_", 1, cancel_it, NULL);
}

/* C13: the context ends when the spinner has taken its permits. */
IN_A_THREAD(c13_cancelled_after_the_spinner_took)
{
	all_out(WEIR_FIFO, 1);
	CHECK_OK(weir_ctx_init(&ctx, NULL, WEIR_FOREVER));
	before("is_available", 1, release_and_cancel_later, NULL);
	CHECK_ERR(weir_sem_acquire(&sem, 1, &ctx), WEIR_ECANCELED);
	happened();
	CHECK_EQ(waiters_of(&sem), 0);
	CHECK_EQ(weir_sem_available(&sem), 1);
	CHECK_EQ(stat_of(&sem).granted, 0);
	CHECK_OK(weir_ctx_destroy(&ctx));
}

static void release_and_close(void *unused)
{
	release_one(unused);
	weir_sem_close(&sem, WEIR_CLOSE_NOW);
}

/* C6, C19: also if that call is a close. */
IN_A_THREAD(c19_released_before_the_close)
{
	all_out(WEIR_FIFO, 1);
	before("is_available", 1, release_and_close, NULL);
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	happened();
}

static void close_now(void *unused)
{
	(void)unused;
	weir_sem_close(&sem, WEIR_CLOSE_NOW);
}

/* C19: a close ends the spinning. */
IN_A_THREAD(c19_closed_while_the_head_spins)
{
	all_out(WEIR_FIFO, 1);
	before("is_available", 1, close_now, NULL);
	CHECK_ERR(weir_sem_acquire(&sem, 1, NULL), WEIR_ECLOSED);
	happened();
}

static void *light_behind(void *unused)
{
	(void)unused;
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	weir_sem_release(&sem, 1);
	return NULL;
}

/*
 * Time out.  If the deadline passed before the thread could spin, retry with
 * more time.
 */
static void time_out(int64_t n)
{
	for (int64_t ns = 1000000; !between_is_done(); ns *= 2)
		CHECK_ERR(weir_sem_acquire_for(&sem, n, ns), WEIR_ETIMEDOUT);
}

static check_thread behind;

static void enqueue_another_and_release(void *unused)
{
	behind = start(light_behind, NULL);
	AWAIT(stat_of(&sem).waiters == 2);
	release_one(unused);
}

/* C4: one permit is too few for the spinner; no waiter passes it. */
IN_A_THREAD(c4_behind_a_heavy_spinner)
{
	all_out(WEIR_FIFO, 2);
	before("is_available", 1, enqueue_another_and_release, NULL);
	time_out(2);
	finish(behind);
	CHECK_EQ(stat_of(&sem).held, 1);
}

/* C10: too few permits are free; the spinner holds none meanwhile. */
IN_A_THREAD(c10_the_spinner_holds_nothing)
{
	all_out(WEIR_FIFO, 2);
	before("is_available", 1, release_one, NULL);
	time_out(2);
	CHECK_EQ(stat_of(&sem).free, 1);
}

/* C30: a new request spins, takes a released permit, and is never enqueued. */
IN_A_THREAD(c30_a_new_request_spins)
{
	int before_it = sleeps();

	all_out(WEIR_BARGING, 1);
	before("weir_sem_spin_acquire_", 4, release_one, NULL);
	CHECK_OK(weir_sem_acquire_for(&sem, 1, 1000000000));
	happened();
	CHECK_EQ(sleeps(), before_it);
	weir_sem_release(&sem, 1);
	CHECK_EQ(stat_of(&sem).free, 1);
}

/* C14, C30: also if its deadline has passed: spinning is not waiting. */
IN_A_THREAD(c30_a_new_request_spins_past_its_deadline)
{
	all_out(WEIR_BARGING, 1);
	before("weir_sem_spin_acquire_", 4, release_one, NULL);
	CHECK_OK(weir_sem_acquire_until(&sem, 1, 0));
	happened();
}

/* C19: a spinning request notices that the door is shut. */
IN_A_THREAD(c19_closed_while_a_request_spins)
{
	all_out(WEIR_BARGING, 1);
	before("weir_sem_spin_acquire_", 4, close_now, NULL);
	CHECK_ERR(weir_sem_acquire(&sem, 1, NULL), WEIR_ECLOSED);
	happened();
}

/* C11, C30: no request spins for more permits than the capacity. */
IN_A_THREAD(c11_too_big_to_spin_for)
{
	all_out(WEIR_BARGING, 1);
	CHECK_ERR(weir_sem_acquire(&sem, 2, NULL), WEIR_ETOOBIG);
}

static int locks;

static void count_lock(void *unused)
{
	(void)unused;
	locks++;
}

static void release_and_watch_the_lock(void *unused)
{
	release_one(unused);
	before("try_lock", 1, count_lock, NULL);
}

static void spin_without_the_lock(uint32_t flags)
{
	weir_sem_opts opts = { .capacity = 1, .policy = WEIR_BARGING,
			       .flags = flags };

	CHECK_OK(weir_sem_init_opts(&sem, &opts));
	/* A watched semaphore has its fast path from the first unlock on. */
	CHECK_OK(weir_sem_resize(&sem, 1, NULL));
	locks = 0;
	before("weir_sem_spin_acquire_", 4, release_and_watch_the_lock, NULL);
	CHECK_OK(weir_sem_acquire_for(&sem, 1, 1000000000));
	CHECK_EQ(locks, 0);
	weir_sem_close(&sem, WEIR_CLOSE_NOW);
	happened();
	CHECK_EQ(locks, 1);
}

/* C30: a spinning request takes the permit on the fast path. */
IN_A_THREAD(c30_a_spinning_request_takes_no_lock)
{
	spin_without_the_lock(0);
}

/* C30, C47: so does a request to a watched semaphore. */
IN_A_THREAD(c47_a_spinning_request_takes_no_lock)
{
	spin_without_the_lock(WEIR_SEM_TRACKED);
}

static struct weir_waiter_ roused;

static void notify_while_it_spins(void *unused)
{
	(void)unused;
	CHECK_EQ(roused.state, WEIR_WAITING_);
	roused.state = WEIR_NOTIFIED_FINAL_;
}

/* C6: a roused waiter spins, and does not sleep if it is notified meanwhile. */
TEST(c6_a_roused_waiter_spins)
{
	int before_it = sleeps();

	roused = (struct weir_waiter_){ .state = WEIR_ROUSED_ };
	before("weir_waiter_is_notified_", 2, notify_while_it_spins, NULL);
	CHECK_EQ(weir_waiter_park_(&roused, WEIR_FOREVER), WEIR_PARKED_FINAL_);
	happened();
	CHECK_EQ(sleeps(), before_it);
}
