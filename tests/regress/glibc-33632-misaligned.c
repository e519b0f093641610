/* SPDX-License-Identifier: MIT */
/*
 * glibc bug 33632: updates of a semaphore at an address that is only a multiple
 * of 4 are not atomic, because its 64-bit word crosses a boundary.
 *
 * Threads: thread 1, thread 2.
 *
 *   1. thread 1: reads the low half of the word.
 *   2. thread 2: writes both halves.
 *   3. thread 1: reads the high half and combines the halves of two different
 *      values.
 *
 * In weir the type requires an alignment of 8 on every machine.  A misaligned
 * object is refused with WEIR_EINVAL (C16), or with a panic if the call returns
 * no error, before any of its memory is accessed.
 */
#include "waiter.h"

_Static_assert(_Alignof(weir_sem) == 8, "64-bit atomics need 8");
_Static_assert(sizeof(weir_sem) % 8 == 0, "also in an array");
_Static_assert(sizeof(weir_sem) <= 64, "C26: one cache line");

static void refuse_at(unsigned char *place)
{
	unsigned char before[sizeof(weir_sem)];
	weir_sem_opts opts = { .permits = 1 };
	weir_sem *sem = (weir_sem *)(void *)place;
	weir_sem_info info;
	int64_t got;

	memset(place, 0x5c, sizeof(before));
	memcpy(before, place, sizeof(before));
	CHECK_ERR(weir_sem_init(sem, 1), WEIR_EINVAL);
	CHECK_ERR(weir_sem_init_opts(sem, &opts), WEIR_EINVAL);
	CHECK_ERR(weir_sem_acquire(sem, 1, NULL), WEIR_EINVAL);
	CHECK_ERR(weir_sem_acquire_until(sem, 1, 0), WEIR_EINVAL);
	CHECK_ERR(weir_sem_acquire_for(sem, 1, 0), WEIR_EINVAL);
	CHECK_ERR(weir_sem_try_acquire(sem, 1), WEIR_EINVAL);
	CHECK_ERR(weir_sem_acquire_upto(sem, 0, 1, NULL, &got), WEIR_EINVAL);
	CHECK_ERR(weir_sem_drain(sem, &got), WEIR_EINVAL);
	CHECK_ERR(weir_sem_try_release(sem, 1), WEIR_EINVAL);
	CHECK_ERR(weir_sem_resize(sem, 1, NULL), WEIR_EINVAL);
	CHECK_ERR(weir_sem_forget(sem, 1), WEIR_EINVAL);
	CHECK_ERR(weir_sem_wait_idle(sem, NULL), WEIR_EINVAL);
	CHECK_ERR(weir_sem_stat(sem, &info), WEIR_EINVAL);
	CHECK_ERR(weir_sem_destroy(sem), WEIR_EINVAL);
	CHECK_PANICS("weir_sem_release", weir_sem_release(sem, 1));
	CHECK_PANICS("weir_sem_close", weir_sem_close(sem, WEIR_CLOSE_NOW));
	CHECK_PANICS("weir_sem_is_closed", (void)weir_sem_is_closed(sem));
	CHECK_PANICS("weir_sem_available", (void)weir_sem_available(sem));
	CHECK_EQ(memcmp(before, place, sizeof(before)), 0);
}

TEST(c16_misaligned_semaphores_are_refused)
{
	_Alignas(64) unsigned char space[2 * sizeof(weir_sem)];

	refuse_at(space + 4);
	refuse_at(space + 1);
	refuse_at(space + 2);
	refuse_at(space + 7);
}

/* The converse: every multiple of 8 is accepted. */
TEST(c16_aligned_semaphores_are_accepted)
{
	_Alignas(64) unsigned char space[2 * sizeof(weir_sem)];

	for (size_t at = 0; at < sizeof(weir_sem); at += 8) {
		weir_sem *sem = (weir_sem *)(void *)(space + at);

		CHECK_OK(weir_sem_init(sem, 1));
		CHECK_OK(weir_sem_acquire(sem, 1, NULL));
		weir_sem_release(sem, 1);
		CHECK_OK(weir_sem_destroy(sem));
	}
}
