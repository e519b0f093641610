/* SPDX-License-Identifier: MIT */
/* The library's system calls, which all go through syscall(): inject.h. */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <time.h>

#include "check.h"
#include "inject.h"
#include "job.h"
#include "real.h"

#define WAIT 0
#define WAKE 1
#define WAIT_BITSET 9
#define PRIVATE 128

#if !defined(SYS_futex)
#define SYS_futex SYS_futex_time64
#endif

/* Words whose wake-ups were lost. */
static uint32_t *lost[64];

static void lose_wake(uint32_t *word)
{
	for (size_t i = 0; i < sizeof(lost) / sizeof(*lost); i++) {
		uint32_t *none = NULL;

		if (__atomic_compare_exchange_n(&lost[i], &none, word, 0,
						__ATOMIC_SEQ_CST,
						__ATOMIC_SEQ_CST))
			return;
	}
	/* The table is full: wake now. */
	(void)__real_syscall(SYS_futex, word, WAKE | PRIVATE, INT_MAX, NULL,
			     NULL, 0);
}

void fault_repeat_lost_wakes(void)
{
	for (size_t i = 0; i < sizeof(lost) / sizeof(*lost); i++) {
		uint32_t *word = __atomic_exchange_n(&lost[i], NULL,
						     __ATOMIC_SEQ_CST);

		if (word)
			(void)__real_syscall(SYS_futex, word, WAKE | PRIVATE,
					     INT_MAX, NULL, NULL, 0);
	}
}

static long futex_wait(uint32_t *word, int op, uint32_t value,
		       const struct timespec *until)
{
	const struct fault *fault = fault_now();
	long result;

	job_counts_a_wait();
	/* The kernel never returns ETIMEDOUT without a timeout. */
	if (fault && fault->error == ETIMEDOUT && !until)
		fault = NULL;
	else if (!fault_due(AT_WAIT))
		fault = NULL;
	if (fault && !fault->done)
		return fault_result();
	if (until && clock_is_changed())
		result = clock_wait(word, op, value,
				    (int64_t)until->tv_sec * 1000000000 +
					    until->tv_nsec);
	else
		result = __real_syscall(SYS_futex, word, op, value, until, NULL,
					UINT32_MAX);
	return fault ? fault_result() : result;
}

/* A nap: a sleep of limited time on a private word. */
static long futex_nap(uint32_t *word, int op, uint32_t value,
		      const struct timespec *limit)
{
	job_counts_a_nap();
	if (!fault_due(AT_WAIT))
		return __real_syscall(SYS_futex, word, op, value, limit, NULL,
				      0);
	if (fault_now()->done)
		(void)__real_syscall(SYS_futex, word, op, value, limit, NULL,
				     0);
	return fault_result();
}

static long futex_wake(uint32_t *word, int op, int count)
{
	if (!fault_due(AT_WAKE))
		return __real_syscall(SYS_futex, word, op, count, NULL, NULL,
				      0);
	if (fault_now()->done)
		(void)__real_syscall(SYS_futex, word, op, INT_MAX, NULL, NULL,
				     0);
	else
		lose_wake(word);
	return fault_result();
}

static long sys_futex(va_list args)
{
	uint32_t *word = va_arg(args, uint32_t *);
	int op = va_arg(args, int);
	uint32_t value = va_arg(args, uint32_t);
	const struct timespec *time = va_arg(args, struct timespec *);

	switch (op) {
	case WAIT_BITSET | PRIVATE:
		return futex_wait(word, op, value, time);
	case WAIT | PRIVATE:
		return futex_nap(word, op, value, time);
	case WAKE | PRIVATE:
		return futex_wake(word, op, (int)value);
	}
	check_fail(__FILE__, __LINE__, "futex operation %d has no faults", op);
}

static bool poll_is_owed;

bool fault_poll_is_owed(void)
{
	return __atomic_load_n(&poll_is_owed, __ATOMIC_SEQ_CST);
}

static long sys_ppoll(va_list args)
{
	void *fds = va_arg(args, void *);
	int count = va_arg(args, int);
	void *limit = va_arg(args, void *);

	if (fault_due(AT_PPOLL)) {
		__atomic_store_n(&poll_is_owed, fault_now()->error == EINTR,
				 __ATOMIC_SEQ_CST);
		return fault_result();
	}
	__atomic_store_n(&poll_is_owed, false, __ATOMIC_SEQ_CST);
	return __real_syscall(SYS_ppoll, fds, count, limit, NULL, 0);
}

static long sys_close(va_list args)
{
	int fd = va_arg(args, int);
	long result = __real_syscall(SYS_close, fd);

	/* Each descriptor is closed exactly once, also if close fails. */
	CHECK_EQ(result, 0);
	fault_descriptor_is_gone();
	return fault_due(AT_CLOSE) ? fault_result() : result;
}

static long sys_write(va_list args)
{
	int fd = va_arg(args, int);
	const void *text = va_arg(args, const void *);
	size_t size = va_arg(args, size_t);

	if (!fault_due(AT_WRITE))
		return __real_syscall(SYS_write, fd, text, size);
	/* `done` here writes as many bytes as `result`. */
	if (fault_now()->done)
		return __real_syscall(SYS_write, fd, text,
				      (size_t)fault_now()->result);
	return fault_result();
}

/* Not called by the library but by another part, such as a sanitizer. */
static long sys_other(long number, va_list args)
{
	long arg[6];

	if (job_is_armed())
		check_fail(__FILE__, __LINE__, "system call %ld has no faults",
			   number);
	for (int i = 0; i < 6; i++)
		arg[i] = va_arg(args, long);
	return __real_syscall(number, arg[0], arg[1], arg[2], arg[3], arg[4],
			      arg[5]);
}

long __wrap_syscall(long number, ...)
{
	va_list args;
	long result;

	va_start(args, number);
	if (number == SYS_futex)
		result = sys_futex(args);
	else if (number == SYS_gettid)
		/* It cannot fail. */
		result = __real_syscall(number);
	else if (number == SYS_ppoll)
		result = sys_ppoll(args);
	else if (number == SYS_close)
		result = sys_close(args);
	else if (number == SYS_write)
		result = sys_write(args);
	else
		result = sys_other(number, args);
	va_end(args);
	return result;
}
