/* SPDX-License-Identifier: MIT */
/*
 * Waiting threads for tests that need to know the exact state of each waiter.
 *
 *     struct waiter a = { .sem = &sem, .n = 2, .ctx = &ctx };
 *
 *     queue_up(&a);                   parked in its wait, last in the queue
 *     weir_sem_release(&sem, 2);
 *     CHECK_OK(result_of(&a));        joins
 *
 * A parked waiter can be frozen: a signal takes its thread into a handler that
 * does not return until thaw().  The semaphore decides the wait while the
 * thread cannot run.  Most of these bugs need the state "granted but not yet
 * returned"; freezing makes it last as long as the test needs.
 */
#ifndef TESTS_REGRESS_WAITER_H
#define TESTS_REGRESS_WAITER_H

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "weir/ctx.h"

#define MAYBE_UNUSED __attribute__((unused))

struct waiter {
	weir_sem *sem;
	int64_t n;
	int64_t max;		/* above n: acquire_upto(n, max) */
	weir_ctx *ctx;
	int64_t deadline_ns;	/* a plain deadline; 0: none */
	bool idle;		/* wait_idle instead of an acquire */

	weir_err err;		/* valid once returned */
	int64_t got;		/* number of permits from acquire_upto */
	uint32_t returned;	/* atomic */
	int32_t tid;		/* atomic; 0 until the thread runs */
	uint32_t hold;		/* atomic: the handler stays while this is 1 */
	uint32_t frozen;	/* atomic: the thread is in the handler */
	uint32_t missed;	/* atomic: signals that did not freeze it */
	int64_t ends_ns;	/* when the call may begin to leave */
	check_thread thread;
};

/* The waiter of this thread; read by the signal handler. */
static __thread struct waiter *waiter_here;

MAYBE_UNUSED static weir_err waiter_call(struct waiter *w)
{
	if (w->idle)
		return weir_sem_wait_idle(w->sem, w->ctx);
	if (w->max > w->n)
		return weir_sem_acquire_upto(w->sem, w->n, w->max, w->ctx,
					     &w->got);
	if (w->deadline_ns)
		return weir_sem_acquire_until(w->sem, w->n, w->deadline_ns);
	return weir_sem_acquire(w->sem, w->n, w->ctx);
}

MAYBE_UNUSED static void *waiter_run(void *arg)
{
	struct waiter *w = arg;

	waiter_here = w;
	__atomic_store_n(&w->tid, (int32_t)syscall(SYS_gettid),
			 __ATOMIC_RELEASE);
	w->err = waiter_call(w);
	__atomic_store_n(&w->returned, 1, __ATOMIC_RELEASE);
	return NULL;
}

/* Returns true if the thread sleeps in the kernel. */
MAYBE_UNUSED static bool asleep(int32_t tid)
{
	return check_asleep(tid);
}

/* The number of voluntary context switches of the thread so far, or -1. */
MAYBE_UNUSED static long sleeps_of(struct waiter *w)
{
	static const char key[] = "\nvoluntary_ctxt_switches:";
	char path[64], text[4096];
	const char *at;
	size_t size;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/status", (int)w->tid);
	file = fopen(path, "r");
	if (!file)
		return -1;
	size = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[size] = '\0';
	at = strstr(text, key);
	return at ? atol(at + sizeof(key) - 1) : -1;
}

/* Start the call without waiting for its progress. */
MAYBE_UNUSED static void begin(struct waiter *w)
{
	w->returned = 0;
	w->tid = 0;
	w->hold = w->frozen = w->missed = 0;
	w->ends_ns = w->deadline_ns ? w->deadline_ns :
		     w->ctx ? weir_ctx_deadline(w->ctx) : WEIR_FOREVER;
	w->thread = start(waiter_run, w);
}

MAYBE_UNUSED static bool has_returned(struct waiter *w)
{
	return __atomic_load_n(&w->returned, __ATOMIC_ACQUIRE);
}

/*
 * Start the call; return when its thread is parked behind the earlier waiters.
 */
MAYBE_UNUSED static void queue_up(struct waiter *w)
{
	uint32_t before = waiters_of(w->sem) + oversized_of(w->sem);

	begin(w);
	AWAIT(waiters_of(w->sem) + oversized_of(w->sem) == before + 1);
	AWAIT(asleep(__atomic_load_n(&w->tid, __ATOMIC_ACQUIRE)));
	CHECK(!has_returned(w));
}

/* Wait for the call to return, join its thread and return the result. */
MAYBE_UNUSED static weir_err result_of(struct waiter *w)
{
	finish(w->thread);
	return w->err;
}

