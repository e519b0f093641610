/* SPDX-License-Identifier: MIT */
/*
 * JDK-6801020: two concurrent releases of one permit wake only one of two
 * waiters.
 *
 * Threads: A, B (queued), releaser 1, releaser 2.  No permit is free.
 *
 *   1. releaser 1: changes the value from 0 to 1 and wakes A.
 *   2. releaser 2: changes the value from 1 to 2; A is already awake, so it
 *      wakes no other waiter.
 *   3. A: takes one permit; it had read the value 1, so it assumes that none is
 *      left and wakes no other waiter.
 *   4. B: sleeps although a permit is free.
 *
 * In weir (C6) both waiters wake.  The original report needed ten million
 * rounds; this test runs as many as fit its time, up to that number with
 * WEIR_TEST_SCALE.
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
		/* In every second round both waiters are in the queue. */
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
