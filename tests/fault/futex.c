/* SPDX-License-Identifier: MIT */
/*
 * Every result that a futex call can have, at every call.  C18, and the clauses
 * that each work checks: no result of a futex wait changes the result of a
 * library call.
 *
 * The library is made to see one CPU, so that its threads park instead of
 * spinning.
 */
#include <errno.h>

#include "work.h"

const int fault_cpus = 1;

/* The wait does not sleep and returns an error or 0. */
TEST(c18_waits_that_return_at_once)
{
	static const struct fault faults[] = {
		{ "futex wait: EINTR", AT_WAIT, -1, EINTR, false, 0 },
		{ "futex wait: EAGAIN", AT_WAIT, -1, EAGAIN, false, 0 },
		{ "futex wait: woken for nothing", AT_WAIT, 0, 0, false, 0 },
		{ "futex wait: ETIMEDOUT early", AT_WAIT, -1, ETIMEDOUT, false,
		  0 },
		{ "futex wait: ENOSYS", AT_WAIT, -1, ENOSYS, false, 0 },
		{ "futex wait: EPERM", AT_WAIT, -1, EPERM, false, 0 },
		{ "futex wait: EFAULT", AT_WAIT, -1, EFAULT, false, 0 },
		{ "futex wait: EINVAL", AT_WAIT, -1, EINVAL, false, 0 },
	};

	sweep(faults, sizeof(faults) / sizeof(*faults), NULL);
}

/* The wait sleeps and then returns a wrong result. */
TEST(c18_waits_that_return_a_wrong_result)
{
	static const struct fault faults[] = {
		{ "futex wait: slept, then EINTR", AT_WAIT, -1, EINTR, true,
		  0 },
		{ "futex wait: slept, then 0", AT_WAIT, 0, 0, true, 0 },
		{ "futex wait: slept, then ETIMEDOUT", AT_WAIT, -1, ETIMEDOUT,
		  true, 0 },
		{ "futex wait: slept, then ENOSYS", AT_WAIT, -1, ENOSYS, true,
		  0 },
	};

	sweep(faults, sizeof(faults) / sizeof(*faults), NULL);
}

/* C6, C14: wakes that report failure but happened; wakes that are lost. */
TEST(c6_wakes_that_fail)
{
	static const struct fault faults[] = {
		{ "futex wake: all woken, then ENOSYS", AT_WAKE, -1, ENOSYS,
		  true, 0 },
		{ "futex wake: lost, ENOSYS", AT_WAKE, -1, ENOSYS, false, 0 },
		{ "futex wake: lost, EFAULT", AT_WAKE, -1, EFAULT, false, 0 },
		{ "futex wake: lost, 0 woken", AT_WAKE, 0, 0, false, 0 },
	};

	sweep(faults, sizeof(faults) / sizeof(*faults), NULL);
}

/* No futex at all, as in a sandbox: waits and wakes fail. */
TEST(c18_no_futex)
{
	static const struct fault faults[] = {
		{ "no futex: ENOSYS", AT_FUTEX, -1, ENOSYS, false, 0 },
		{ "no futex: EPERM", AT_FUTEX, -1, EPERM, false, 0 },
	};

	sweep(faults, sizeof(faults) / sizeof(*faults), NULL);
	sweep_total("futex calls");
}

/*
 * C14: the wake is lost and nothing else wakes the sleeper.  At its deadline it
 * finds its grant, and the grant wins.  If the deadline passed before the
 * grant, retry with more time: the lost wake then belonged to the lock of the
 * queue, not to the grant.
 */
TEST(c14_lost_wake_and_deadline)
{
	static const struct fault lost = { "futex wake: lost, no help",
					   AT_WAKE, -1, EPERM, false, 0 };
	bool shown = false;

	for (int64_t ns = 5000000; !shown; ns *= 2) {
		CHECK(ns < INT64_C(16000000000));
		weir_sem sem = WEIR_SEM_INIT(1);
		struct job a = { .call = do_acquire_for, .sem = &sem, .n = 1,
				 .max = ns };
		struct job b = { .call = do_release, .sem = &sem, .n = 1 };

		CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
		fault_begin(&lost, true, 1, "one waiter");
		job_queue(&a);
		job_start(&b);
		/* Unlike UNTIL, AWAIT does not repeat lost wakes. */
		AWAIT(job_is_done(&b) && job_is_done(&a));
		job_join(&b);
		job_join(&a);
		bool granted = a.err == WEIR_OK;
		if (!granted)
			CHECK_ERR(a.err, WEIR_ETIMEDOUT);
		shown = fault_end() > 0 && granted;
		weir_sem_release(&sem, granted);
		check_rest(&sem, 1);
		fault_repeat_lost_wakes();
	}
}
