/* SPDX-License-Identifier: MIT */
/*
 * Permits: C6, C24.
 */
#include "program.h"

THREAD(use)
{
	OK(weir_sem_acquire(&s, 1, NULL));
	x++;
	weir_sem_release(&s, 1);
	return unused;
}

THREAD(put_y)
{
	y = 1;
	weir_sem_release(&s, 1);
	return unused;
}

THREAD(take_x)
{
	OK(weir_sem_acquire(&s, 1, NULL));
	assert(x == 1);
	return unused;
}

THREAD(rest_and_use)
{
	OK(rest(&w1, WEIR_FOREVER));
	x++;
	weir_sem_release(&s, 1);
	return unused;
}

THREAD(rest_2_and_use)
{
	OK(rest(&w2, WEIR_FOREVER));
	x++;
	weir_sem_release(&s, 1);
	return unused;
}

THREAD(rest_x)
{
	OK(rest(&w1, WEIR_FOREVER));
	assert(x == 1);
	return unused;
}

THREAD(rest_xy)
{
	OK(rest(&w1, WEIR_FOREVER));
	assert(x == 1 && y == 1);
	return unused;
}

THREAD(upto)
{
	int64_t got;

	OK(weir_sem_acquire_upto(&s, 1, 2, NULL, &got));
	if (got == 2)
		assert(x == 1 && y == 1);
	return unused;
}

THREAD(try_x)
{
	if (weir_sem_try_acquire(&s, 1) == WEIR_OK) {
		assert(x == 1);
		z = 1;
	}
	return unused;
}

PROGRAM(mutex_of_two)
{
	start_with(1, 1, WEIR_FIFO, 0);
	RUN2(use, use);
	assert(x == 2);
	quiet(1);
}

PROGRAM(mutex_of_two_barging)
{
	start_with(1, 1, WEIR_BARGING, 0);
	RUN2(use, use);
	assert(x == 2);
	quiet(1);
}

PROGRAM(mutex_with_queue)
{
	start_with(0, 1, WEIR_FIFO, 0);
	queue_up(&w1, 1, NULL);
	RUN3(rest_and_use, put_x, use);
	assert(x == 3);
	quiet(1);
}

PROGRAM(two_queued_in_order)
{
	start_with(0, 1, WEIR_FIFO, 0);
	queue_up(&w1, 1, NULL);
	queue_up(&w2, 1, NULL);
	RUN3(rest_and_use, rest_2_and_use, put_one);
	assert(x == 2);
	quiet(1);
}

/* The release that grants to w1 rouses w2, if w2 sleeps. */
/* flags: -DROUSES */
PROGRAM(two_queued_and_roused)
{
	start_with(0, 1, WEIR_FIFO, 0);
	queue_up(&w1, 1, NULL);
	queue_up(&w2, 1, NULL);
	w2.cpu = 2;
	RUN3(rest_and_use, rest_2_and_use, put_one);
	assert(x == 2);
	quiet(1);
}

PROGRAM(signal_to_newcomer)
{
	start_with(0, 0, WEIR_FIFO, WEIR_SEM_UNBOUNDED);
	RUN2(put_x, take_x);
	quiet(0);
}

PROGRAM(signal_to_queued)
{
	start_with(0, 0, WEIR_FIFO, WEIR_SEM_UNBOUNDED);
	queue_up(&w1, 1, NULL);
	RUN2(put_x, rest_x);
	quiet(0);
}

PROGRAM(two_releases_for_one)
{
	start_with(0, 2, WEIR_FIFO, 0);
	queue_up(&w1, 2, NULL);
	RUN3(put_x, put_y, rest_xy);
	quiet(0);
}

PROGRAM(upto_takes_both)
{
	start_with(0, 2, WEIR_FIFO, 0);
	RUN3(put_x, put_y, upto);
}

PROGRAM(try_after_release)
{
	start_with(0, 1, WEIR_FIFO, 0);
	RUN2(put_x, try_x);
	quiet(1 - z);
}

THREAD(idle_x)
{
	OK(weir_sem_wait_idle(&s, NULL));
	assert(x == 1);
	return unused;
}

PROGRAM(idle_sees_release)
{
	start_with(0, 1, WEIR_FIFO, 0);
	RUN2(idle_x, put_x);
	quiet(1);
}

/*
 * try_acquire does not fail spuriously, and does not pass the queue: C4, C5.
 */
THREAD(rest_quietly)
{
	(void)!rest(&w1, WEIR_FOREVER);
	return unused;
}

THREAD(put_two_and_try)
{
	weir_sem_release(&s, 2);
	OK(weir_sem_try_acquire(&s, 1));
	return unused;
}

PROGRAM(try_after_own_release)
{
	start_with(0, 0, WEIR_FIFO, WEIR_SEM_UNBOUNDED);
	queue_up(&w1, 1, NULL);
	RUN2(rest_quietly, put_two_and_try);
}

THREAD(try_fails)
{
	assert(weir_sem_try_acquire(&s, 1) == WEIR_EAGAIN);
	return unused;
}

PROGRAM(try_behind_heavy_head)
{
	start_with(1, 2, WEIR_FIFO, 0);
	queue_up(&w1, 2, NULL);
	RUN3(rest_quietly, put_one, try_fails);
	quiet(0);
}

THREAD(grow_to_8)
{
	OK(weir_sem_resize(&s, 8, NULL));
	return unused;
}

THREAD(try_succeeds)
{
	OK(weir_sem_try_acquire(&s, 1));
	return unused;
}

static void try_during_growth(uint32_t flags)
{
	start_with(2, 2, WEIR_FIFO, flags);
	queue_up(&w1, 3, &ctx);
	RUN2(grow_to_8, try_succeeds);
}

PROGRAM(try_meets_growth)
{
	try_during_growth(0);
}

PROGRAM(try_meets_growth_tracked)
{
	try_during_growth(WEIR_SEM_TRACKED);
}
