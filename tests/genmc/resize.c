/* SPDX-License-Identifier: MIT */
/*
 * Changing the capacity: a correct release never fails; C8, C21.
 */
#include "program.h"

THREAD(shrink_to_1)
{
	OK(weir_sem_resize(&s, 1, NULL));
	return unused;
}

THREAD(grow_to_3)
{
	OK(weir_sem_resize(&s, 3, NULL));
	return unused;
}

THREAD(shrink_and_grow)
{
	OK(weir_sem_resize(&s, 1, NULL));
	OK(weir_sem_resize(&s, 2, NULL));
	return unused;
}

THREAD(grow_and_shrink)
{
	OK(weir_sem_resize(&s, 3, NULL));
	OK(weir_sem_resize(&s, 2, NULL));
	return unused;
}

THREAD(forget_one)
{
	OK(weir_sem_forget(&s, 1));
	return unused;
}

THREAD(put_or_fail)
{
	(void)!weir_sem_try_release(&s, 1);
	return unused;
}

PROGRAM(release_meets_shrink)
{
	start_with(1, 2, WEIR_FIFO, 0);
	RUN2(put_one, shrink_to_1);
	quiet(1);
}

PROGRAM(release_meets_growth)
{
	start_with(1, 2, WEIR_FIFO, 0);
	RUN2(put_one, grow_to_3);
	quiet(3);
}

PROGRAM(release_meets_shrink_and_growth)
{
	start_with(1, 2, WEIR_FIFO, 0);
	RUN2(put_one, shrink_and_grow);
	quiet(2);
}

PROGRAM(release_meets_growth_and_shrink)
{
	start_with(1, 2, WEIR_FIFO, 0);
	RUN2(put_one, grow_and_shrink);
	quiet(2);
}

/* TRACKED: the word is SHUT until the first unlock, and marked afterwards. */
PROGRAM(tracked_release_meets_shrink)
{
	start_with(1, 2, WEIR_FIFO, WEIR_SEM_TRACKED);
	RUN2(put_one, shrink_to_1);
}

PROGRAM(tracked_release_meets_growth)
{
	start_with(1, 2, WEIR_FIFO, WEIR_SEM_TRACKED);
	RUN2(put_one, grow_to_3);
}

PROGRAM(tracked_release_meets_shrink_and_growth)
{
	start_with(1, 2, WEIR_FIFO, WEIR_SEM_TRACKED);
	RUN2(put_one, shrink_and_grow);
}

PROGRAM(tracked_release_meets_growth_and_shrink)
{
	start_with(1, 2, WEIR_FIFO, WEIR_SEM_TRACKED);
	RUN2(put_one, grow_and_shrink);
}

PROGRAM(release_meets_forget)
{
	start_with(0, 2, WEIR_FIFO, 0);
	RUN2(put_one, forget_one);
}

PROGRAM(tracked_release_meets_forget)
{
	start_with(0, 2, WEIR_FIFO, WEIR_SEM_TRACKED);
	RUN2(put_one, forget_one);
}

PROGRAM(release_pays_debt_during_forget)
{
	start_with(0, 2, WEIR_FIFO, WEIR_SEM_TRACKED);
	OK(weir_sem_resize(&s, 1, NULL));
	RUN2(put_one, forget_one);
}

static void no_permit_created(void)
{
	weir_sem_info info;

	OK(weir_sem_stat(&s, &info));
	assert(info.free <= info.capacity && info.held >= 0);
}

PROGRAM(over_release_meets_shrink)
{
	panics_expected = true;
	start_with(2, 2, WEIR_FIFO, 0);
	RUN2(shrink_to_1, put_or_fail);
	no_permit_created();
}

PROGRAM(over_release_meets_growth)
{
	panics_expected = true;
	start_with(2, 2, WEIR_FIFO, 0);
	RUN2(grow_to_3, put_or_fail);
	no_permit_created();
}

/*
 * C11, C14: an acquire whose deadline has passed reads the word and the capacity
 * without the lock, both as before the resize or both as after it.
 */
THREAD(take_two_late)
{
	weir_err err = weir_sem_acquire_until(&s, 2, 0);

	assert(err == WEIR_OK || err == WEIR_ETOOBIG);
	return unused;
}

PROGRAM(late_acquire_meets_growth)
{
	start_with(1, 1, WEIR_FIFO, 0);
	RUN2(take_two_late, grow_to_3);
}

PROGRAM(late_acquire_meets_shrink)
{
	start_with(2, 2, WEIR_FIFO, 0);
	RUN2(take_two_late, shrink_to_1);
}

/* stat takes no lock without waiters: the counts still belong to one moment. */
THREAD(stat_all_free)
{
	weir_sem_info info;

	OK(weir_sem_stat(&s, &info));
	assert(info.free == info.capacity);
	assert(info.held == 0 && info.granted == 0 && info.debt == 0);
	return unused;
}

PROGRAM(stat_meets_growth)
{
	start_with(2, 2, WEIR_FIFO, 0);
	RUN2(stat_all_free, grow_to_3);
}

PROGRAM(stat_meets_shrink)
{
	start_with(2, 2, WEIR_FIFO, 0);
	RUN2(stat_all_free, shrink_to_1);
}

/* The word is the same before and after. */
PROGRAM(stat_meets_growth_and_shrink)
{
	start_with(2, 2, WEIR_FIFO, 0);
	RUN2(stat_all_free, grow_and_shrink);
}

PROGRAM(stat_meets_shrink_and_growth)
{
	start_with(2, 2, WEIR_FIFO, 0);
	RUN2(stat_all_free, shrink_and_grow);
}
