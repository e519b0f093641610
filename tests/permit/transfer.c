/* SPDX-License-Identifier: MIT */
/*
 * Transfer of permits, C34: split, merge, move, forget, disown, adopt.  owned.c
 * tests owned permits.
 */
#include "check.h"
#include "holds.h"
#include "weir/permit.h"

TEST(c34_split_moves_part)
{
	weir_sem sem = WEIR_SEM_INIT(10);
	weir_permit p = WEIR_PERMIT_INIT, q = WEIR_PERMIT_INIT;

	CHECK_OK(weir_permit_acquire(&p, &sem, 7, NULL));
	CHECK_OK(weir_permit_split(&p, 3, &q));
	CHECK_HOLDS(&p, &sem, 4);
	CHECK_HOLDS(&q, &sem, 3);
	CHECK_EQ(weir_sem_available(&sem), 3);
	weir_permit_release(&p);
	CHECK_EQ(weir_sem_available(&sem), 7);
	weir_permit_release(&q);
	CHECK_EQ(weir_sem_available(&sem), 10);
}

TEST(c34_split_of_all_or_none)
{
	weir_sem sem = WEIR_SEM_INIT(10);
	weir_permit p = WEIR_PERMIT_INIT, q = WEIR_PERMIT_INIT;

	CHECK_OK(weir_permit_acquire(&p, &sem, 7, NULL));
	CHECK_OK(weir_permit_split(&p, 0, &q));
	CHECK(is_empty(&q));
	CHECK_HOLDS(&p, &sem, 7);
	CHECK_OK(weir_permit_split(&p, 7, &q));
	CHECK(is_empty(&p));
	CHECK_HOLDS(&q, &sem, 7);
	/* A split of 0 from an empty permit into itself has no effect. */
	CHECK_OK(weir_permit_split(&p, 0, &p));
	CHECK(is_empty(&p));
	weir_permit_release(&q);
	CHECK_EQ(weir_sem_available(&sem), 10);
}

TEST(c34_split_refuses_and_changes_nothing)
{
	weir_sem sem = WEIR_SEM_INIT(10);
	weir_permit p = WEIR_PERMIT_INIT, q = WEIR_PERMIT_INIT;
	weir_permit none = WEIR_PERMIT_INIT;

	CHECK_OK(weir_permit_acquire(&p, &sem, 3, NULL));
	CHECK_ERR(weir_permit_split(&p, 4, &q), WEIR_EINVAL);
	CHECK_ERR(weir_permit_split(&p, -1, &q), WEIR_EINVAL);
	CHECK_ERR(weir_permit_split(&p, INT64_MIN, &q), WEIR_EINVAL);
	CHECK_ERR(weir_permit_split(&p, INT64_MAX, &q), WEIR_EINVAL);
	CHECK_ERR(weir_permit_split(&none, 1, &q), WEIR_EINVAL);
	CHECK(is_empty(&q));
	CHECK_ERR(weir_permit_split(&p, 1, &p), WEIR_EINVAL);
	CHECK_OK(weir_permit_acquire(&q, &sem, 1, NULL));
	CHECK_ERR(weir_permit_split(&p, 1, &q), WEIR_EINVAL);
	CHECK_ERR(weir_permit_split(&p, 0, &q), WEIR_EINVAL);
	CHECK_HOLDS(&p, &sem, 3);
	CHECK_HOLDS(&q, &sem, 1);
	weir_permit_release(&p);
	weir_permit_release(&q);
	CHECK_EQ(weir_sem_available(&sem), 10);
}

TEST(c34_merge_adds_up)
{
	weir_sem sem = WEIR_SEM_INIT(10);
	weir_permit p = WEIR_PERMIT_INIT, q = WEIR_PERMIT_INIT;

	CHECK_OK(weir_permit_acquire(&p, &sem, 2, NULL));
	CHECK_OK(weir_permit_acquire(&q, &sem, 3, NULL));
	CHECK_OK(weir_permit_merge(&p, &q));
	CHECK_HOLDS(&p, &sem, 5);
	CHECK(is_empty(&q));
	/* From an empty permit: no effect.  Into an empty permit: a move. */
	CHECK_OK(weir_permit_merge(&p, &q));
	CHECK_HOLDS(&p, &sem, 5);
	CHECK_OK(weir_permit_merge(&q, &p));
	CHECK_HOLDS(&q, &sem, 5);
	CHECK(is_empty(&p));
	weir_permit_release(&p);
	CHECK_EQ(weir_sem_available(&sem), 5);
	weir_permit_release(&q);
	CHECK_EQ(weir_sem_available(&sem), 10);
	CHECK_OK(weir_permit_merge(&q, &p));
	CHECK(is_empty(&q));
}

