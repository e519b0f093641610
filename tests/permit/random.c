/* SPDX-License-Identifier: MIT */
/*
 * C34: random calls on a few permits, each checked against a model in plain
 * integers: the count of every permit, and the held permits and references of
 * every semaphore.
 */
#include "check.h"
#include "memory.h"
#include "weir/permit.h"

enum { SEMS = 3, PERMITS = 6, N = 12 };

struct model {
	int sem;		/* index, or -1: empty */
	int64_t n;
	bool owned;
};

static weir_sem *sems[SEMS];
static int64_t capacity[SEMS], held[SEMS];
static weir_permit permits[PERMITS];
static struct model models[PERMITS];
static const struct model nothing = { -1, 0, false };

static void compare(void)
{
	int64_t sum[SEMS] = { 0 }, refs[SEMS] = { 0 };

	for (int i = 0; i < PERMITS; i++) {
		const struct model *m = &models[i];

		CHECK_EQ(weir_permit_count(&permits[i]), m->n);
		CHECK(weir_permit_sem(&permits[i]) ==
		      (m->sem < 0 ? NULL : sems[m->sem]));
		CHECK_EQ(weir_permit_is_owned(&permits[i]), m->owned);
		if (m->sem >= 0) {
			sum[m->sem] += m->n;
			refs[m->sem] += m->owned;
		}
	}
	for (int s = 0; s < SEMS; s++) {
		CHECK_EQ(held[s], sum[s]);
		CHECK_EQ(refs_of(sems[s]), 1 + refs[s]);	/* 1: sems[s] */
		CHECK_EQ(stat_of(sems[s]).held, held[s]);
		CHECK_EQ(stat_of(sems[s]).capacity, capacity[s]);
		CHECK_IDENTITY(sems[s]);
	}
}

/* Each function makes one call and applies it to the model. */

static void do_acquire(int i, int s, int64_t n)
{
	struct model *m = &models[i];
	weir_err err = weir_permit_try_acquire(&permits[i], sems[s], n);

	if (m->sem >= 0 || n < 0) {
		CHECK_ERR(err, WEIR_EINVAL);
	} else if (n > capacity[s] - held[s]) {
		CHECK_ERR(err, WEIR_EAGAIN);
	} else {
		CHECK_OK(err);
		if (n)
			*m = (struct model){ s, n, false };
		held[s] += n;
	}
}

static void do_release(int i)
{
	struct model *m = &models[i];

	weir_permit_release(&permits[i]);
	if (m->sem >= 0)
		held[m->sem] -= m->n;
	*m = nothing;
}

static void do_own(int i)
{
	struct model *m = &models[i];
	weir_err err = weir_permit_own(&permits[i]);

	CHECK_ERR(err, m->sem < 0 || m->owned ? WEIR_EINVAL : WEIR_OK);
	if (err == WEIR_OK)
		m->owned = true;
}

static void do_split(int i, int j, int64_t n)
{
	struct model *from = &models[i], *to = &models[j];
	weir_err err = weir_permit_split(&permits[i], n, &permits[j]);

	if (to->sem >= 0 || n < 0 || n > from->n) {
		CHECK_ERR(err, WEIR_EINVAL);
		return;
	}
	CHECK_OK(err);
	if (i == j || !n)
		return;
	*to = (struct model){ from->sem, n, from->owned };
	from->n -= n;
	if (!from->n)
		*from = nothing;
}

static void do_merge(int i, int j)
{
	struct model *to = &models[i], *from = &models[j];
	weir_err err = weir_permit_merge(&permits[i], &permits[j]);

	if (i == j || (to->sem >= 0 && from->sem >= 0 && to->sem != from->sem)) {
		CHECK_ERR(err, WEIR_EINVAL);
		return;
	}
	CHECK_OK(err);
	if (from->sem >= 0)
		to->sem = from->sem;
	to->n += from->n;
	to->owned |= from->owned;
	*from = nothing;
}

static void do_move(int i, int j)
{
	weir_permit moved = weir_permit_move(&permits[i]);
	struct model m = models[i];

	models[i] = nothing;
	do_release(j);
	permits[j] = moved;
	models[j] = m;
}

static void do_forget(int i)
{
	struct model *m = &models[i];

	CHECK_OK(weir_permit_forget(&permits[i]));
	if (m->sem >= 0) {
		capacity[m->sem] -= m->n;
		held[m->sem] -= m->n;
	}
	*m = nothing;
}

static void do_disown_and_adopt(int i, int j)
{
	struct model m = models[i];
	weir_sem *sem = weir_permit_sem(&permits[i]);

	CHECK_EQ(weir_permit_disown(&permits[i]), m.n);
	models[i] = nothing;
	if (!sem)
		return;
	do_release(j);
	CHECK_OK(weir_permit_adopt(&permits[j], sem, m.n));
	models[j] = (struct model){ m.sem, m.n, false };
	/* disown has left the reference to the caller. */
	if (m.owned)
		weir_sem_unref(sem);
}

static void refill(int s)
{
	CHECK_OK(weir_sem_resize(sems[s], N, NULL));
	capacity[s] = N;
}

TEST(c34_random_calls_follow_the_model)
{
	const weir_permit empty = WEIR_PERMIT_INIT;
	uint64_t random = seed_of(0);
	int steps = 30000 * check_scale();

	for (int s = 0; s < SEMS; s++) {
		sems[s] = new_sem(N);
		capacity[s] = N;
		held[s] = 0;
	}
	for (int i = 0; i < PERMITS; i++) {
		permits[i] = empty;
		models[i] = nothing;
	}
	for (int step = 0; step < steps; step++) {
		int i = (int)random_below(&random, PERMITS);
		int j = (int)random_below(&random, PERMITS);
		int s = (int)random_below(&random, SEMS);
		int64_t n = random_below(&random, N / 2) - 1;

		switch (random_below(&random, 20)) {
		case 0: case 1: case 2: case 3: case 4:
			do_acquire(i, s, n);
			break;
		case 5: case 6:
			do_release(i);
			break;
		case 7: case 8: case 9:
			do_own(i);
			break;
		case 10: case 11: case 12:
			do_split(i, j, n);
			break;
		case 13: case 14: case 15:
			do_merge(i, j);
			break;
		case 16:
			do_move(i, j);
			break;
		case 17:
			do_forget(i);
			break;
		case 18:
			do_disown_and_adopt(i, j);
			break;
		case 19:
			refill(s);
			break;
		}
		compare();
	}
	for (int i = 0; i < PERMITS; i++)
		do_release(i);
	compare();
	for (int s = 0; s < SEMS; s++) {
		weir_sem *sem = sems[s];

		CHECK_EQ(weir_sem_available(sem), capacity[s]);
		weir_sem_unref(sem);
	}
	CHECK_EQ(alive(), 0);
}
