/* SPDX-License-Identifier: MIT */
/*
 * Owned permits, C34: each holds a reference that keeps its semaphore alive.
 * Split, merge, move, forget and release keep the count right, on any thread.
 */
#include "check.h"
#include "memory.h"
#include "weir/permit.h"

static weir_permit permit_with_the_last_reference(void)
{
	WEIR_SCOPED weir_permit p = WEIR_PERMIT_INIT;
	weir_sem *sem = new_sem(3);

	CHECK_OK(weir_permit_acquire(&p, sem, 2, NULL));
	CHECK_OK(weir_permit_own(&p));
	CHECK(weir_permit_is_owned(&p));
	CHECK_EQ(refs_of(sem), 2);
	weir_sem_unref(sem);
	return weir_permit_move(&p);
}

/* C34: an owned permit outlives the scope that created the semaphore. */
TEST(c34_an_owned_permit_keeps_its_semaphore)
{
	weir_permit p = permit_with_the_last_reference();
	weir_permit q = WEIR_PERMIT_INIT;
	weir_sem *sem = weir_permit_sem(&p);

	CHECK_EQ(alive(), 1);
	CHECK_EQ(refs_of(sem), 1);
	CHECK_EQ(weir_permit_count(&p), 2);
	/* The semaphore can be used through the permit. */
	CHECK_OK(weir_permit_acquire(&q, sem, 1, NULL));
	CHECK_EQ(weir_sem_available(sem), 0);
	weir_permit_release(&q);
	CHECK_EQ(alive(), 1);
	weir_permit_release(&p);
	CHECK_EQ(alive(), 0);
	/* C34: a second release has no effect, also after the free. */
	weir_permit_release(&p);
	CHECK_EQ(weir_permit_count(&p), 0);
	CHECK(!weir_permit_sem(&p));
	CHECK(!weir_permit_is_owned(&p));
}

TEST(c34_own_refuses_and_changes_nothing)
{
	weir_sem *sem = new_sem(3);
	weir_permit p = WEIR_PERMIT_INIT;

	CHECK_ERR(weir_permit_own(&p), WEIR_EINVAL);
	CHECK_OK(weir_permit_acquire(&p, sem, 1, NULL));
	CHECK_OK(weir_permit_own(&p));
	CHECK_ERR(weir_permit_own(&p), WEIR_EINVAL);
	CHECK_EQ(refs_of(sem), 2);
	weir_permit_release(&p);
	CHECK_EQ(refs_of(sem), 1);
	weir_sem_unref(sem);
	CHECK_EQ(alive(), 0);
}

TEST(c34_parts_of_an_owned_permit_are_owned)
{
	weir_sem *sem = new_sem(9);
	weir_permit p = WEIR_PERMIT_INIT, q = WEIR_PERMIT_INIT;
	weir_permit r = WEIR_PERMIT_INIT;

	CHECK_OK(weir_permit_acquire(&p, sem, 6, NULL));
	CHECK_OK(weir_permit_own(&p));
	weir_sem_unref(sem);
	CHECK_OK(weir_permit_split(&p, 2, &q));
	CHECK_EQ(refs_of(sem), 2);
	CHECK(weir_permit_is_owned(&q));
	/* Splitting 0 takes no reference; splitting all moves it. */
	CHECK_OK(weir_permit_split(&p, 0, &r));
	CHECK(!weir_permit_is_owned(&r));
	CHECK_EQ(refs_of(sem), 2);
	CHECK_OK(weir_permit_split(&p, 4, &r));
	CHECK(weir_permit_is_owned(&r));
	CHECK(!weir_permit_is_owned(&p));
	CHECK_EQ(refs_of(sem), 2);
	/* A failed split takes no reference. */
	CHECK_ERR(weir_permit_split(&r, 5, &p), WEIR_EINVAL);
	CHECK_ERR(weir_permit_split(&r, 1, &q), WEIR_EINVAL);
	CHECK_EQ(refs_of(sem), 2);
	weir_permit_release(&r);
	CHECK_EQ(weir_sem_available(sem), 7);
	CHECK_EQ(refs_of(sem), 1);
	weir_permit_release(&q);
	CHECK_EQ(alive(), 0);
}

