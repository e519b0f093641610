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

static inline void begin_late(weir_op_fn *fn)
{
	CHECK_OK(weir_sem_init_opts(&sem, &(weir_sem_opts){ .capacity = 1 }));
	CHECK_OK(weir_loop_init(&late_loop));
	late = (struct call){ .ran = 0 };
	weir_op_init(&late.op, &late_loop, fn, &late);
	CHECK_ERR(weir_op_submit_until(&late.op, &sem, 1,
				       weir_deadline_after(50000000)),
		  WEIR_EQUEUED);
	(void)weir_loop_dispatch(&late_loop);
}

static inline void end_late(void)
{
	CALL_WAS(&late, WEIR_ETIMEDOUT);
	CHECK_OK(weir_loop_destroy(&late_loop));
}

#endif /* TESTS_ASYNC_STARTED_LATE_H */
