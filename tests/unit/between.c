/* SPDX-License-Identifier: MIT */
/* The implementation of between.h. */
#include "between.h"

#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/atomic.h"	/* of tests/unit/seam */

static _Thread_local struct {
	const char *function;	/* null: not armed */
	int left;		/* accesses left; 0: the first CAS */
	between_fn *fn;		/* null: fail the CAS */
	void *arg;
	bool fails;		/* the CAS in progress fails */
	uint64_t copy;		/* a copy of the word, for a CAS that fails */
} next;

static void arm(const char *function, int nth, between_fn *fn, void *arg)
{
	CHECK(!next.function);
	next.function = function;
	next.left = nth;
	next.fn = fn;
	next.arg = arg;
}

void before(const char *function, int nth, between_fn *fn, void *arg)
{
	CHECK(nth > 0);
	arm(function, nth, fn, arg);
}

void before_cas(const char *function, between_fn *fn, void *arg)
{
	arm(function, 0, fn, arg);
}

void fail_cas(const char *function)
{
	arm(function, 0, NULL, NULL);
}

bool between_is_done(void)
{
	return !next.function;
}

void between_forget(void)
{
	next.function = NULL;
}

/* Returns true if this is the armed access, and disarms. */
static bool is_armed_access(const char *function, bool cas)
{
	if (!next.function || strcmp(function, next.function))
		return false;
	if (next.left ? --next.left : !cas)
		return false;
	next.function = NULL;
	return true;
}

void between_access(const char *function)
{
	if (is_armed_access(function, false))
		next.fn(next.arg);
}

void *between_cas(const char *function, void *word, size_t size)
{
	bool fails = false;

	if (is_armed_access(function, true)) {
		fails = !next.fn;
		if (next.fn)
			next.fn(next.arg);
	}
	next.fails = fails;
	if (!fails)
		return word;
	memcpy(&next.copy, word, size);
	return &next.copy;
}

int between_answer(int done)
{
	return done && !next.fails;
}

/* The machine. */

int __real_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set);
int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set);
int __real_sched_yield(void);
int __wrap_sched_yield(void);
int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);

static int64_t ahead_s;		/* atomic, as are the others */
static int next_answer;
static int sleep_count;
static int wake_count;
static int naps_skipped;
static int nap_count;
static const uint32_t *nap_word;
static int yield_count;

/*
 * At least two CPUs, whatever the machine has: the library counts them at load
 * time and spins only if there are others.
 */
int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set)
{
	int result = __real_sched_getaffinity(pid, size, set);

	CPU_SET(0, set);
	CPU_SET(1, set);
	return result;
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
	int result = __real_clock_gettime(clock, now);

	now->tv_sec += (time_t)__atomic_load_n(&ahead_s, __ATOMIC_SEQ_CST);
	return result;
}

void pass_seconds(int64_t seconds)
{
	__atomic_add_fetch(&ahead_s, seconds, __ATOMIC_SEQ_CST);
}

void set_next_sleep(enum answer answer)
{
	__atomic_store_n(&next_answer, (int)answer, __ATOMIC_SEQ_CST);
}

int sleeps(void)
{
	return __atomic_load_n(&sleep_count, __ATOMIC_SEQ_CST);
}

int wakes(void)
{
	return __atomic_load_n(&wake_count, __ATOMIC_SEQ_CST);
}

void skip_naps(bool skip)
{
	__atomic_store_n(&naps_skipped, skip, __ATOMIC_SEQ_CST);
}

int naps(void)
{
	return __atomic_load_n(&nap_count, __ATOMIC_SEQ_CST);
}

const uint32_t *napped_on(void)
{
	return __atomic_load_n(&nap_word, __ATOMIC_SEQ_CST);
}

int yields(void)
{
	return __atomic_load_n(&yield_count, __ATOMIC_SEQ_CST);
}

int __wrap_sched_yield(void)
{
	__atomic_add_fetch(&yield_count, 1, __ATOMIC_SEQ_CST);
	return __real_sched_yield();
}

static long fail(int error)
{
	errno = error;
	return -1;
}

/* Convert a time of the simulated clock to the kernel's, which is earlier. */
static struct timespec *to_kernel(struct timespec *until, long given)
{
	if (!given)
		return NULL;
	*until = *(struct timespec *)given;
	until->tv_sec -= (time_t)__atomic_load_n(&ahead_s, __ATOMIC_SEQ_CST);
	if (until->tv_sec < 0)
		until->tv_sec = 0;
	return until;
}

long __wrap_syscall(long number, ...)
{
	enum { NAP = 0, WAKE = 1, WAIT = 9, COMMAND = 127 };	/* of futex(2) */
	bool futex = number == SYS_futex;
	struct timespec until;
	long arg[6];
	va_list args;

	va_start(args, number);
	for (int i = 0; i < 6; i++)
		arg[i] = va_arg(args, long);
	va_end(args);
	if (futex && (arg[1] & COMMAND) == NAP) {
		__atomic_store_n(&nap_word, (const uint32_t *)arg[0],
				 __ATOMIC_SEQ_CST);
		__atomic_add_fetch(&nap_count, 1, __ATOMIC_SEQ_CST);
		if (__atomic_load_n(&naps_skipped, __ATOMIC_SEQ_CST))
			return fail(ETIMEDOUT);
	}
	if (futex && (arg[1] & COMMAND) == WAKE)
		__atomic_add_fetch(&wake_count, 1, __ATOMIC_SEQ_CST);
	if (futex && (arg[1] & COMMAND) == WAIT) {
		int answer = __atomic_exchange_n(&next_answer, (int)REAL_RESULT,
						 __ATOMIC_SEQ_CST);

		__atomic_add_fetch(&sleep_count, 1, __ATOMIC_SEQ_CST);
		if (answer == A_SIGNAL)
			return fail(EINTR);
		if (answer == SPURIOUS_WAKE)
			return 0;
		arg[3] = (long)to_kernel(&until, arg[3]);
	}
	return __real_syscall(number, arg[0], arg[1], arg[2], arg[3], arg[4],
			      arg[5]);
}
