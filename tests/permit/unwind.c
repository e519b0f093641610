/* SPDX-License-Identifier: MIT */
/*
 * Threads that end inside a scope, C34.
 *
 * With glibc this file is compiled twice.  With -fexceptions the stack of a
 * thread that exits or is cancelled is unwound, and its scoped permits are
 * released.  Without -fexceptions, and on musl, which does not unwind, the same
 * tests show the documented limit: the permits stay held.  pthread_cleanup_push
 * works everywhere.
 */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "check.h"
#include "memory.h"
#include "weir/permit.h"

#if defined(__GLIBC__) && defined(__EXCEPTIONS)
#define UNWINDS 1
#else
#define UNWINDS 0
#endif

#define N 8

static weir_sem sem = WEIR_SEM_INIT(N);

/* Check after the end of a thread that had n permits in a scope. */
static void check_ended_with(int64_t n)
{
	CHECK_EQ(weir_sem_available(&sem), UNWINDS ? N : N - n);
	CHECK_IDENTITY(&sem);
	if (!UNWINDS)
		weir_sem_release(&sem, n);
}

__attribute__((noinline, noreturn)) static void exit_here(void *value)
{
	WEIR_SCOPED weir_permit p = WEIR_PERMIT_INIT;

	CHECK_OK(weir_permit_acquire(&p, &sem, 2, NULL));
	pthread_exit(value);
}

static void *exit_in_scopes(void *value)
{
	WEIR_SCOPED weir_permit p = WEIR_PERMIT_INIT;
	WEIR_SCOPED weir_permit none = WEIR_PERMIT_INIT;

	CHECK_OK(weir_permit_acquire(&p, &sem, 1, NULL));
	CHECK_ERR(weir_permit_acquire(&none, &sem, N + 1, NULL), WEIR_ETOOBIG);
	exit_here(value);
}

TEST(c34_pthread_exit_in_scopes)
{
	int value;

	CHECK(finish(start(exit_in_scopes, &value)) == &value);
	check_ended_with(3);
}

static void *exit_in_block(void *value)
{
	weir_err err;

	WEIR_WITH_PERMIT(err, &sem, 3, NULL)
		pthread_exit(value);
	CHECK_OK(err);
	return NULL;
}

TEST(c34_pthread_exit_in_the_block_form)
{
	int value;

	CHECK(finish(start(exit_in_block, &value)) == &value);
	check_ended_with(3);
}

static void *exit_after_release(void *value)
{
	WEIR_SCOPED weir_permit p = WEIR_PERMIT_INIT;

	CHECK_OK(weir_permit_acquire(&p, &sem, 3, NULL));
	weir_permit_release(&p);
	pthread_exit(value);
}

TEST(c34_pthread_exit_does_not_release_twice)
{
	weir_permit others = WEIR_PERMIT_INIT;

	/* Some stay held: otherwise a second release would be refused. */
	CHECK_OK(weir_permit_acquire(&others, &sem, 4, NULL));
	finish(start(exit_after_release, NULL));
	CHECK_EQ(weir_sem_available(&sem), N - 4);
	weir_permit_release(&others);
}

static void *hold_until_cancelled(void *unused)
{
	WEIR_SCOPED weir_permit p = WEIR_PERMIT_INIT;

	CHECK_OK(weir_permit_acquire(&p, &sem, 2, NULL));
	for (;;) {
		pthread_testcancel();
		sched_yield();
	}
	return unused;
}

TEST(c34_pthread_cancel_in_a_scope)
{
	check_thread thread = start(hold_until_cancelled, NULL);

	AWAIT(weir_sem_available(&sem) == N - 2);
	CHECK_EQ(pthread_cancel(thread.id), 0);
	CHECK(finish(thread) == PTHREAD_CANCELED);
	check_ended_with(2);
}

static uintptr_t context_at;

static void note_context(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)info;
	context_at = (uintptr_t)context;
}

/*
 * Returns false under qemu-x86_64 7.2, which runs signal handlers on a stack
 * that is misaligned by 8: glibc's handler that cancels a blocked thread
 * crashes, in any program.  The context that it passes is misaligned as well.
 */