/* C34: only permits of the same semaphore can be merged. */
TEST(c34_merge_refuses_and_changes_nothing)
{
	weir_sem a = WEIR_SEM_INIT(10), b = WEIR_SEM_INIT(10);
	weir_permit p = WEIR_PERMIT_INIT, q = WEIR_PERMIT_INIT;

	CHECK_OK(weir_permit_acquire(&p, &a, 2, NULL));
	CHECK_OK(weir_permit_acquire(&q, &b, 3, NULL));
	CHECK_ERR(weir_permit_merge(&p, &q), WEIR_EINVAL);
	CHECK_ERR(weir_permit_merge(&q, &p), WEIR_EINVAL);
	CHECK_ERR(weir_permit_merge(&p, &p), WEIR_EINVAL);
	CHECK_HOLDS(&p, &a, 2);
	CHECK_HOLDS(&q, &b, 3);
	weir_permit_release(&p);
	weir_permit_release(&q);
	CHECK_EQ(weir_sem_available(&a), 10);
	CHECK_EQ(weir_sem_available(&b), 10);
}

/* C34, C1: a merge does not exceed WEIR_SEM_MAX. */
TEST(c34_merge_does_not_overflow)
{
	weir_sem sem = WEIR_SEM_INIT_UNBOUNDED(WEIR_SEM_MAX);
	weir_permit p = WEIR_PERMIT_INIT, q = WEIR_PERMIT_INIT;
	weir_permit one = WEIR_PERMIT_INIT;

	CHECK_OK(weir_permit_acquire(&p, &sem, WEIR_SEM_MAX, NULL));
	weir_sem_release(&sem, WEIR_SEM_MAX);
	CHECK_OK(weir_permit_acquire(&q, &sem, WEIR_SEM_MAX, NULL));
	CHECK_ERR(weir_permit_merge(&p, &q), WEIR_EINVAL);
	CHECK_OK(weir_permit_split(&q, 1, &one));
	CHECK_ERR(weir_permit_merge(&p, &one), WEIR_EINVAL);
	CHECK_HOLDS(&p, &sem, WEIR_SEM_MAX);
	CHECK_HOLDS(&q, &sem, WEIR_SEM_MAX - 1);
	CHECK_HOLDS(&one, &sem, 1);
	/* Exactly the maximum is allowed. */
	CHECK_OK(weir_permit_merge(&q, &one));
	CHECK_HOLDS(&q, &sem, WEIR_SEM_MAX);
	weir_permit_release(&q);
	CHECK_EQ(weir_sem_available(&sem), WEIR_SEM_MAX);
	CHECK_EQ(weir_permit_disown(&p), WEIR_SEM_MAX);
}

static weir_permit acquire_two(weir_sem *sem)
{
	WEIR_SCOPED weir_permit p = WEIR_PERMIT_INIT;

	CHECK_OK(weir_permit_acquire(&p, sem, 2, NULL));
	return weir_permit_move(&p);
}

/* C34: the end of a scope does not release a permit that was moved out. */
TEST(c34_move_returns_a_permit_by_value)
{
	weir_sem sem = WEIR_SEM_INIT(3);
	weir_permit p = acquire_two(&sem);

	CHECK_HOLDS(&p, &sem, 2);
	CHECK_EQ(weir_sem_available(&sem), 1);
	weir_permit_release(&p);
	CHECK_EQ(weir_sem_available(&sem), 3);
	/* An empty permit can be moved too. */
	p = weir_permit_move(&p);
	CHECK(is_empty(&p));
}

/* Passes one permit between threads; its semaphores order the accesses. */
struct mailbox {
	weir_sem full, room;
	weir_permit permit;
};

static void put(struct mailbox *box, weir_permit *permit)
{
	CHECK_OK(weir_sem_acquire(&box->room, 1, NULL));
	box->permit = weir_permit_move(permit);
	weir_sem_release(&box->full, 1);
}

static weir_permit get(struct mailbox *box)
{
	weir_permit permit;

	CHECK_OK(weir_sem_acquire(&box->full, 1, NULL));
	permit = weir_permit_move(&box->permit);
	weir_sem_release(&box->room, 1);
	return permit;
}

static void *release_each(void *arg)
{
	for (;;) {
		WEIR_SCOPED weir_permit p = get(arg);

		if (!weir_permit_count(&p))
			return NULL;
	}
}

/* C34, C6: another thread releases the permits that this one acquired. */
TEST(c34_move_to_another_thread)
{
	struct mailbox box = { WEIR_SEM_INIT_UNBOUNDED(0),
			       WEIR_SEM_INIT_UNBOUNDED(1), WEIR_PERMIT_INIT };
	weir_sem sem = WEIR_SEM_INIT(4);
	check_thread thread = start(release_each, &box);
	weir_permit last = WEIR_PERMIT_INIT;
	int rounds = 2000 * check_scale();

	/* Capacity 4: the loop ends only if the other thread releases. */
	for (int i = 0; i < rounds; i++) {
		weir_permit p = WEIR_PERMIT_INIT;

		CHECK_OK(weir_permit_acquire(&p, &sem, 1 + i % 4, NULL));
		put(&box, &p);
		CHECK(is_empty(&p));
	}
	put(&box, &last);
	finish(thread);
	CHECK_EQ(weir_sem_available(&sem), 4);
	CHECK_IDENTITY(&sem);
	CHECK_OK(weir_sem_destroy(&sem));
}