/*
 * Returns true if the deadline of the wait has passed.  The clock is read without
 * libc, for the handler below.
 */
__attribute__((no_sanitize("thread"))) MAYBE_UNUSED
static bool waiter_is_late(const struct waiter *w)
{
	struct timespec now;

	return w->ends_ns != WEIR_FOREVER &&
	       !syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now) &&
	       now.tv_sec * INT64_C(1000000000) + now.tv_nsec >= w->ends_ns;
}

/*
 * Returns true if the lock of the semaphore is held.  A barging waiter takes it once
 * when it reaches the starvation bound, and parks again.
 */
__attribute__((no_sanitize("thread"))) MAYBE_UNUSED
static bool waiter_may_have_lock(const struct waiter *w)
{
	return (__atomic_load_n(&w->sem->word_, __ATOMIC_RELAXED) & 3) == 3;
}

/*
 * The handler.  It must not be instrumented: the signal may have interrupted
 * the runtime of ThreadSanitizer.  A thread that may have the lock is not stopped.  If
 * its deadline has passed, its call returns.
 */
__attribute__((no_sanitize("thread"))) MAYBE_UNUSED
static void waiter_hold(int signo)
{
	struct waiter *w = waiter_here;
	struct timespec nap = { 0, 50000 };
	int saved = errno;

	(void)signo;
	if (waiter_is_late(w) || waiter_may_have_lock(w)) {
		__atomic_add_fetch(&w->missed, 1, __ATOMIC_RELEASE);
		errno = saved;
		return;
	}
	__atomic_store_n(&w->frozen, 1, __ATOMIC_RELEASE);
	while (__atomic_load_n(&w->hold, __ATOMIC_ACQUIRE))
		syscall(SYS_ppoll, NULL, 0, &nap, NULL, 0);
	__atomic_store_n(&w->frozen, 0, __ATOMIC_RELEASE);
	errno = saved;
}

#if UNDER_TSAN
/*
 * sigaction() of ThreadSanitizer defers a signal until the thread calls libc,
 * which a thread in futex(2) does not.  The alias __sigaction of glibc is not
 * intercepted.
 */
int __sigaction(int, const struct sigaction *, struct sigaction *);
#define real_sigaction __sigaction
#else
#define real_sigaction sigaction
#endif

MAYBE_UNUSED static bool is_frozen(struct waiter *w)
{
	return __atomic_load_n(&w->frozen, __ATOMIC_ACQUIRE);
}

/* Returns false if the call has returned instead. */
MAYBE_UNUSED static bool freeze_unless_returned(struct waiter *w)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = waiter_hold;
	CHECK_EQ(real_sigaction(SIGUSR1, &action, NULL), 0);
	__atomic_store_n(&w->hold, 1, __ATOMIC_RELEASE);
	while (!has_returned(w)) {
		uint32_t missed = __atomic_load_n(&w->missed, __ATOMIC_ACQUIRE);

		CHECK_EQ(pthread_kill(w->thread.id, SIGUSR1), 0);
		AWAIT(has_returned(w) || is_frozen(w) ||
		      __atomic_load_n(&w->missed, __ATOMIC_ACQUIRE) != missed);
		if (is_frozen(w))
			return true;
		AWAIT(has_returned(w) || asleep(w->tid));
	}
	return false;
}

/* Requires: w is parked in its wait. */
MAYBE_UNUSED static void freeze(struct waiter *w)
{
	CHECK(freeze_unless_returned(w));
}

MAYBE_UNUSED static void thaw(struct waiter *w)
{
	__atomic_store_n(&w->hold, 0, __ATOMIC_RELEASE);
}

/*
 * queue_up() and freeze() for a waiter with a deadline.  Returns false, with
 * the thread joined, if the deadline passed before the waiter was frozen in the
 * queue.  Retry with more time:
 *
 *     int64_t ns = 10000000;
 *
 *     do
 *             w.deadline_ns = weir_now_ns() + (ns *= 2);
 *     while (!queue_up_frozen(&w));
 */
MAYBE_UNUSED static bool queue_up_frozen(struct waiter *w)
{
	uint32_t before = waiters_of(w->sem);

	begin(w);
	AWAIT(has_returned(w) ||
	      (waiters_of(w->sem) == before + 1 &&
	       asleep(__atomic_load_n(&w->tid, __ATOMIC_ACQUIRE))));
	if (freeze_unless_returned(w) && waiters_of(w->sem) == before + 1)
		return true;
	thaw(w);
	(void)!result_of(w);
	return false;
}

#endif /* TESTS_REGRESS_WAITER_H */
