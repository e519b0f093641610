/* SPDX-License-Identifier: MIT */
/*
 * tokio PR #8021 (issue 8020): a closed semaphore opens again, because
 * forgetting permits rewrites the state word from the permit count and drops
 * the closed bit in the same word.
 *
 * Threads: closer, other.
 *
 *   1. other: reads the word: 3 permits, open.
 *   2. closer: sets the closed bit.
 *   3. other: forgets one permit; writes the word: 2 permits, open.
 *   4. closer: acquire waits or succeeds, although the semaphore was closed.
 *
 * In weir (C19) a semaphore stays closed, in both ways of closing, whatever
 * else is called before, after or at the same time.
 */
#include "race.h"
#include "waiter.h"

static void poke(weir_sem *sem, int which, int64_t held)
{
	weir_sem_info info;
	int64_t got;

	switch (which) {
	case 0:
		CHECK_OK(weir_sem_forget(sem, held ? 1 : 0));
		break;
	case 1:
		CHECK_OK(weir_sem_resize(sem, 1, NULL));
		break;
	case 2:
		CHECK_OK(weir_sem_resize(sem, 100, NULL));
		break;
	case 3:
		CHECK_OK(weir_sem_resize(sem, 0, NULL));
		break;
	case 4:
		weir_sem_release(sem, held ? 1 : 0);
		break;
	case 5:
		(void)!weir_sem_drain(sem, &got);
		break;
	case 6:
		(void)!weir_sem_try_acquire(sem, 1);
		break;
	case 7:
		(void)!weir_sem_acquire_until(sem, 1, 1);
		break;
	case 8:
		weir_sem_close(sem, WEIR_CLOSE_DRAIN);
		break;
	case 9:
		weir_sem_close(sem, WEIR_CLOSE_NOW);
		break;
	default:
		CHECK_OK(weir_sem_stat(sem, &info));
	}
}

#define POKES 11

static void stays_closed(weir_close how, weir_policy policy, int which)
{
	weir_sem_opts opts = { .permits = 5, .policy = policy };
	int64_t got = 7;
	weir_sem sem;

	CHECK_OK(weir_sem_init_opts(&sem, &opts));
	CHECK_OK(weir_sem_acquire(&sem, 2, NULL));
	weir_sem_close(&sem, how);
	poke(&sem, which, 2);
	poke(&sem, which, 1);
	CHECK(weir_sem_is_closed(&sem));
	CHECK(stat_of(&sem).closed);
	CHECK_IDENTITY(&sem);
	if (how == WEIR_CLOSE_DRAIN && which != 9) {
		/* Remaining permits may be taken, but no acquire waits. */
		while (!weir_sem_try_acquire(&sem, 1))
			;
	} else {
		CHECK_ERR(weir_sem_drain(&sem, &got), WEIR_ECLOSED);
		CHECK_EQ(got, 0);
	}
	CHECK_ERR(weir_sem_try_acquire(&sem, 1), WEIR_ECLOSED);
	CHECK_ERR(weir_sem_acquire(&sem, 1, NULL), WEIR_ECLOSED);
	CHECK_ERR(weir_sem_acquire_until(&sem, 1, 1), WEIR_ECLOSED);
	CHECK_ERR(weir_sem_acquire_upto(&sem, 1, 2, NULL, &got),
		  WEIR_ECLOSED);
	CHECK_EQ(waiters_of(&sem), 0);
}

TEST(c19_nothing_reopens)
{
	for (int which = 0; which < POKES; which++) {
		stays_closed(WEIR_CLOSE_NOW, WEIR_FIFO, which);
		stays_closed(WEIR_CLOSE_NOW, WEIR_BARGING, which);
		stays_closed(WEIR_CLOSE_DRAIN, WEIR_FIFO, which);
		stays_closed(WEIR_CLOSE_DRAIN, WEIR_BARGING, which);
	}
}

struct shared {
	struct gate gate;
	weir_sem sem;
	weir_close how;
	bool stop;
};

static void *close_it(void *arg)
{
	struct shared *s = arg;
	uint64_t random = seed_of(1);

	for (;;) {
		depart(&s->gate);
		if (s->stop)
			return NULL;
		jitter(&random, 200);
		weir_sem_close(&s->sem, s->how);
		meet(&s->gate);
	}
}

/* C19: a close races with each of the other calls. */
TEST(c19_nothing_reopens_concurrently)
{
	struct shared s = { .gate.parties = 2 };
	check_thread closer = start(close_it, &s);
	uint64_t random = seed_of(2);
	struct rounds r = rounds(50000);

	while (again(&r)) {
		CHECK_OK(weir_sem_init(&s.sem, 50));
		CHECK_OK(weir_sem_acquire(&s.sem, 20, NULL));
		s.how = r.done % 2 ? WEIR_CLOSE_NOW : WEIR_CLOSE_DRAIN;
		depart(&s.gate);
		for (int i = 0; i < 8; i++)
			poke(&s.sem, (int)random_below(&random, 8), 1);
		meet(&s.gate);
		CHECK(weir_sem_is_closed(&s.sem));
		if (s.how == WEIR_CLOSE_DRAIN)
			while (!weir_sem_try_acquire(&s.sem, 1))
				;
		CHECK_ERR(weir_sem_try_acquire(&s.sem, 1), WEIR_ECLOSED);
		CHECK_IDENTITY(&s.sem);
	}
	s.stop = true;
	meet(&s.gate);
	finish(closer);
}