/* C34, C21: forget lowers the capacity permanently. */
TEST(c34_forget_shrinks_the_capacity)
{
	weir_sem sem = WEIR_SEM_INIT(10);
	weir_permit p = WEIR_PERMIT_INIT;

	CHECK_OK(weir_permit_acquire(&p, &sem, 4, NULL));
	CHECK_OK(weir_permit_forget(&p));
	CHECK(is_empty(&p));
	CHECK_EQ(stat_of(&sem).capacity, 6);
	CHECK_EQ(stat_of(&sem).free, 6);
	CHECK_EQ(stat_of(&sem).held, 0);
	/* forget and release of an empty permit have no effect. */
	CHECK_OK(weir_permit_forget(&p));
	weir_permit_release(&p);
	CHECK_EQ(stat_of(&sem).capacity, 6);
	CHECK_IDENTITY(&sem);
	/* C19: forget does not reopen a closed semaphore. */
	CHECK_OK(weir_permit_acquire(&p, &sem, 6, NULL));
	weir_sem_close(&sem, WEIR_CLOSE_NOW);
	CHECK_OK(weir_permit_forget(&p));
	CHECK(weir_sem_is_closed(&sem));
	CHECK_ERR(weir_sem_try_acquire(&sem, 0), WEIR_ECLOSED);
}

TEST(c34_forget_unbounded_and_when_fewer_are_held)
{
	weir_sem sem = WEIR_SEM_INIT(3), unbounded = WEIR_SEM_INIT_UNBOUNDED(5);
	weir_permit p = WEIR_PERMIT_INIT;

	CHECK_OK(weir_permit_acquire(&p, &unbounded, 2, NULL));
	CHECK_OK(weir_permit_forget(&p));
	CHECK(is_empty(&p));
	CHECK_EQ(weir_sem_available(&unbounded), 3);

	/* Fewer are held than the permit has: forget fails, no effect. */
	CHECK_OK(weir_permit_acquire(&p, &sem, 2, NULL));
	weir_sem_release(&sem, 1);
	CHECK_ERR(weir_permit_forget(&p), WEIR_EOVERFLOW);
	CHECK_HOLDS(&p, &sem, 2);
	CHECK_EQ(stat_of(&sem).capacity, 3);
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	weir_permit_release(&p);
	CHECK_EQ(weir_sem_available(&sem), 3);
}

TEST(c34_disown_and_adopt)
{
	weir_sem sem = WEIR_SEM_INIT(10);
	weir_permit p = WEIR_PERMIT_INIT, q = WEIR_PERMIT_INIT;

	CHECK_OK(weir_permit_acquire(&p, &sem, 4, NULL));
	CHECK_EQ(weir_permit_disown(&p), 4);
	CHECK(is_empty(&p));
	CHECK_EQ(weir_permit_disown(&p), 0);
	weir_permit_release(&p);
	CHECK_EQ(weir_sem_available(&sem), 6);
	/* The caller holds them: release one, adopt the rest. */
	weir_sem_release(&sem, 1);
	CHECK_OK(weir_permit_adopt(&q, &sem, 3));
	CHECK_HOLDS(&q, &sem, 3);
	CHECK_EQ(weir_sem_available(&sem), 7);
	weir_permit_release(&q);
	CHECK_EQ(weir_sem_available(&sem), 10);
	CHECK_IDENTITY(&sem);
}

TEST(c34_adopt_refuses_and_changes_nothing)
{
	weir_sem sem = WEIR_SEM_INIT(10);
	weir_permit p = WEIR_PERMIT_INIT;
	weir_sem *misaligned = (weir_sem *)(void *)((char *)(void *)&sem + 1);

	CHECK_ERR(weir_permit_adopt(&p, NULL, 1), WEIR_EINVAL);
	CHECK_ERR(weir_permit_adopt(&p, misaligned, 1), WEIR_EINVAL);
	CHECK_ERR(weir_permit_adopt(&p, &sem, -1), WEIR_EINVAL);
	CHECK_ERR(weir_permit_adopt(&p, &sem, WEIR_SEM_MAX + 1), WEIR_EINVAL);
	CHECK(is_empty(&p));
}

/* C34: permits from acquire_upto and drain can be adopted. */
TEST(c34_adopt_what_upto_and_drain_took)
{
	weir_sem sem = WEIR_SEM_INIT(10);
	weir_permit p = WEIR_PERMIT_INIT, q = WEIR_PERMIT_INIT;
	int64_t got;

	CHECK_OK(weir_sem_acquire_upto(&sem, 1, 4, NULL, &got));
	CHECK_OK(weir_permit_adopt(&p, &sem, got));
	CHECK_HOLDS(&p, &sem, 4);
	CHECK_OK(weir_sem_drain(&sem, &got));
	CHECK_OK(weir_permit_adopt(&q, &sem, got));
	CHECK_HOLDS(&q, &sem, 6);
	CHECK_OK(weir_permit_merge(&p, &q));
	weir_permit_release(&p);
	CHECK_EQ(weir_sem_available(&sem), 10);
}
