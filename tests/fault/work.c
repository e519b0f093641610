/* SPDX-License-Identifier: MIT */
/* The list of works and their execution: work.h. */
#include "work.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

const struct work works[] = {
	{ "handoff", work_handoff, false },
	{ "fifo", work_fifo, false },
	{ "timed grant", work_timed_grant, false },
	{ "timed out", work_timed_out, true },
	{ "upto", work_upto, false },
	{ "barging", work_barging, false },
	{ "interruptible", work_interruptible, false },
	{ "max waiters", work_max_waiters, false },
	{ "locked", work_locked, false },
	{ "close", work_close, false },
	{ "close, draining", work_close_drain, false },
	{ "resize", work_resize, false },
	{ "idle", work_idle, false },
	{ "destroy", work_destroy, false },
	{ "panic", work_panic, false },
	{ "fork", work_fork, false },
	{ "heap", work_heap, false },
	{ "cancel", work_cancel, false },
	{ "ctx deadline", work_ctx_deadline, true },
	{ "ctx wait", work_ctx_wait, false },
	{ "ctx wait, late", work_ctx_wait_late, true },
	{ "ctx tree", work_ctx_tree, false },
	{ "ctx lock", work_ctx_lock, false },
};
const size_t work_count = sizeof(works) / sizeof(works[0]);

static void check_free(const char *file, int line, weir_sem *sem,
		       int64_t capacity)
{
	weir_sem_info i = stat_of(sem);

	if (i.capacity != capacity || i.free != capacity || i.held ||
	    i.granted || i.debt || i.waiters || i.oversized)
		check_fail(file, line, "capacity %" PRId64 " of %" PRId64
			   ", free %" PRId64 ", held %" PRId64
			   ", granted %" PRId64 ", debt %" PRId64
			   ", %u waiters, %u oversized", i.capacity, capacity,
			   i.free, i.held, i.granted, i.debt,
			   (unsigned)i.waiters, (unsigned)i.oversized);
}

void check_rest_at(const char *file, int line, weir_sem *sem, int64_t capacity)
{
	struct job a = { .call = do_acquire, .sem = sem, .n = 1 };

	check_free(file, line, sem, capacity);
	(void)fault_end();
	if (weir_sem_is_closed(sem)) {
		weir_sem_info i = stat_of(sem);

		CHECK_EQ(i.free, capacity);
		CHECK_ERR(weir_sem_acquire(sem, capacity + 1, NULL),
			  WEIR_ECLOSED);
		return;
	}
	CHECK_OK(weir_sem_try_acquire(sem, capacity));
	CHECK_ERR(weir_sem_try_acquire(sem, 1), WEIR_EAGAIN);
	job_queue(&a);
	CHECK(!job_is_done(&a));
	weir_sem_release(sem, capacity);
	job_ends(&a, WEIR_OK);
	weir_sem_release(sem, 1);
	check_free(file, line, sem, capacity);
}

static struct {
	int faults, once, sticky;
	int omitted;	/* works that were not run: time_is_up() */
} total;

/*
 * A slow machine tries fewer points: after a third of the program's time only every
 * 16th one of a work, and after two thirds none.
 */
static bool is_later_than(int64_t ns)
{
	static int64_t began_ns;

	if (!began_ns)
		began_ns = clock_real();
	return clock_real() - began_ns >= ns;
}

static int stride(void)
{
	return is_later_than(2 * job_limit_ns()) ? 16 : 1;
}

static bool time_is_up(void)
{
	return is_later_than(4 * job_limit_ns());
}

/* Returns the number of fault points reached, at most `most` in one work. */
static int sweep_work(const struct fault *fault, const struct work *work,
		      bool sticky)
{
	const int most = 400;
	int reached = 0;

	for (int nth = 1; nth <= most; nth += stride()) {
		fault_begin(fault, sticky, nth, work->name);
		work->run();
		CHECK_EQ(fault_live_blocks(), 0);
		CHECK_EQ(fault_live_descriptors(), 0);
		if (!fault_end())
			return reached;
		reached++;
	}
	check_fail(__FILE__, __LINE__, "no clean pass in %d", most);
}

/* Returns the number of fault points reached in all works, `rounds` times. */
static int sweep_works(const struct fault *fault, bool sticky, skip_fn *skip)
{
	const char *full = getenv("WEIR_FULL");
	int rounds = full && atoi(full) > 0 ? 5 : 1;
	int reached = 0;

	for (int round = 0; round < rounds; round++)
		for (size_t w = 0; w < work_count; w++) {
			if (skip && skip(fault, &works[w]))
				continue;
			if (time_is_up())
				total.omitted++;
			else
				reached += sweep_work(fault, &works[w], sticky);
		}
	/* A fault that is never reached proves nothing. */
	CHECK(reached > 0 || time_is_up());
	return reached;
}

void sweep(const struct fault *faults, size_t count, skip_fn *skip)
{
	for (size_t i = 0; i < count; i++) {
		int once = sweep_works(&faults[i], false, skip);
		int sticky = sweep_works(&faults[i], true, skip);

		printf("evidence: fault points, %s | %d once, %d sticky\n",
		       faults[i].name, once, sticky);
		total.faults++;
		total.once += once;
		total.sticky += sticky;
	}
}

void sweep_total(const char *what)
{
	CHECK(total.faults > 0);
	printf("evidence: fault points in all, %s | %d once and %d sticky, of "
	       "%d kinds, in %zu works", what, total.once, total.sticky,
	       total.faults, work_count);
	if (stride() > 1)
		printf("; the machine is slow: not all points, and %d works "
		       "omitted", total.omitted);
	printf("\n");
}
