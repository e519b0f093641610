/* SPDX-License-Identifier: MIT */
/*
 * Acquire and release without waiters: C1, C2, C5, C6, C8, C10, C12, C14, C15,
 * C16.
 */
#include "kind.h"

/* C1: a count out of range is refused and changes nothing. */
EVERY(c1_counts_out_of_range)
{
	static const int64_t bad[] = { -1, -5, INT64_MIN, WEIR_SEM_MAX + 1,
				       INT64_MAX };
	void *sem = k->make(3);
	int64_t got = 7;

	CHECK_OK(k->acquire(sem, 1, NULL));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		CHECK_ERR(k->acquire(sem, bad[i], NULL), WEIR_EINVAL);
		CHECK_ERR(k->acquire_until(sem, bad[i], 0), WEIR_EINVAL);
		CHECK_ERR(k->acquire_for(sem, bad[i], 0), WEIR_EINVAL);
		CHECK_ERR(k->try_acquire(sem, bad[i]), WEIR_EINVAL);
		CHECK_ERR(k->acquire_upto(sem, bad[i], bad[i], NULL, &got),
			  WEIR_EINVAL);
		CHECK_EQ(got, 0);
		CHECK_ERR(k->try_release(sem, bad[i]), WEIR_EINVAL);
		CHECK_ERR(k->resize(sem, bad[i], NULL), WEIR_EINVAL);
		CHECK_ERR(k->forget(sem, bad[i]), WEIR_EINVAL);
	}
	CHECK_ERR(k->acquire_upto(sem, 2, 1, NULL, &got), WEIR_EINVAL);
	CHECK_EQ(k->stat(sem).free, 2);
	CHECK_EQ(k->stat(sem).held, 1);
	k->release(sem, 1);
	drop(k, sem);
}

/* C1: counts are exact up to the maximum. */
LOCAL(c1_the_largest_counts)
{
	void *sem = k->make(WEIR_SEM_MAX);

	CHECK_OK(k->acquire(sem, WEIR_SEM_MAX - 1, NULL));
	CHECK_EQ(k->available(sem), 1);
	CHECK_OK(k->try_acquire(sem, 1));
	CHECK_ERR(k->try_acquire(sem, 1), WEIR_EAGAIN);
	CHECK_EQ(CHECK_PICTURE(k, sem).held, WEIR_SEM_MAX);
	k->release(sem, WEIR_SEM_MAX);
	drop(k, sem);
}

/* C2: the order of the checks: arguments, context, closed, zero permits. */
EVERY(c2_the_order_of_the_checks)
{
	void *sem = k->make(2);
	weir_ctx ended = WEIR_CTX_INIT;

	weir_ctx_cancel(&ended);
	CHECK_ERR(k->acquire(sem, -1, &ended), WEIR_EINVAL);
	CHECK_ERR(k->acquire(sem, 1, &ended), WEIR_ECANCELED);
	CHECK_ERR(k->acquire(sem, 0, &ended), WEIR_ECANCELED);
	CHECK_OK(k->acquire(sem, 0, NULL));
	CHECK_EQ(k->stat(sem).held, 0);
	k->close(sem, WEIR_CLOSE_NOW);
	CHECK_ERR(k->acquire(sem, -1, NULL), WEIR_EINVAL);
	CHECK_ERR(k->acquire(sem, 1, &ended), WEIR_ECANCELED);
	CHECK_ERR(k->acquire(sem, 0, NULL), WEIR_ECLOSED);
	CHECK_ERR(k->try_acquire(sem, -1), WEIR_EINVAL);
	CHECK_ERR(k->try_acquire(sem, 0), WEIR_ECLOSED);
	CHECK_OK(weir_ctx_destroy(&ended));
	drop(k, sem);
}

/* C2: zero permits are always granted, also when none is free. */
EVERY(c2_zero_of_an_empty_semaphore)
{
	void *sem = k->make(0);
	int64_t got = 7;

	CHECK_OK(k->acquire(sem, 0, NULL));
	CHECK_OK(k->acquire_until(sem, 0, 0));
	CHECK_OK(k->try_acquire(sem, 0));
	CHECK_OK(k->acquire_upto(sem, 0, 5, NULL, &got));
	CHECK_EQ(got, 0);
	k->release(sem, 0);
	CHECK_OK(k->try_release(sem, 0));
	CHECK_OK(k->wait_idle(sem, NULL));
	drop(k, sem);
}

/* C5, C10: all or nothing; fails only if the request does not fit. */
EVERY(c5_c10_try_is_exact)
{
	void *sem = k->make(5);

	for (int64_t held = 0; held <= 5; held++) {
		for (int64_t n = 0; n <= 7; n++) {
			bool fits = held + n <= 5;

			CHECK_ERR(k->try_acquire(sem, n),
				  fits ? WEIR_OK : WEIR_EAGAIN);
			if (fits)
				k->release(sem, n);
			CHECK_EQ(k->available(sem), 5 - held);
		}
		if (held < 5)
			CHECK_OK(k->try_acquire(sem, 1));
	}
	k->release(sem, 5);
	drop(k, sem);
}

