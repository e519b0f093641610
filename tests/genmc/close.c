/* SPDX-License-Identifier: MIT */
/*
 * Closing: C19.
 */
#include "program.h"

THREAD(close_now)
{
	y = 1;
	weir_sem_close(&s, WEIR_CLOSE_NOW);
	return unused;
}

THREAD(close_drain)
{
	y = 1;
	weir_sem_close(&s, WEIR_CLOSE_DRAIN);
	return unused;
}

THREAD(take_or_closed)
{
	assert(weir_sem_acquire(&s, 1, NULL) == WEIR_ECLOSED);
	assert(y == 1);
	return unused;
}

THREAD(rest_or_closed)
{
	first = rest(&w1, WEIR_FOREVER);
	if (first == WEIR_OK)
		assert(x == 1);
	else
		assert(first == WEIR_ECLOSED && y == 1);
	return unused;
}

THREAD(rest_to_the_end)
{
	first = rest(&w1, WEIR_FOREVER);
	return unused;
}

THREAD(closed_sees_y)
{
	if (weir_sem_is_closed(&s))
		assert(y == 1);
	return unused;
}

THREAD(try_closed_sees_y)
{
	if (weir_sem_try_acquire(&s, 1) == WEIR_ECLOSED)
		assert(y == 1);
	return unused;
}

THREAD(put_and_check_closed)
{
	weir_sem_release(&s, 1);
	z = weir_sem_is_closed(&s);
	return unused;
}

THREAD(put_and_try_two)
{
	weir_sem_release(&s, 1);
	second = weir_sem_try_acquire(&s, 2);
	return unused;
}

PROGRAM(close_ends_acquire)
{
	start_with(0, 1, WEIR_FIFO, 0);
	RUN2(take_or_closed, close_now);
	quiet(0);
}

PROGRAM(close_meets_release)
{
	start_with(0, 1, WEIR_FIFO, 0);
	queue_up(&w1, 1, NULL);
	RUN3(rest_or_closed, close_now, put_x);
	quiet(first ? 1 : 0);
}

PROGRAM(drain_meets_release)
{
	start_with(0, 1, WEIR_FIFO, 0);
	queue_up(&w1, 1, NULL);
	RUN3(rest_or_closed, close_drain, put_x);
	quiet(first ? 1 : 0);
}

PROGRAM(closed_is_seen)
{
	start_with(1, 1, WEIR_FIFO, 0);
	RUN3(closed_sees_y, close_now, try_closed_sees_y);
}

/* A refused waiter: the release came after the close, and its thread sees it. */
PROGRAM(release_sees_drain)
{
	start_with(0, 1, WEIR_FIFO, 0);
	queue_up(&w1, 1, NULL);
	RUN3(rest_to_the_end, close_drain, put_and_check_closed);
	assert(first == WEIR_OK || z);
}

PROGRAM(release_sees_close)
{
	start_with(0, 1, WEIR_FIFO, 0);
	queue_up(&w1, 1, NULL);
	RUN3(rest_to_the_end, close_now, put_and_check_closed);
	assert(first == WEIR_OK || z);
}

PROGRAM(try_sees_drain)
{
	start_with(0, 2, WEIR_FIFO, 0);
	queue_up(&w1, 1, NULL);
	RUN3(rest_to_the_end, close_drain, put_and_try_two);
	assert(second == WEIR_ECLOSED ||
	       (second == WEIR_EAGAIN && first == WEIR_OK));
}
