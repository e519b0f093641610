/* SPDX-License-Identifier: MIT */
/*
 * Who finds no permits looks again for a moment before it sleeps: watching, at
 * the head of the queue, or lingering before it joins (BARGING).  A thread of its
 * own for each: one that has looked in vain will not the next time.
 */
#include "between.h"

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

/* C6: the head of the queue takes what comes, and nobody had to wake it. */
IN_A_THREAD(c6_the_head_watches)
{
	int before_it = sleeps();

	all_out(WEIR_FIFO, 1);
	before("is_there", 1, release_one, NULL);
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	happened();
	CHECK_EQ(sleeps(), before_it);
	CHECK_EQ(stat_of(&sem).held, 1);
	CHECK_EQ(stat_of(&sem).granted, 0);
}

static void look(void *unused)
{
	(void)unused;
	CHECK_EQ(stat_of(&sem).granted, 1);
}

static void release_and_look(void *unused)
{
	release_one(unused);
	before("weir_sem_lock_no_panic_", 1, look, NULL);
}

/* C6: somebody serves it while it is on its way to the lock. */
IN_A_THREAD(c6_served_while_it_takes)
{
	all_out(WEIR_FIFO, 1);
	before("is_there", 1, release_and_look, NULL);
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

/* C6, C12: what the first release leaves is what it gets. */
IN_A_THREAD(c12_as_many_as_there_were)
{
	int64_t got;

	all_out(WEIR_FIFO, 2);
	before("weir_waiter_park_", 1, release_twice, NULL);
	CHECK_OK(weir_sem_acquire_upto(&sem, 1, 2, NULL, &got));
	happened();
	CHECK_EQ(got, 1);
	CHECK_EQ(stat_of(&sem).free, 1);
}

static void release_two_and_try(void *unused)
{
	(void)unused;
	weir_sem_release(&sem, 2);
	/* One belongs to the watcher, one is free. */
	CHECK_OK(weir_sem_try_acquire(&sem, 1));
	CHECK_ERR(weir_sem_try_acquire(&sem, 1), WEIR_EAGAIN);
}

/* C5, C6: what was released for it is its own when the next call comes. */
IN_A_THREAD(c6_the_watcher_is_served_first)
{
	all_out(WEIR_FIFO, 2);
	before("is_there", 1, release_two_and_try, NULL);
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	happened();
	CHECK_EQ(stat_of(&sem).held, 2);
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
	before("is_there", 1, release_and_close, NULL);
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	happened();
}

static void close_now(void *unused)
{
	(void)unused;
	weir_sem_close(&sem, WEIR_CLOSE_NOW);
}

/* C19: a close ends the watch. */
IN_A_THREAD(c19_closed_while_watching)
{
	all_out(WEIR_FIFO, 1);
	before("is_there", 1, close_now, NULL);
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

static check_thread behind;

static void one_joins_and_one_comes(void *unused)
{
	behind = start(light_behind, NULL);
	AWAIT(stat_of(&sem).waiters == 2);
	release_one(unused);
}

/* C4: one permit is too few for the watcher; nobody passes it. */
IN_A_THREAD(c4_behind_a_heavy_watcher)
{
	all_out(WEIR_FIFO, 2);
	before("is_there", 1, one_joins_and_one_comes, NULL);
	CHECK_ERR(weir_sem_acquire_for(&sem, 2, 1000000), WEIR_ETIMEDOUT);
	happened();
	finish(behind);
	CHECK_EQ(stat_of(&sem).held, 1);
}

/* C10: too few of what it wants are there; it holds nothing meanwhile. */
IN_A_THREAD(c10_the_watcher_holds_nothing)
{
	all_out(WEIR_FIFO, 2);
	before("is_there", 1, release_one, NULL);
	CHECK_ERR(weir_sem_acquire_for(&sem, 2, 1000000), WEIR_ETIMEDOUT);
	happened();
	CHECK_EQ(stat_of(&sem).free, 1);
}

/* C30: a newcomer lingers, takes what comes, and has not joined the queue. */
IN_A_THREAD(c30_a_newcomer_lingers)
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

/* C14, C30: also one whose deadline is past: it is no wait. */
IN_A_THREAD(c30_a_newcomer_lingers_past_its_deadline)
{
	all_out(WEIR_BARGING, 1);
	before("weir_sem_spin_acquire_", 4, release_one, NULL);
	CHECK_OK(weir_sem_acquire_until(&sem, 1, 0));
	happened();
}

/* C19: and goes to see why when the door is shut. */
IN_A_THREAD(c19_closed_while_lingering)
{
	all_out(WEIR_BARGING, 1);
	before("weir_sem_spin_acquire_", 4, close_now, NULL);
	CHECK_ERR(weir_sem_acquire(&sem, 1, NULL), WEIR_ECLOSED);
	happened();
}

/* C11, C30: nobody lingers for what can never come. */
IN_A_THREAD(c11_too_much_to_linger_for)
{
	all_out(WEIR_BARGING, 1);
	CHECK_ERR(weir_sem_acquire(&sem, 2, NULL), WEIR_ETOOBIG);
}