static struct {
	const struct kind *k;
	void *sem;
} elsewhere;

static void *release_there(void *arg)
{
	(void)arg;
	elsewhere.k->release(elsewhere.sem, 1);
	return NULL;
}

/* C6: a thread that never acquired may release. */
EVERY(c6_any_thread_releases)
{
	void *sem = k->make(1);

	CHECK_OK(k->acquire(sem, 1, NULL));
	elsewhere.k = k;
	elsewhere.sem = sem;
	finish(start(release_there, NULL));
	CHECK_OK(k->try_acquire(sem, 1));
	k->release(sem, 1);
	drop(k, sem);
}

/* C8: releasing more than is held is an error and has no effect. */
LOCAL(c8_a_release_too_many)
{
	void *sem = k->make(5);

	CHECK_ERR(k->try_release(sem, 1), WEIR_EOVERFLOW);
	CHECK_OK(k->acquire(sem, 2, NULL));
	/* Compared with the held permits, not with the capacity. */
	CHECK_ERR(k->try_release(sem, 3), WEIR_EOVERFLOW);
	CHECK_PANICS("3 permits", k->release(sem, 3));
	CHECK_EQ(CHECK_PICTURE(k, sem).held, 2);
	CHECK_OK(k->try_release(sem, 2));
	CHECK_ERR(k->try_release(sem, 1), WEIR_EOVERFLOW);
	drop(k, sem);
}

/* C12: as many as are free, within bounds; and all that are free. */
EVERY(c12_upto_and_drain)
{
	void *sem = k->make(5);
	int64_t got;

	CHECK_OK(k->acquire_upto(sem, 1, 3, NULL, &got));
	CHECK_EQ(got, 3);
	CHECK_OK(k->acquire_upto(sem, 1, 9, NULL, &got));
	CHECK_EQ(got, 2);
	CHECK_OK(k->acquire_upto(sem, 0, 9, NULL, &got));
	CHECK_EQ(got, 0);
	CHECK_ERR(k->acquire_upto(sem, 6, 9, NULL, &got), WEIR_ETOOBIG);
	CHECK_EQ(got, 0);
	k->release(sem, 4);
	CHECK_OK(k->drain(sem, &got));
	CHECK_EQ(got, 4);
	CHECK_OK(k->drain(sem, &got));
	CHECK_EQ(got, 0);
	k->release(sem, 5);
	drop(k, sem);
}

/* C14: a deadline limits waiting, not acquiring free permits. */
EVERY(c14_a_deadline_that_has_passed)
{
	void *sem = k->make(2);

	CHECK_OK(k->acquire_until(sem, 1, 0));
	CHECK_OK(k->acquire_for(sem, 1, -1));
	CHECK_ERR(k->acquire_until(sem, 1, 0), WEIR_ETIMEDOUT);
	CHECK_ERR(k->acquire_until(sem, 1, INT64_MIN), WEIR_ETIMEDOUT);
	CHECK_ERR(k->acquire_for(sem, 1, 1000000), WEIR_ETIMEDOUT);
	k->release(sem, 2);
	drop(k, sem);
}

/* C15: a timeout that overflows means forever. */
EVERY(c15_relative_times_saturate)
{
	void *sem = k->make(1);

	CHECK_OK(k->acquire_for(sem, 1, INT64_MAX));
	CHECK_ERR(k->acquire_for(sem, 1, INT64_MIN), WEIR_ETIMEDOUT);
	k->release(sem, 1);
	drop(k, sem);
}

/* C11, C16: a call that fails returns the reason and changes nothing. */
EVERY(c11_c16_failures_leave_no_trace)
{
	void *sem = k->make(3);
	struct picture before, after;
	weir_ctx late;
	int64_t got;

	CHECK_OK(weir_ctx_init(&late, NULL, 1));
	CHECK_OK(k->acquire(sem, 2, NULL));
	before = k->stat(sem);
	CHECK_ERR(k->acquire(sem, 4, NULL), WEIR_ETOOBIG);
	CHECK_ERR(k->acquire_until(sem, 2, 0), WEIR_ETIMEDOUT);
	CHECK_ERR(k->acquire(sem, 1, &late), WEIR_ETIMEDOUT);
	CHECK_ERR(k->acquire_upto(sem, 2, 3, &late, &got), WEIR_ETIMEDOUT);
	CHECK_ERR(k->try_acquire(sem, 2), WEIR_EAGAIN);
	CHECK_ERR(k->try_release(sem, 3), WEIR_EOVERFLOW);
	CHECK_ERR(k->forget(sem, 3), WEIR_EOVERFLOW);
	CHECK_ERR(k->wait_idle(sem, &late), WEIR_ETIMEDOUT);
	after = k->stat(sem);
	CHECK_EQ(after.free, before.free);
	CHECK_EQ(after.held, before.held);
	CHECK_EQ(after.capacity, before.capacity);
	CHECK_EQ(after.waiters + after.oversized, 0);
	CHECK_EQ(after.waiting_permits, 0);
	CHECK_OK(weir_ctx_destroy(&late));
	k->release(sem, 2);
	drop(k, sem);
}
