/* SPDX-License-Identifier: MIT */
/*
 * System calls of a loop fail or are interrupted.  The linker wraps the
 * library's calls.
 */
#include <errno.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "calls.h"

int __real_eventfd(unsigned int count, int flags);
int __wrap_eventfd(unsigned int count, int flags);
long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);

static int refuse_with;		/* errno of the next eventfd; 0: succeed */
static long interrupt;		/* number of the system call that fails */
static int times;		/* how often it fails */
static int fail_with;		/* with this errno */

int __wrap_eventfd(unsigned int count, int flags)
{
	if (!refuse_with)
		return __real_eventfd(count, flags);
	errno = refuse_with;
	refuse_with = 0;
	return -1;
}

long __wrap_syscall(long number, ...)
{
	long a[6];
	va_list args;

	va_start(args, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(args, long);
	va_end(args);
	if (times && number == interrupt) {
		times--;
		errno = fail_with;
		return -1;
	}
	return __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* eventfd fails: init returns WEIR_ESYSTEM, and the next init succeeds. */
TEST(eventfd_fails)
{
	static const int errors[] = { EMFILE, ENFILE, ENOMEM, ENODEV, ENOSYS };
	weir_loop loop;

	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++) {
		refuse_with = errors[i];
		errno = 0;
		CHECK_ERR(weir_loop_init(&loop), WEIR_ESYSTEM);
		CHECK_EQ(errno, errors[i]);
		CHECK_OK(weir_loop_init(&loop));
		CHECK_OK(weir_loop_destroy(&loop));
	}
}

/* The same with a real limit of descriptors. */
TEST(descriptors_run_out)
{
	struct rlimit before, none;
	weir_loop loop;

	CHECK(!getrlimit(RLIMIT_NOFILE, &before));
	none = before;
	none.rlim_cur = 0;
	CHECK(!setrlimit(RLIMIT_NOFILE, &none));
	CHECK_ERR(weir_loop_init(&loop), WEIR_ESYSTEM);
	CHECK_EQ(errno, EMFILE);
	CHECK(!setrlimit(RLIMIT_NOFILE, &before));
	CHECK_OK(weir_loop_init(&loop));
	CHECK_OK(weir_loop_destroy(&loop));
}

/* C18, C36: an interrupted call is repeated; errno is unchanged. */
TEST(c36_reads_and_writes_are_interrupted)
{
	static const struct {
		long call;
		int error, times;
	} faults[] = {
		{ SYS_write, EINTR, 3 },
		{ SYS_read, EINTR, 3 },
		{ SYS_read, EAGAIN, 1 },
	};

	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++) {
		weir_sem sem = WEIR_SEM_INIT(1);
		weir_loop loop;
		struct call a;

		interrupt = faults[i].call;
		fail_with = faults[i].error;
		times = faults[i].times;
		errno = 77;
		CHECK_OK(weir_loop_init(&loop));
		CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
		call_queue(&a, &loop, &sem, 1, NULL);
		weir_sem_release(&sem, 1);
		CHECK(is_readable(&loop));
		CHECK_EQ(weir_loop_dispatch(&loop), 1);
		CALL_WAS(&a, WEIR_OK);
		CHECK_EQ(times, 0);
		CHECK_EQ(errno, 77);
		(void)weir_loop_dispatch(&loop);
		CHECK(!is_readable(&loop));
		CHECK_OK(weir_loop_destroy(&loop));
	}
}

/* C36: the write fails: no wake-up, but a dispatch runs the callback. */
TEST(c36_write_fails)
{
	weir_sem sem = WEIR_SEM_INIT(1);
	weir_loop loop;
	struct call a;

	CHECK_OK(weir_loop_init(&loop));
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	call_queue(&a, &loop, &sem, 1, NULL);
	interrupt = SYS_write;
	fail_with = EAGAIN;
	times = 1;
	weir_sem_release(&sem, 1);
	CHECK_EQ(weir_loop_dispatch(&loop), 1);
	CALL_WAS(&a, WEIR_OK);
	CHECK_OK(weir_loop_destroy(&loop));
}
