/* SPDX-License-Identifier: MIT */
/*
 * The fast path of a watched semaphore: C22, C24, C47.
 */
#include "program.h"

/* Watched; the first unlock marks the word. */
static void init_watched(int64_t permits, int64_t capacity)
{
	start_with(permits, capacity, WEIR_FIFO, WEIR_SEM_TRACKED);
	OK(weir_sem_acquire(&s, 0, NULL));
	assert(weir_is_marked_(s.word_));
}

THREAD(use)
{
	OK(weir_sem_acquire(&s, 1, NULL));
	x++;
	weir_sem_release(&s, 1);
	return unused;
}

THREAD(try_use)
{
	if (weir_sem_try_acquire(&s, 1) == WEIR_OK) {
		x++;
		weir_sem_release(&s, 1);
	}
	return unused;
}

THREAD(take_x)
{
	OK(weir_sem_acquire(&s, 1, NULL));
	assert(x == 1);
	return unused;
}

PROGRAM(watched_mutex)
{
	init_watched(1, 1);
	RUN2(use, use);
	assert(x == 2);
	quiet(1);
}

PROGRAM(watched_try_meets_use)
{
	init_watched(1, 1);
	RUN2(use, try_use);
	assert(x == 1 || x == 2);
	quiet(1);
}

PROGRAM(watched_release_meets_waiter)
{
	init_watched(0, 1);
	RUN2(put_x, take_x);
	quiet(0);
}

THREAD(shrink_to_1)
{
	OK(weir_sem_resize(&s, 1, NULL));
	return unused;
}

THREAD(put_or_fail)
{
	weir_err err = weir_sem_try_release(&s, 1);

	assert(err == WEIR_OK || err == WEIR_EOVERFLOW);
	return unused;
}

/* C8, C21: the capacity is as new as the word. */
PROGRAM(watched_over_release_meets_shrink)
{
	weir_sem_info info;

	panics_expected = true;
	init_watched(2, 2);
	RUN2(shrink_to_1, put_or_fail);
	OK(weir_sem_stat(&s, &info));
	assert(info.free <= info.capacity && info.held >= 0);
}

static weir_sem *p;

THREAD(put_p)
{
	x = 1;
	weir_sem_release(p, 1);
	return unused;
}

THREAD(try_and_free)
{
	if (weir_sem_try_acquire(p, 1) == WEIR_OK) {
		assert(x == 1);
		OK(weir_sem_destroy(p));
		free(p);
	}
	return unused;
}

PROGRAM(watched_is_freed_after_release)
{
	weir_sem_opts opts = { .capacity = 1, .flags = WEIR_SEM_TRACKED };

	p = malloc(sizeof(*p));
	OK(weir_sem_init_opts(p, &opts));
	OK(weir_sem_acquire(p, 0, NULL));
	RUN2(put_p, try_and_free);
}
