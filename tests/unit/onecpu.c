/* SPDX-License-Identifier: MIT */
/*
 * A machine that does not report its number of CPUs is assumed to have one: no
 * thread spins for another thread that cannot run meanwhile (C28: a wait costs
 * nothing).  This program is linked with --wrap for the calls that reveal it.
 */
#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/cpu.h"
#include "base/hook.h"
#include "job.h"

int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set);
int __real_sched_yield(void);
int __wrap_sched_yield(void);
int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);

static int yields, clock_reads, futex_calls;
static int reads_before_sleep;	/* of the first wait; -1: not yet */

/* Called at load time, before any test. */
int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set)
{
	(void)pid;
	(void)size;
	(void)set;
	errno = ENOSYS;
	return -1;
}

int __wrap_sched_yield(void)
{
	yields++;
	return __real_sched_yield();
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
	clock_reads++;
	return __real_clock_gettime(clock, now);
}

long __wrap_syscall(long number, ...)
{
	long arg[6];
	va_list args;

	va_start(args, number);
	for (int i = 0; i < 6; i++)
		arg[i] = va_arg(args, long);
	va_end(args);
	if (number == SYS_futex)
		futex_calls++;
	if (number == SYS_futex && reads_before_sleep < 0)
		reads_before_sleep = clock_reads;
	return __real_syscall(number, arg[0], arg[1], arg[2], arg[3], arg[4],
			      arg[5]);
}

/* C28: waiting for the lock yields once to its holder, and then sleeps. */
TEST(c28_the_lock_is_not_spun_for)
{
	struct weir_backoff_ backoff = { 0 };
	int before = yields, slept;

	CHECK(!weir_cpu_has_others_());
	weir_backoff_wait_(&backoff);
	CHECK_EQ(yields, before + 1);
	slept = futex_calls;
	weir_backoff_wait_(&backoff);
	CHECK_EQ(yields, before + 1);
	CHECK_EQ(futex_calls, slept + 1);
}

static int waits, reads_before_wait;

static void note_wait(const struct weir_event_ *event)
{
	if (event->kind != WEIR_EVENT_QUEUED_)
		return;
	waits++;
	reads_before_wait = clock_reads;
	reads_before_sleep = -1;
}

/*
 * C28: a queued waiter parks at once; spinning would read the clock first.
 */
TEST(c28_a_waiter_does_not_spin)
{
	weir_sem sem = WEIR_SEM_INIT(1);

	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	CHECK(weir_hook_set_(note_wait) == NULL);
	/* If the deadline passed before it could wait, retry with more time. */
	for (int64_t ns = 1000000; !waits; ns *= 2)
		CHECK_ERR(weir_sem_acquire_for(&sem, 1, ns), WEIR_ETIMEDOUT);
	CHECK(weir_hook_set_(NULL) == note_wait);
	CHECK_EQ(reads_before_sleep, reads_before_wait);
}
