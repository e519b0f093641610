/* SPDX-License-Identifier: MIT */
/*
 * Random sequences of calls that do not wait, against the arithmetic of the
 * contract: a capacity, the held permits, and nothing else.  Requests that fit
 * succeed, and others return the right error.  C1, C2, C5, C6, C8, C10, C11,
 * C12, C14, C16, C19, C21.
 */
#include "kind.h"

struct model {
	int64_t capacity, held;
	bool draining;
};

static int64_t free_in(const struct model *m)
{
	return m->held < m->capacity ? m->capacity - m->held : 0;
}

static weir_err acquire_says(const struct model *m, int64_t n)
{
	if (n <= free_in(m))
		return WEIR_OK;
	if (m->draining)
		return WEIR_ECLOSED;
	return n > m->capacity ? WEIR_ETOOBIG : WEIR_ETIMEDOUT;
}

static void step(const struct kind *k, void *sem, struct model *m,
		 uint64_t *random)
{
	int64_t n = random_below(random, 12), got = -1, debt = -1;
	int64_t more = n + random_below(random, 6), spare = free_in(m);
	weir_err want;

	switch (random_below(random, 8)) {
	case 0:
		want = n <= spare ? WEIR_OK :
		       m->draining ? WEIR_ECLOSED : WEIR_EAGAIN;
		CHECK_ERR(k->try_acquire(sem, n), want);
		m->held += want ? 0 : n;
		break;
	case 1:
		want = acquire_says(m, n);
		CHECK_ERR(k->acquire_until(sem, n, 0), want);
		m->held += want ? 0 : n;
		break;
	case 2:
		/* Calls that would wait are tested elsewhere. */
		want = acquire_says(m, n);
		if (want == WEIR_ETIMEDOUT)
			break;
		CHECK_ERR(k->acquire_upto(sem, n, more, NULL, &got), want);
		CHECK_EQ(got, want ? 0 : spare < more ? spare : more);
		m->held += got;
		break;
	case 3:
		CHECK_OK(k->drain(sem, &got));
		CHECK_EQ(got, spare);
		m->held += got;
		break;
	case 4:
	case 5:
		want = n <= m->held ? WEIR_OK : WEIR_EOVERFLOW;
		CHECK_ERR(k->try_release(sem, n), want);
		m->held -= want ? 0 : n;
		break;
	case 6:
		CHECK_OK(k->resize(sem, n, &debt));
		m->capacity = n;
		CHECK_EQ(debt, m->held > n ? m->held - n : 0);
		break;
	case 7:
		want = n <= m->held ? WEIR_OK : WEIR_EOVERFLOW;
		debt = m->held > m->capacity ? m->held - m->capacity : 0;
		CHECK_ERR(k->forget(sem, n), want);
		if (want)
			break;
		m->held -= n;
		m->capacity -= n > debt ? n - debt : 0;
		break;
	}
}

EVERY(c2_c16_c21_random_calls)
{
	uint64_t random = seed_of(1);

	for (int round = 0; round < 20 * check_scale(); round++) {
		struct model m = { .capacity = random_below(&random, 12) };
		void *sem = k->make(m.capacity);

		for (int i = 0; i < 300; i++) {
			struct picture now;

			if (round % 4 == 3 && i == 150) {
				k->close(sem, WEIR_CLOSE_DRAIN);
				m.draining = true;
			}
			step(k, sem, &m, &random);
			now = CHECK_PICTURE(k, sem);
			CHECK_EQ(now.capacity, m.capacity);
			CHECK_EQ(now.held, m.held);
			CHECK_EQ(now.free, free_in(&m));
			CHECK_EQ(k->available(sem), now.free);
			CHECK_EQ(now.waiters + now.oversized, 0);
		}
		k->release(sem, m.held);
		drop(k, sem);
	}
}
