/* SPDX-License-Identifier: MIT */
/*
 * Destroying and freeing while the releasing thread is still inside: C22.
 */
#include "program.h"

static weir_sem *p;

static void allocate(int64_t capacity)
{
	weir_sem_opts opts = { .capacity = capacity };

	p = malloc(sizeof(*p));
	OK(weir_sem_init_opts(p, &opts));
}

THREAD(put_p)
{
	x = 1;
	weir_sem_release(p, 1);
	return unused;
}

THREAD(take_and_free)
{
	OK(weir_sem_acquire(p, 1, NULL));
	assert(x == 1);
	OK(weir_sem_destroy(p));
	free(p);
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

THREAD(rest_and_free)
{
	OK(rest(&w1, WEIR_FOREVER));
	assert(x == 1);
	free(p);
	return unused;
}

THREAD(put_two_p)
{
	weir_sem_release(p, 2);
	return unused;
}

THREAD(rest_and_destroy)
{
	OK(rest(&w1, WEIR_FOREVER));
	if (weir_sem_destroy(p) == WEIR_OK)
		free(p);
	return unused;
}

THREAD(rest_second)
{
	OK(rest(&w2, WEIR_FOREVER));
	return unused;
}

PROGRAM(destroy_after_acquire)
{
	allocate(1);
	RUN2(put_p, take_and_free);
}

PROGRAM(destroy_after_try)
{
	allocate(1);
	RUN2(put_p, try_and_free);
}

PROGRAM(free_after_wait)
{
	allocate(1);
	queue_up_at(p, &w1, 1, NULL);
	RUN2(put_p, rest_and_free);
}

PROGRAM(destroy_with_two_granted)
{
	allocate(2);
	queue_up_at(p, &w1, 1, NULL);
	queue_up_at(p, &w2, 1, NULL);
	RUN3(put_two_p, rest_and_destroy, rest_second);
}

/* flags: -DWEIR_BATCH_=1 */
PROGRAM(destroy_between_batches)
{
	destroy_with_two_granted();
}

THREAD(rest_and_put_p)
{
	OK(rest(&w1, WEIR_FOREVER));
	weir_sem_release(p, 1);
	return unused;
}

THREAD(rest_second_and_free)
{
	OK(rest(&w2, WEIR_FOREVER));
	assert(x == 1);
	free(p);
	return unused;
}

/* flags: -DROUSES */
PROGRAM(free_after_rousing)
{
	allocate(1);
	queue_up_at(p, &w1, 1, NULL);
	queue_up_at(p, &w2, 1, NULL);
	w2.cpu = 2;
	RUN3(put_p, rest_and_put_p, rest_second_and_free);
}

THREAD(put_two)
{
	weir_sem_release(&s, 2);
	return unused;
}

THREAD(check_stat)
{
	weir_sem_info info;

	OK(weir_sem_stat(&s, &info));
	assert(info.held >= 0 && info.granted >= 0 && info.free >= 0);
	assert(info.capacity ==
	       info.free + info.held + info.granted - info.debt);
	return unused;
}

/* flags: -DWEIR_BATCH_=1 */
PROGRAM(stat_between_batches)
{
	start_with(0, 2, WEIR_FIFO, 0);
	queue_up(&w1, 1, NULL);
	queue_up(&w2, 1, NULL);
	RUN2(put_two, check_stat);
	assert(weir_sem_available(&s) == 0);
}

THREAD(unref)
{
	weir_sem_unref(p);
	return unused;
}

THREAD(try_and_unref)
{
	if (weir_sem_try_acquire(p, 1) == WEIR_OK)
		weir_sem_release(p, 1);
	weir_sem_unref(p);
	return unused;
}

PROGRAM(last_unref_frees)
{
	weir_sem_opts opts = { .permits = 1 };

	p = weir_sem_new(&opts);
	assert(weir_sem_ref(p) == p);
	RUN2(try_and_unref, unref);
}

/*
 * stat: the counts belong to one moment.
 */
THREAD(rest_and_put)
{
	OK(rest(&w1, WEIR_FOREVER));
	weir_sem_release(&s, 1);
	return unused;
}

PROGRAM(stat_adds_up)
{
	start_with(0, 1, WEIR_FIFO, 0);
	queue_up(&w1, 1, NULL);
	RUN3(rest_and_put, put_one, check_stat);
}

THREAD(stat_in_order)
{
	weir_sem_info info;

	OK(weir_sem_stat(&s, &info));
	assert(!(info.free == 1 && info.granted == 1));
	return unused;
}

/* (free, granted) is (0, 1), (0, 0), (1, 0) one after the other. */
PROGRAM(stat_of_returning_waiter)
{
	start_with(0, 2, WEIR_FIFO, 0);
	queue_up(&w1, 1, NULL);
	weir_sem_release(&s, 1);
	RUN2(rest_and_put, stat_in_order);
}

/* With a second waiter, which does not fit, stat takes the lock. */
PROGRAM(locked_stat_of_returning_waiter)
{
	start_with(0, 2, WEIR_FIFO, 0);
	queue_up(&w1, 1, NULL);
	queue_up(&w2, 2, NULL);
	weir_sem_release(&s, 1);
	RUN2(rest_and_put, stat_in_order);
}

THREAD(rest_barging)
{
	OK(rest(&w1, WEIR_FOREVER));
	return unused;
}

THREAD(stat_counts_waiter)
{
	weir_sem_info info;

	OK(weir_sem_stat(&s, &info));
	assert(!(info.free == 1 && info.waiters == 0));
	return unused;
}

/* The door is OPEN while the woken waiter has not retried. */
PROGRAM(stat_of_retrying_waiter)
{
	start_with(0, 1, WEIR_BARGING, 0);
	queue_up(&w1, 1, NULL);
	RUN3(rest_barging, put_one, stat_counts_waiter);
}

/*
 * The word and granted_ change one after the other: a grant, a request of an
 * operation that needs no grant, and a cancelled operation.
 */
THREAD(stat_held_1)
{
	weir_sem_info info;

	OK(weir_sem_stat(&s, &info));
	assert(info.held == 1);
	return unused;
}

THREAD(queue_up_and_put)
{
	queue_up(&w1, 2, NULL);
	weir_sem_release(&s, 1);
	return unused;
}

THREAD(stat_before_or_after_grant)
{
	weir_sem_info info;

	OK(weir_sem_stat(&s, &info));
	assert(info.free != 1 || info.held == 1);
	return unused;
}

PROGRAM(stat_meets_grant)
{
	start_with(1, 2, WEIR_FIFO, 0);
	RUN2(queue_up_and_put, stat_before_or_after_grant);
}

/* An operation for one permit, which is free. */
static void submit(void)
{
	weir_err err;

	w1.sem = &s;
	w1.kind = WEIR_OPERATION_;
	w1.min = 1;
	w1.deadline_ns = WEIR_FOREVER;
	assert(!weir_sem_enqueue_(&w1, WEIR_FOREVER, &err));
	OK(err);
}

THREAD(submit_one)
{
	submit();
	return unused;
}

PROGRAM(stat_meets_operation)
{
	start_with(1, 2, WEIR_FIFO, 0);
	RUN2(submit_one, stat_held_1);
}

THREAD(cancel_submitted)
{
	struct weir_to_notify_ to_notify = { .first = NULL };

	weir_sem_cancel_(&w1, &to_notify);
	return unused;
}

PROGRAM(stat_meets_cancel)
{
	start_with(1, 2, WEIR_FIFO, 0);
	submit();
	RUN2(cancel_submitted, stat_held_1);
}