TEST(c34_merging_owned_permits_drops_a_reference)
{
	weir_sem *sem = new_sem(9), *other = new_sem(1);
	weir_permit p = WEIR_PERMIT_INIT, q = WEIR_PERMIT_INIT;
	weir_permit r = WEIR_PERMIT_INIT, s = WEIR_PERMIT_INIT;

	CHECK_OK(weir_permit_acquire(&p, sem, 1, NULL));
	CHECK_OK(weir_permit_acquire(&q, sem, 2, NULL));
	CHECK_OK(weir_permit_acquire(&r, sem, 3, NULL));
	CHECK_OK(weir_permit_acquire(&s, other, 1, NULL));
	CHECK_OK(weir_permit_own(&p));
	CHECK_OK(weir_permit_own(&q));
	CHECK_OK(weir_permit_own(&s));
	CHECK_EQ(refs_of(sem), 3);
	CHECK_ERR(weir_permit_merge(&p, &s), WEIR_EINVAL);
	CHECK_ERR(weir_permit_merge(&p, &p), WEIR_EINVAL);
	CHECK_EQ(refs_of(sem), 3);
	CHECK_EQ(refs_of(other), 2);
	/* Both are owned: one reference is dropped. */
	CHECK_OK(weir_permit_merge(&p, &q));
	CHECK_EQ(refs_of(sem), 2);
	CHECK(weir_permit_is_owned(&p) && !weir_permit_is_owned(&q));
	/* Only the source is owned: its reference moves. */
	CHECK_OK(weir_permit_merge(&r, &p));
	CHECK_EQ(refs_of(sem), 2);
	CHECK(weir_permit_is_owned(&r) && !weir_permit_is_owned(&p));
	/* Only the target is owned: it keeps its reference. */
	CHECK_OK(weir_permit_acquire(&q, sem, 1, NULL));
	CHECK_OK(weir_permit_merge(&r, &q));
	CHECK_EQ(refs_of(sem), 2);
	CHECK(weir_permit_is_owned(&r));
	/* The target is empty: permits and reference move. */
	CHECK_OK(weir_permit_merge(&p, &r));
	CHECK_EQ(weir_permit_count(&p), 7);
	CHECK(weir_permit_is_owned(&p) && !weir_permit_is_owned(&r));
	weir_sem_unref(sem);
	CHECK_EQ(alive(), 2);
	weir_permit_release(&p);
	CHECK_EQ(alive(), 1);
	weir_sem_unref(other);
	weir_permit_release(&s);
	CHECK_EQ(alive(), 0);
}

/* C21: forget lowers the capacity and drops the reference. */
TEST(c34_forgetting_an_owned_permit_drops_its_reference)
{
	weir_sem *sem = new_sem(5);
	weir_permit p = WEIR_PERMIT_INIT;

	CHECK_OK(weir_permit_acquire(&p, sem, 2, NULL));
	CHECK_OK(weir_permit_own(&p));
	CHECK_OK(weir_permit_forget(&p));
	CHECK_EQ(refs_of(sem), 1);
	CHECK_EQ(stat_of(sem).capacity, 3);
	CHECK_OK(weir_permit_acquire(&p, sem, 2, NULL));
	CHECK_OK(weir_permit_own(&p));
	/* A failed forget keeps permits and reference. */
	weir_sem_release(sem, 1);
	CHECK_ERR(weir_permit_forget(&p), WEIR_EOVERFLOW);
	CHECK_EQ(refs_of(sem), 2);
	CHECK(weir_permit_is_owned(&p));
	CHECK_OK(weir_sem_acquire(sem, 1, NULL));
	weir_sem_unref(sem);
	CHECK_EQ(alive(), 1);
	CHECK_OK(weir_permit_forget(&p));
	CHECK_EQ(alive(), 0);
}

TEST(c34_disowning_an_owned_permit_leaves_the_reference)
{
	weir_sem *sem = new_sem(5);
	weir_permit p = WEIR_PERMIT_INIT;

	CHECK_OK(weir_permit_acquire(&p, sem, 2, NULL));
	CHECK_OK(weir_permit_own(&p));
	weir_sem_unref(sem);
	CHECK_EQ(weir_permit_disown(&p), 2);
	CHECK(!weir_permit_is_owned(&p));
	CHECK_EQ(refs_of(sem), 1);
	weir_sem_release(sem, 2);
	CHECK_EQ(weir_sem_available(sem), 5);
	weir_sem_unref(sem);
	CHECK_EQ(alive(), 0);
}

