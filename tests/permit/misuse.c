/* SPDX-License-Identifier: MIT */
/*
 * Bad permits: null, misaligned, uninitialised, or with more permits than are
 * held.  Each call returns an error or panics with one line, and has no effect.
 */
#include "check.h"
#include "holds.h"
#include "record/record.h"
#include "weir/permit.h"

/*
 * C8: the release of a permit with more permits than are held panics with the
 * semaphore's name.  The permit is empty afterwards.
 */
TEST(c34_adopting_too_many_is_an_over_release)
{
	weir_sem_opts opts = { .permits = 3, .name = "printers" };
	weir_permit p = WEIR_PERMIT_INIT;
	weir_sem sem;

	CHECK_OK(weir_sem_init_opts(&sem, &opts));
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	CHECK_OK(weir_permit_adopt(&p, &sem, 2));
	CHECK_PANICS("printers", weir_permit_release(&p));
	CHECK(is_empty(&p));
	CHECK_EQ(weir_sem_available(&sem), 2);
	weir_permit_release(&p);
	weir_sem_release(&sem, 1);
}

TEST(c34_null_and_misaligned_permits)
{
	weir_sem sem = WEIR_SEM_INIT(3);
	weir_permit two[2] = { WEIR_PERMIT_INIT, WEIR_PERMIT_INIT };
	weir_permit *odd = (weir_permit *)(void *)((char *)(void *)two + 4);
	weir_permit *bad[] = { NULL, odd }, p = WEIR_PERMIT_INIT, moved;

	for (int i = 0; i < 2; i++) {
		weir_permit *b = bad[i];

		CHECK_ERR(weir_permit_acquire(b, &sem, 1, NULL), WEIR_EINVAL);
		CHECK_ERR(weir_permit_acquire_until(b, &sem, 1, 0),
			  WEIR_EINVAL);
		CHECK_ERR(weir_permit_try_acquire(b, &sem, 1), WEIR_EINVAL);
		CHECK_ERR(weir_permit_adopt(b, &sem, 1), WEIR_EINVAL);
		CHECK_ERR(weir_permit_own(b), WEIR_EINVAL);
		CHECK_ERR(weir_permit_forget(b), WEIR_EINVAL);
		CHECK_ERR(weir_permit_split(b, 0, &p), WEIR_EINVAL);
		CHECK_ERR(weir_permit_split(&p, 0, b), WEIR_EINVAL);
		CHECK_ERR(weir_permit_merge(b, &p), WEIR_EINVAL);
		CHECK_ERR(weir_permit_merge(&p, b), WEIR_EINVAL);
		/* These return no error code. */
		CHECK_PANICS("weir_permit_release", weir_permit_release(b));
		CHECK_PANICS("weir_permit_move", moved = weir_permit_move(b));
		CHECK(is_empty(&moved));
		CHECK_PANICS("weir_permit_disown",
			     CHECK_EQ(weir_permit_disown(b), 0));
	}
	CHECK(is_empty(&two[0]) && is_empty(&two[1]) && is_empty(&p));
	CHECK_EQ(weir_sem_available(&sem), 3);
}

/* The number of a slot is 0, or at least WEIR_RECORD_SLOT_MIN_. */
TEST(c34_the_slot_of_a_permit)
{
	weir_sem sem = WEIR_SEM_INIT(1);
	weir_permit p = { &sem, 1, 0, WEIR_RECORD_SLOT_MIN_ }, moved;

	moved = weir_permit_move(&p);
	CHECK_EQ(weir_permit_count(&moved), 1);
	moved.slot_ = WEIR_RECORD_SLOT_MIN_ - 1;
	CHECK_PANICS("not initialised", weir_permit_release(&moved));
}

/* Calls with an uninitialised permit panic and do not change it. */
TEST(c34_uninitialised_permits_panic)
{
	weir_sem sem = WEIR_SEM_INIT(3);
	const weir_permit none = WEIR_PERMIT_INIT;
	weir_permit q = WEIR_PERMIT_INIT, moved;
	weir_permit bad[] = {
		{ &sem, 0, 0, 0 }, { &sem, -1, 0, 0 }, { NULL, 1, 0, 0 },
		{ &sem, WEIR_SEM_MAX + 1, 0, 0 }, { &sem, 1, 2, 0 },
		{ NULL, 0, 1, 0 }, { NULL, 0, 0, 1 }, { &sem, 1, 0, 7 },
		WEIR_PERMIT_INIT
	};

	memset(&bad[8], 0xa5, sizeof(bad[8]));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		weir_permit *b = &bad[i], before = *b;
		weir_err err = WEIR_OK;

#define PANICS(call)                                                           \
	do {                                                                   \
		CHECK_PANICS(#call, err = call(ARGS));                         \
		CHECK_ERR(err, WEIR_EINVAL);                                   \
	} while (0)
#define ARGS b, &sem, 1, NULL
		PANICS(weir_permit_acquire);
#undef ARGS
#define ARGS b, &sem, 1, 0
		PANICS(weir_permit_acquire_until);
#undef ARGS
#define ARGS b, &sem, 1
		PANICS(weir_permit_try_acquire);
		PANICS(weir_permit_adopt);
#undef ARGS
#define ARGS b
		PANICS(weir_permit_own);
		PANICS(weir_permit_forget);
#undef ARGS
#define ARGS b, 1, &q
		PANICS(weir_permit_split);
#undef ARGS
#define ARGS &q, 0, b
		PANICS(weir_permit_split);
#undef ARGS
#define ARGS b, &q
		PANICS(weir_permit_merge);
#undef ARGS
#define ARGS &q, b
		PANICS(weir_permit_merge);
#undef ARGS
#undef PANICS
		CHECK_PANICS("not initialised", weir_permit_release(b));
		CHECK_PANICS("not initialised", moved = weir_permit_move(b));
		CHECK_PANICS("not initialised",
			     CHECK_EQ(weir_permit_disown(b), 0));
		CHECK(memcmp(&moved, &none, sizeof(none)) == 0);
		CHECK(memcmp(b, &before, sizeof(before)) == 0);
	}
	CHECK(is_empty(&q));
	CHECK_EQ(weir_sem_available(&sem), 3);
}
