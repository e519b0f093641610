/* SPDX-License-Identifier: MIT */
#ifndef TESTS_ASYNC_STARTED_LATE_H
#define TESTS_ASYNC_STARTED_LATE_H

/*
 * An operation with a deadline on a loop that was dispatched before it was
 * added to an event library.  The dispatch has cleared the loop's descriptor,
 * so only the deadline can end the operation.
 */
#include "calls.h"

static weir_loop late_loop;
static weir_sem sem;
static struct call late;

static bool begun;
static void (*stop_loop)(void);

static inline void late_ran(weir_op *op, weir_err err, void *user)
{
	call_ran(op, err, user);
	if (begun)
		stop_loop();
}

/*
 * The callback calls stop.  If the deadline passed before the end of the
 * dispatch, retry with more time.
 */
static inline void begin_late(void (*stop)(void))
{
	CHECK_OK(weir_sem_init_opts(&sem, &(weir_sem_opts){ .capacity = 1 }));
	CHECK_OK(weir_loop_init(&late_loop));
	stop_loop = stop;
	for (int64_t ns = 10000000; !begun; ns *= 2) {
		weir_err err;

		late = (struct call){ .ran = 0 };
		weir_op_init(&late.op, &late_loop, late_ran, &late);
		err = weir_op_submit_until(&late.op, &sem, 1,
					   weir_deadline_after(ns));
		(void)weir_loop_dispatch(&late_loop);
		begun = err == WEIR_EQUEUED && !late.ran;
		if (!begun && !late.ran)
			CHECK_ERR(err, WEIR_ETIMEDOUT);
	}
}

static inline void end_late(void)
{
	CALL_WAS(&late, WEIR_ETIMEDOUT);
	CHECK_OK(weir_loop_destroy(&late_loop));
}

#endif /* TESTS_ASYNC_STARTED_LATE_H */
