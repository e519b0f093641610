/* SPDX-License-Identifier: MIT */
/*
 * weir_print_: a text for people raises no SIGPIPE and loses no part.
 *
 * This program is linked with --wrap=write and --wrap=sigtimedwait, so that it
 * can interrupt them.
 */
#include "base/print.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "job.h"

ssize_t __real_write(int fd, const void *text, size_t size);
ssize_t __wrap_write(int fd, const void *text, size_t size);
int __real_sigtimedwait(const sigset_t *set, siginfo_t *info,
			const struct timespec *timeout);
int __wrap_sigtimedwait(const sigset_t *set, siginfo_t *info,
			const struct timespec *timeout);

static int watched = -1;	/* the descriptor whose writes are changed */
static int interrupts;		/* calls that are interrupted first */
static size_t most = SIZE_MAX;	/* bytes that a write takes */
static bool nothing;		/* a write returns 0 */
static bool broken;		/* a write fails with EPIPE, without a signal */
static int failure;		/* a write fails so; 0: it does not */
static bool raises;		/* another SIGPIPE comes during a write */

ssize_t __wrap_write(int fd, const void *text, size_t size)
{
	if (fd != watched)
		return __real_write(fd, text, size);
	if (raises)
		CHECK_EQ(pthread_kill(pthread_self(), SIGPIPE), 0);
	if (interrupts) {
		interrupts--;
		errno = EINTR;
		return -1;
	}
	if (broken || failure) {
		errno = broken ? EPIPE : failure;
		return -1;
	}
	if (nothing)
		return 0;
	return __real_write(fd, text, size < most ? size : most);
}

int __wrap_sigtimedwait(const sigset_t *set, siginfo_t *info,
			const struct timespec *timeout)
{
	/* For this signal only, and without a wait. */
	for (int number = 1; number < 32; number++)
		CHECK_EQ(sigismember(set, number), number == SIGPIPE);
	/* sigwaitinfo of musl calls this function without a time. */
	CHECK(!timeout || (!timeout->tv_sec && !timeout->tv_nsec));
	if (interrupts) {
		interrupts--;
		errno = EINTR;
		return -1;
	}
	return __real_sigtimedwait(set, info, timeout);
}

static bool is_pending(void)
{
	sigset_t pending;

	sigpending(&pending);
	return sigismember(&pending, SIGPIPE);
}

/* A write that is interrupted, or that takes a part only, goes on. */
TEST(a_text_is_written_whole)
{
	char text[16] = "";
	int ends[2];

	CHECK_EQ(pipe(ends), 0);
	watched = ends[1];
	interrupts = 2;
	most = 3;
	weir_print_(ends[1], "a report", 8);
	CHECK_EQ(read(ends[0], text, sizeof(text)), 8);
	CHECK(!strcmp(text, "a report"));
	most = 1;
	weir_print_(ends[1], "pieces", 6);
	most = SIZE_MAX;
	CHECK_EQ(read(ends[0], text, sizeof(text)), 6);
	CHECK(!memcmp(text, "pieces", 6));
	close(ends[0]);
	close(ends[1]);
}

/* A descriptor that takes nothing, or that is not open, ends the write. */
TEST(a_write_that_fails_ends)
{
	int ends[2];

	CHECK_EQ(pipe(ends), 0);
	watched = ends[1];
	nothing = true;
	/* An errno from before does not count. */
	errno = EINTR;
	weir_print_(ends[1], "a report", 8);
	nothing = false;
	weir_print_(-1, "a report", 8);
	CHECK(!is_pending());
	close(ends[0]);
	close(ends[1]);
}

static void mask_is(int how, const sigset_t *set, bool blocked)
{
	sigset_t now;

	if (set)
		CHECK_EQ(pthread_sigmask(how, set, NULL), 0);
	CHECK_EQ(pthread_sigmask(SIG_BLOCK, NULL, &now), 0);
	CHECK_EQ(sigismember(&now, SIGPIPE), blocked);
}

/* A signal that comes during the write, and not from it, remains. */
TEST(a_signal_of_another_source_remains)
{
	static const int failures[] = { 0, EIO };
	sigset_t set;
	int ends[2];

	CHECK_EQ(pipe(ends), 0);
	watched = ends[1];
	sigemptyset(&set);
	sigaddset(&set, SIGPIPE);
	mask_is(SIG_BLOCK, &set, true);
	for (int i = 0; i < 2; i++) {
		failure = failures[i];
		raises = true;
		weir_print_(ends[1], "a report", 8);
		raises = false;
		CHECK(is_pending());
		CHECK_EQ(sigwaitinfo(&set, NULL), SIGPIPE);
	}
	failure = 0;
	mask_is(SIG_UNBLOCK, &set, false);
	/* The call leaves the mask as it was. */
	weir_print_(ends[1], "a report", 8);
	mask_is(SIG_BLOCK, NULL, false);
	close(ends[0]);
	close(ends[1]);
}

/* Without a reader: no signal, also if the wait for it is interrupted. */
TEST(no_signal_without_a_reader)
{
	sigset_t set;
	int ends[2];

	CHECK_EQ(pipe(ends), 0);
	close(ends[0]);
	watched = -1;
	weir_print_(ends[1], "a report", 8);
	interrupts = 1;
	weir_print_(ends[1], "a report", 8);
	CHECK_EQ(interrupts, 0);
	/* A signal that was pending before remains. */
	sigemptyset(&set);
	sigaddset(&set, SIGPIPE);
	CHECK_EQ(pthread_sigmask(SIG_BLOCK, &set, NULL), 0);
	CHECK_EQ(pthread_kill(pthread_self(), SIGPIPE), 0);
	weir_print_(ends[1], "a report", 8);
	CHECK(is_pending());
	CHECK_EQ(sigwaitinfo(&set, NULL), SIGPIPE);
	CHECK(!is_pending());
	CHECK_EQ(pthread_sigmask(SIG_UNBLOCK, &set, NULL), 0);
	/* A driver may return EPIPE without a signal: it is not awaited. */
	watched = ends[1];
	broken = true;
	weir_print_(ends[1], "a report", 8);
	broken = false;
	CHECK(!is_pending());
	close(ends[1]);
}