static bool handlers_are_aligned(void)
{
	struct sigaction action, before;

	memset(&action, 0, sizeof(action));
	action.sa_sigaction = note_context;
	action.sa_flags = SA_SIGINFO;
	CHECK_EQ(sigaction(SIGUSR1, &action, &before), 0);
	CHECK_EQ(raise(SIGUSR1), 0);
	CHECK_EQ(sigaction(SIGUSR1, &before, NULL), 0);
	return context_at % 16 == 0;
}

static void *hold_in_a_system_call(void *unused)
{
	WEIR_SCOPED weir_permit p = WEIR_PERMIT_INIT;

	CHECK_OK(weir_permit_acquire(&p, &sem, 2, NULL));
	for (;;)
		pause();
	return unused;
}

TEST(c34_pthread_cancel_of_a_blocked_thread)
{
	check_thread thread;

	if (!handlers_are_aligned()) {
		printf("not run: this emulator misaligns signal handlers\n");
		return;
	}
	thread = start(hold_in_a_system_call, NULL);
	AWAIT(weir_sem_available(&sem) == N - 2);
	CHECK_EQ(pthread_cancel(thread.id), 0);
	CHECK(finish(thread) == PTHREAD_CANCELED);
	check_ended_with(2);
}

/*
 * C18: acquire is not a cancellation point.  A thread that is cancelled while
 * it waits stays queued, is granted, and ends at the next cancellation point.
 */
TEST(c34_c18_pthread_cancel_during_the_acquire)
{
	weir_permit all = WEIR_PERMIT_INIT;
	check_thread thread;

	CHECK_OK(weir_permit_acquire(&all, &sem, N, NULL));
	thread = start(hold_until_cancelled, NULL);
	AWAIT(waiters_of(&sem) == 1);
	CHECK_EQ(pthread_cancel(thread.id), 0);
	CHECK_EQ(waiters_of(&sem), 1);
	weir_permit_release(&all);
	CHECK(finish(thread) == PTHREAD_CANCELED);
	check_ended_with(2);
}

static weir_sem owned_now = WEIR_SEM_INIT_UNBOUNDED(0);

static void *cancelled_with_an_owned_permit(void *arg)
{
	weir_sem *heap = arg;
	WEIR_SCOPED weir_permit p = WEIR_PERMIT_INIT;

	CHECK_OK(weir_permit_acquire(&p, heap, 1, NULL));
	CHECK_OK(weir_permit_own(&p));
	weir_sem_release(&owned_now, 1);
	for (;;) {
		pthread_testcancel();
		sched_yield();
	}
	return NULL;
}

/* C34: unwinding drops the reference of an owned permit too. */
TEST(c34_pthread_cancel_with_an_owned_permit)
{
	weir_sem *heap = new_sem(1);
	check_thread thread;

	thread = start(cancelled_with_an_owned_permit, heap);
	CHECK_OK(weir_sem_acquire(&owned_now, 1, NULL));
	CHECK_EQ(weir_sem_available(heap), 0);
	CHECK_EQ(pthread_cancel(thread.id), 0);
	CHECK(finish(thread) == PTHREAD_CANCELED);
	CHECK_EQ(weir_sem_available(heap), UNWINDS ? 1 : 0);
	if (!UNWINDS) {
		weir_sem_release(heap, 1);
		weir_sem_unref(heap);
	}
	CHECK_EQ(refs_of(heap), 1);
	weir_sem_unref(heap);
	CHECK_EQ(alive(), 0);
}

static void release_permit(void *arg)
{
	weir_permit_release(arg);
}

static void *exit_with_cleanup(void *arg)
{
	weir_permit *p = arg;

	pthread_cleanup_push(release_permit, p);
	CHECK_OK(weir_permit_acquire(p, &sem, 2, NULL));
	pthread_exit(p);
	pthread_cleanup_pop(1);
	return NULL;
}

/* C34: the method for musl and for code without -fexceptions. */
TEST(c34_pthread_cleanup_push_releases_everywhere)
{
	weir_permit p = WEIR_PERMIT_INIT;

	CHECK(finish(start(exit_with_cleanup, &p)) == &p);
	CHECK_EQ(weir_permit_count(&p), 0);
	CHECK_EQ(weir_sem_available(&sem), N);
}
