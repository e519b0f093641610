/* SPDX-License-Identifier: MIT */
/*
 * marusama/semaphore#3: two acquires of several permits deadlock, because each
 * takes permits one by one and keeps them while it waits for the rest.
 *
 * Threads: A (requests 3), B (requests 3).  Capacity 4.
 *
 *   1. A: takes 1, takes 1.
 *   2. B: takes 1, takes 1.
 *   3. A: waits for one more and keeps 2.
 *   4. B: waits for one more and keeps 2; both wait forever.
 *
 * In weir (C10) an acquire takes all permits or none; a waiter holds no
 * permits.
 */
#include "race.h"
#include "waiter.h"

TEST(c10_a_waiter_holds_nothing)
{
	weir_sem sem = WEIR_SEM_INIT(4);
	struct waiter a = { .sem = &sem, .n = 3 };
	struct waiter upto = { .sem = &sem, .n = 2, .max = 4 };

	CHECK_OK(weir_sem_acquire(&sem, 3, NULL));
	queue_up(&a);
	CHECK_EQ(stat_of(&sem).free, 1);
	CHECK_EQ(stat_of(&sem).held, 3);
	queue_up(&upto);
	CHECK_EQ(stat_of(&sem).free, 1);
	/* Two free permits are not enough for A. */
	weir_sem_release(&sem, 1);
	CHECK_EQ(stat_of(&sem).free, 2);
	CHECK_EQ(waiters_of(&sem), 2);
	weir_sem_release(&sem, 1);
	CHECK_OK(result_of(&a));
	CHECK_EQ(stat_of(&sem).free, 0);
	weir_sem_release(&sem, 3);
	CHECK_OK(result_of(&upto));
	CHECK_EQ(upto.got, 3);
	CHECK_IDENTITY(&sem);
}

struct shared {
	weir_sem sem;
	int64_t inside;		/* atomic: permits in use */
	int64_t rounds;
};

static void *take_three(void *arg)
{
	struct shared *s = arg;

	for (int64_t i = 0; i < s->rounds; i++) {
		CHECK_OK(weir_sem_acquire(&s->sem, 3, NULL));
		CHECK(__atomic_add_fetch(&s->inside, 3, __ATOMIC_RELAXED) <= 4);
		__atomic_sub_fetch(&s->inside, 3, __ATOMIC_RELAXED);
		weir_sem_release(&s->sem, 3);
	}
	return NULL;
}

/* C10: four threads that each request more than half of the permits. */
static void more_than_half(weir_policy policy)
{
	weir_sem_opts opts = { .permits = 4, .policy = policy };
	struct rounds r = rounds(100);

	while (again(&r)) {
		struct shared s = { .rounds = 250 };
		check_thread thread[4];

		CHECK_OK(weir_sem_init_opts(&s.sem, &opts));
		for (int i = 0; i < 4; i++)
			thread[i] = start(take_three, &s);
		for (int i = 0; i < 4; i++)
			finish(thread[i]);
		CHECK_EQ(weir_sem_available(&s.sem), 4);
		CHECK_OK(weir_sem_destroy(&s.sem));
	}
}

TEST(c10_more_than_half_each)
{
	more_than_half(WEIR_FIFO);
	more_than_half(WEIR_BARGING);
}
