/* SPDX-License-Identifier: MIT */
/*
 * JDK-6801020: no permits, two waiters, two releases of one at the same time,
 * and only one waiter wakes.
 *
 *   A               B               releaser 1         releaser 2
 *   -               -               ----------         ----------
 *   queues          queues
 *                                   0 -> 1
 *                                   wakes A
 *                                                      1 -> 2
 *                                                      A is already awake:
 *                                                      nothing to do
 *   takes one, sees
 *   "0 left", wakes
 *   nobody
 *                   sleeps on
 *
 * Must hold (C6): both wake.  Ten million rounds were asked for there; here as
 * many as fit the time, up to that number with WEIR_TEST_SCALE.
 */
#include "race.h"
#include "waiter.h"

struct shared {
	struct gate all;
	struct gate fire;	/* the two releasers */
	weir_sem *sem;
	bool stop;
};

static void *acquire_one(void *arg)
{
	struct shared *s = arg;

	for (;;) {
		meet(&s->all);
		if (s->stop)
			return NULL;
		CHECK_OK(weir_sem_acquire(s->sem, 1, NULL));
		meet(&s->all);
	}
}

static void *release_one(void *arg)
{
	struct shared *s = arg;
	uint64_t random = seed_of(1);

	for (;;) {
		meet(&s->all);
		if (s->stop)
			return NULL;
		depart(&s->fire);
		jitter(&random, 100);
		weir_sem_release(s->sem, 1);
		meet(&s->all);
	}
}

static void both_wake(weir_sem *sem)
{
	struct shared s = { .all.parties = 4, .fire.parties = 2, .sem = sem };
	struct rounds r = rounds(check_scale() > 1 ? 10000000 : 20000);
	uint64_t random = seed_of(2);
	check_thread thread[3];

	thread[0] = start(acquire_one, &s);
	thread[1] = start(acquire_one, &s);
	thread[2] = start(release_one, &s);
	while (again(&r)) {
		meet(&s.all);
		/* Every other time both are in the queue for sure. */
		if (r.done % 2)
			AWAIT(waiters_of(sem) == 2);
		depart(&s.fire);
		jitter(&random, 100);
		weir_sem_release(sem, 1);
		meet(&s.all);
		CHECK_EQ(weir_sem_available(sem), 0);
	}
	s.stop = true;
	meet(&s.all);
	for (int i = 0; i < 3; i++)
		finish(thread[i]);
	CHECK_EQ(waiters_of(sem), 0);
}

TEST(c6_two_releases_wake_two)
{
	weir_sem sem = WEIR_SEM_INIT_UNBOUNDED(0);

	both_wake(&sem);
}

TEST(c6_two_releases_wake_two_barging)
{
	weir_sem_opts opts = { .policy = WEIR_BARGING,
			       .flags = WEIR_SEM_UNBOUNDED };
	weir_sem sem;

	CHECK_OK(weir_sem_init_opts(&sem, &opts));
	both_wake(&sem);
}
