/* SPDX-License-Identifier: MIT */
/* The other libc calls of the library, except the clock: inject.h. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>

#include "check.h"
#include "inject.h"
#include "real.h"

static int descriptors;

int __wrap_timerfd_create(int clock, int flags)
{
	int fd = fault_due(AT_TIMER) ? (int)fault_result() :
				       __real_timerfd_create(clock, flags);

	if (fd >= 0)
		__atomic_add_fetch(&descriptors, 1, __ATOMIC_SEQ_CST);
	return fd;
}

int __wrap_timerfd_settime(int fd, int flags, const struct itimerspec *at,
			   struct itimerspec *before)
{
	return fault_due(AT_SETTIME) ?
		       (int)fault_result() :
		       __real_timerfd_settime(fd, flags, at, before);
}

void fault_descriptor_is_gone(void)
{
	__atomic_sub_fetch(&descriptors, 1, __ATOMIC_SEQ_CST);
}

int fault_live_descriptors(void)
{
	return __atomic_load_n(&descriptors, __ATOMIC_SEQ_CST);
}

/*
 * Blocks from posix_memalign that have not been freed.  Other code calls free
 * too.
 */
static void *blocks[64];
static int live_blocks;

static bool replace_block(void *old, void *new)
{
	for (size_t i = 0; i < sizeof(blocks) / sizeof(*blocks); i++) {
		void *seen = old;

		if (__atomic_compare_exchange_n(&blocks[i], &seen, new, 0,
						__ATOMIC_SEQ_CST,
						__ATOMIC_SEQ_CST))
			return true;
	}
	return false;
}

int __wrap_posix_memalign(void **memory, size_t alignment, size_t size)
{
	int error;

	/*
	 * posix_memalign returns its error and leaves errno and *memory
	 * unchanged.
	 */
	if (fault_due(AT_MEMORY))
		return fault_now()->error;
	error = __real_posix_memalign(memory, alignment, size);
	if (!error) {
		CHECK(replace_block(NULL, *memory));
		__atomic_add_fetch(&live_blocks, 1, __ATOMIC_SEQ_CST);
	}
	return error;
}

void __wrap_free(void *memory)
{
	if (memory && replace_block(memory, NULL))
		__atomic_sub_fetch(&live_blocks, 1, __ATOMIC_SEQ_CST);
	__real_free(memory);
}

int fault_live_blocks(void)
{
	return __atomic_load_n(&live_blocks, __ATOMIC_SEQ_CST);
}

int __wrap_sched_getcpu(void)
{
	return fault_due(AT_GETCPU) ? (int)fault_result() :
				      __real_sched_getcpu();
}

int __wrap_sched_yield(void)
{
	return fault_due(AT_YIELD) ? (int)fault_result() : __real_sched_yield();
}

/*
 * Calls that are made once, when the library is loaded, before any plan: the
 * environment selects which of them fails.
 */
static bool fails_at_load(const char *what)
{
	const char *fails = getenv("WEIR_FAULT_AT_LOAD");

	return fails && !strcmp(fails, what);
}

int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set)
{
	/* The error for more CPUs than a cpu_set_t has bits. */
	if (fails_at_load("sched_getaffinity")) {
		errno = EINVAL;
		return -1;
	}
	if (!fault_cpus)
		return __real_sched_getaffinity(pid, size, set);
	memset(set, 0, size);
	for (unsigned i = 0; i < (unsigned)fault_cpus; i++)
		CPU_SET(i, set);
	return 0;
}

int __wrap_pthread_atfork(void (*prepare)(void), void (*parent)(void),
			  void (*child)(void))
{
	return fails_at_load("pthread_atfork") ?
		       ENOMEM :
		       __real_pthread_atfork(prepare, parent, child);
}

/*
 * Process ids that are equal in the low 8 bits: C29 must not depend on them.
 * The kernel's ids have at most 22 bits.
 */
pid_t __wrap_getpid(void)
{
	return __real_getpid() << 8;
}
