/* SPDX-License-Identifier: MIT */
/*
 * glibc bug 18434: a release at the maximum wraps the count instead of being
 * refused, because the check and the addition are two separate steps.
 *
 * Threads: thread 1, thread 2.  One more permit fits below the maximum.
 *
 *   1. thread 1: checks that there is room for one permit: yes.
 *   2. thread 2: checks that there is room for one permit: yes.
 *   3. thread 1: adds one; the count is at the maximum.
 *   4. thread 2: adds one; the count exceeds the maximum.
 *
 * In weir (C8, C9) the call fails with WEIR_EOVERFLOW, or panics if it returns
 * no error, and the value is unchanged.  If two releases race for the last
 * permit below the maximum, exactly one succeeds.
 */
#include "race.h"
#include "waiter.h"

TEST(c8_unbounded_at_the_maximum)
{
	static const int64_t too_many[] = { 1, 2, WEIR_SEM_MAX - 1,
					    WEIR_SEM_MAX };
	weir_sem sem = WEIR_SEM_INIT_UNBOUNDED(WEIR_SEM_MAX);

	for (size_t i = 0; i < 4; i++) {
		CHECK_ERR(weir_sem_try_release(&sem, too_many[i]),
			  WEIR_EOVERFLOW);
		CHECK_EQ(weir_sem_available(&sem), WEIR_SEM_MAX);
		CHECK_PANICS("release", weir_sem_release(&sem, too_many[i]));
		CHECK_EQ(weir_sem_available(&sem), WEIR_SEM_MAX);
	}
	CHECK_ERR(weir_sem_try_release(&sem, WEIR_SEM_MAX + 1), WEIR_EINVAL);
	CHECK_ERR(weir_sem_try_release(&sem, INT64_MAX), WEIR_EINVAL);
	CHECK_ERR(weir_sem_try_release(&sem, -1), WEIR_EINVAL);
	CHECK_ERR(weir_sem_try_release(&sem, INT64_MIN), WEIR_EINVAL);
	CHECK_EQ(weir_sem_available(&sem), WEIR_SEM_MAX);
	CHECK_OK(weir_sem_acquire(&sem, WEIR_SEM_MAX, NULL));
	CHECK_EQ(weir_sem_available(&sem), 0);
	CHECK_OK(weir_sem_try_release(&sem, WEIR_SEM_MAX));
	CHECK_ERR(weir_sem_try_release(&sem, 1), WEIR_EOVERFLOW);
	CHECK_EQ(weir_sem_available(&sem), WEIR_SEM_MAX);
}

TEST(c8_bounded_at_the_maximum)
{
	weir_sem sem = WEIR_SEM_INIT(WEIR_SEM_MAX);

	CHECK_ERR(weir_sem_try_release(&sem, 1), WEIR_EOVERFLOW);
	CHECK_OK(weir_sem_acquire(&sem, 5, NULL));
	CHECK_ERR(weir_sem_try_release(&sem, 6), WEIR_EOVERFLOW);
	CHECK_ERR(weir_sem_try_release(&sem, WEIR_SEM_MAX), WEIR_EOVERFLOW);
	CHECK_EQ(weir_sem_available(&sem), WEIR_SEM_MAX - 5);
	CHECK_OK(weir_sem_try_release(&sem, 5));
	CHECK_EQ(weir_sem_available(&sem), WEIR_SEM_MAX);
	CHECK_IDENTITY(&sem);
}

/* C1: the count of a request is checked as well. */
TEST(c1_no_count_beyond_the_maximum)
{
	weir_sem sem = WEIR_SEM_INIT(3);
	weir_sem other;

	CHECK_ERR(weir_sem_acquire(&sem, WEIR_SEM_MAX + 1, NULL), WEIR_EINVAL);
	CHECK_ERR(weir_sem_acquire(&sem, -1, NULL), WEIR_EINVAL);
	CHECK_ERR(weir_sem_try_acquire(&sem, INT64_MIN), WEIR_EINVAL);
	CHECK_ERR(weir_sem_resize(&sem, WEIR_SEM_MAX + 1, NULL), WEIR_EINVAL);
	CHECK_ERR(weir_sem_init(&other, WEIR_SEM_MAX + 1), WEIR_EINVAL);
	CHECK_EQ(weir_sem_available(&sem), 3);
	CHECK_IDENTITY(&sem);
}

struct shared {
	struct gate gate;
	weir_sem *sem;
	bool stop;
	weir_err err;
};

static void *release_too(void *arg)
{
	struct shared *s = arg;

	for (;;) {
		depart(&s->gate);
		if (s->stop)
			return NULL;
		s->err = weir_sem_try_release(s->sem, 1);
		meet(&s->gate);
	}
}

static void race_at_the_maximum(weir_sem *sem)
{
	struct shared s = { .gate.parties = 2, .sem = sem };
	check_thread other = start(release_too, &s);
	struct rounds r = rounds(50000);

	while (again(&r)) {
		weir_err err;

		depart(&s.gate);
		err = weir_sem_try_release(sem, 1);
		meet(&s.gate);
		CHECK((err == WEIR_OK && s.err == WEIR_EOVERFLOW) ||
		      (err == WEIR_EOVERFLOW && s.err == WEIR_OK));
		CHECK_OK(weir_sem_acquire(sem, 1, NULL));
	}
	s.stop = true;
	meet(&s.gate);
	finish(other);
}

TEST(c8_two_releases_race_at_the_maximum)
{
	weir_sem signal = WEIR_SEM_INIT_UNBOUNDED(WEIR_SEM_MAX - 1);
	weir_sem bounded = WEIR_SEM_INIT(WEIR_SEM_MAX);

	race_at_the_maximum(&signal);
	CHECK_OK(weir_sem_acquire(&bounded, 1, NULL));
	race_at_the_maximum(&bounded);
}
