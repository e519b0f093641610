/* SPDX-License-Identifier: MIT */
/*
 * All other calls that the library makes to the system fail, at every call:
 * memory, descriptors, timers, the CPU number.
 */
#include <errno.h>
#include <sys/resource.h>

#include "work.h"

const int fault_cpus = 2;

/* C26, C34: weir_sem_new returns null, without effect and without a leak. */
TEST(c34_no_memory)
{
	static const struct fault faults[] = {
		{ "posix_memalign: ENOMEM", AT_MEMORY, 0, ENOMEM, false, 0 },
		{ "posix_memalign: EINVAL", AT_MEMORY, 0, EINVAL, false, 0 },
	};

	sweep(faults, sizeof(faults) / sizeof(*faults), NULL);
}

/* C13: WEIR_ESYSTEM and errno; the context works without a descriptor. */
TEST(c13_no_descriptor)
{
	static const struct fault faults[] = {
		{ "timerfd_create: EMFILE", AT_TIMER, -1, EMFILE, false, 0 },
		{ "timerfd_create: ENFILE", AT_TIMER, -1, ENFILE, false, 0 },
		{ "timerfd_create: ENOMEM", AT_TIMER, -1, ENOMEM, false, 0 },
		{ "timerfd_create: ENODEV", AT_TIMER, -1, ENODEV, false, 0 },
		{ "timerfd_create: ENOSYS", AT_TIMER, -1, ENOSYS, false, 0 },
		{ "timerfd_settime: EPERM", AT_SETTIME, -1, EPERM, false, 0 },
		{ "timerfd_settime: EINVAL", AT_SETTIME, -1, EINVAL, false, 0 },
	};

	sweep(faults, sizeof(faults) / sizeof(*faults), NULL);
}

/*
 * C13: a cancel that cannot wait until its descriptor is readable does not
 * hang, and an interrupted close has closed.
 */
TEST(c13_descriptors_that_fail)
{
	static const struct fault faults[] = {
		{ "ppoll: EINTR", AT_PPOLL, -1, EINTR, false, 0 },
		{ "ppoll: ENOMEM", AT_PPOLL, -1, ENOMEM, false, 0 },
		{ "ppoll: ENOSYS", AT_PPOLL, -1, ENOSYS, false, 0 },
		{ "ppoll: nothing ready", AT_PPOLL, 0, 0, false, 0 },
		{ "close: EINTR", AT_CLOSE, -1, EINTR, true, 0 },
		{ "close: EIO", AT_CLOSE, -1, EIO, true, 0 },
	};

	sweep(faults, sizeof(faults) / sizeof(*faults), NULL);
}

/* C6: hints only; no result depends on them. */
TEST(c6_hints_that_fail)
{
	static const struct fault faults[] = {
		{ "sched_getcpu: ENOSYS", AT_GETCPU, -1, ENOSYS, false, 0 },
		{ "sched_yield: ENOSYS", AT_YIELD, -1, ENOSYS, false, 0 },
	};

	sweep(faults, sizeof(faults) / sizeof(*faults), NULL);
	sweep_total("other calls");
}

/* C13: a real shortage: the process may open no more descriptors. */
TEST(c13_no_descriptor_left)
{
	struct rlimit before, none;
	weir_ctx ctx = WEIR_CTX_INIT;
	int fd = -2, again;

	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	none.rlim_cur = 0;
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
	errno = 0;
	CHECK_ERR(weir_ctx_fd(&ctx, &fd), WEIR_ESYSTEM);
	CHECK_EQ(errno, EMFILE);
	CHECK_EQ(fd, -1);
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
	CHECK_OK(weir_ctx_fd(&ctx, &fd));
	CHECK_OK(weir_ctx_fd(&ctx, &again));
	CHECK_EQ(fd, again);
	weir_ctx_cancel(&ctx);
	CHECK_OK(weir_ctx_destroy(&ctx));
	CHECK_EQ(fault_live_descriptors(), 0);
}