TEST(c34_moving_an_owned_permit_moves_the_reference)
{
	weir_sem *sem = new_sem(5);
	weir_permit p = WEIR_PERMIT_INIT, q;

	CHECK_OK(weir_permit_acquire(&p, sem, 2, NULL));
	CHECK_OK(weir_permit_own(&p));
	q = weir_permit_move(&p);
	CHECK_EQ(refs_of(sem), 2);
	weir_permit_release(&p);
	CHECK_EQ(refs_of(sem), 2);
	weir_sem_unref(sem);
	weir_permit_release(&q);
	CHECK_EQ(alive(), 0);
}

/*
 * C8: an owned permit whose release panics drops its reference, which was
 * valid.
 */
TEST(c34_an_owned_over_release_still_drops_the_reference)
{
	weir_sem *sem = new_sem(5);
	weir_permit p = WEIR_PERMIT_INIT;

	CHECK_OK(weir_permit_adopt(&p, sem, 1));
	CHECK_OK(weir_permit_own(&p));
	CHECK_PANICS("heap", weir_permit_release(&p));
	CHECK_EQ(weir_sem_available(sem), 5);
	CHECK_EQ(refs_of(sem), 1);
	weir_sem_unref(sem);
	CHECK_EQ(alive(), 0);
}

/* The argument of a thread in the next test. */
struct share {
	weir_permit permit;
	uint64_t random;
};

static void *split_and_merge(void *arg)
{
	struct share *share = arg;
	weir_permit parts[4] = { WEIR_PERMIT_INIT, WEIR_PERMIT_INIT,
				 WEIR_PERMIT_INIT, WEIR_PERMIT_INIT };

	parts[0] = weir_permit_move(&share->permit);
	for (int i = 0; i < 500; i++) {
		int64_t k = random_below(&share->random, 4);
		int64_t l = random_below(&share->random, 4);
		int64_t n = weir_permit_count(&parts[k]);

		if (k == l)
			continue;
		if (n > 1 && !weir_permit_count(&parts[l]))
			CHECK_OK(weir_permit_split(&parts[k], n / 2,
						   &parts[l]));
		else
			CHECK_OK(weir_permit_merge(&parts[k], &parts[l]));
	}
	for (int i = 0; i < 4; i++)
		weir_permit_release(&parts[i]);
	return NULL;
}

/*
 * C34, [H1]: threads split, merge and release owned permits of one semaphore.
 * Only these permits keep it alive, and the last release frees it, once.
 */
TEST(c34_the_last_of_many_threads_frees)
{
	enum { THREADS = 4 };
	int rounds = 50 * check_scale();

	for (int round = 0; round < rounds; round++) {
		weir_sem *sem = new_sem(THREADS * 8);
		check_thread threads[THREADS];
		struct share shares[THREADS];

		for (uint64_t i = 0; i < THREADS; i++) {
			weir_permit empty = WEIR_PERMIT_INIT;

			shares[i].permit = empty;
			shares[i].random = seed_of(i);
			CHECK_OK(weir_permit_acquire(&shares[i].permit, sem, 8,
						     NULL));
			CHECK_OK(weir_permit_own(&shares[i].permit));
		}
		weir_sem_unref(sem);
		for (int i = 0; i < THREADS; i++)
			threads[i] = start(split_and_merge, &shares[i]);
		for (int i = 0; i < THREADS; i++)
			finish(threads[i]);
		CHECK_EQ(alive(), 0);
	}
}

static void *wait_and_unref(void *arg)
{
	weir_sem *sem = arg;

	CHECK_OK(weir_sem_acquire(sem, 1, NULL));
	weir_sem_unref(sem);
	return NULL;
}

/*
 * C22: the release of an owned permit grants to a waiter, which drops its own
 * reference before the releasing thread has dropped the permit's.  The last of
 * the two frees the semaphore.
 */
TEST(c34_c22_release_and_unref_race)
{
	int rounds = 300 * check_scale();

	for (int round = 0; round < rounds; round++) {
		weir_sem *sem = new_sem(1);
		weir_permit p = WEIR_PERMIT_INIT;
		check_thread thread;

		CHECK_OK(weir_permit_acquire(&p, sem, 1, NULL));
		CHECK_OK(weir_permit_own(&p));
		/* The new thread takes over the first reference. */
		thread = start(wait_and_unref, sem);
		if (round % 2)
			AWAIT(waiters_of(sem) == 1);
		weir_permit_release(&p);
		finish(thread);
		CHECK_EQ(alive(), 0);
	}
}
