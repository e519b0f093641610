/* SPDX-License-Identifier: MIT */
/*
 * glibc bug 15765: a thread that is cancelled (pthread_cancel) inside the
 * library leaks a resource: a descriptor in glibc; here it would be a place in
 * the queue or a permit.
 *
 * Threads: waiter, main.
 *
 *   1. waiter: acquire enqueues and parks.
 *   2. main: calls pthread_cancel(waiter).
 *   3. waiter: unwinds out of the wait; its stack, which contains the queue
 *      node, is gone.
 *   4. main: releases and hands the permit to that node.
 *
 * In weir (C18) no function of a semaphore or a context is a cancellation
 * point.  The wait goes on and ends as it would have; the thread ends at its
 * next cancellation point.  The test runner counts descriptors and threads, so
 * it detects a leak.  (Named semaphores are tested in tests/named.)
 */
#include "waiter.h"

struct doomed {
	weir_sem sem;
	weir_ctx ctx;
	uint32_t got;		/* atomic: permits held */
};

static void put_back(void *arg)
{
	struct doomed *d = arg;

	weir_sem_release(&d->sem, d->got);
}

static void *wait_and_die(void *arg)
{
	struct doomed *d = arg;

	CHECK_OK(weir_sem_acquire(&d->sem, 1, &d->ctx));
	__atomic_store_n(&d->got, 1, __ATOMIC_RELEASE);
	pthread_cleanup_push(put_back, d);
	pthread_testcancel();
	pthread_cleanup_pop(0);
	return NULL;
}

TEST(c18_a_queued_thread_that_is_cancelled_waits_on)
{
	struct doomed d = { .sem = WEIR_SEM_INIT(1), .ctx = WEIR_CTX_INIT };
	struct waiter behind = { .sem = &d.sem, .n = 1 };
	check_thread thread;

	CHECK_OK(weir_sem_acquire(&d.sem, 1, NULL));
	thread = start(wait_and_die, &d);
	AWAIT(waiters_of(&d.sem) == 1);
	CHECK_EQ(pthread_cancel(thread.id), 0);
	queue_up(&behind);
	CHECK_EQ(waiters_of(&d.sem), 2);
	/* In order: the cancelled thread first, then `behind`. */
	weir_sem_release(&d.sem, 1);
	CHECK(finish(thread) == PTHREAD_CANCELED);
	CHECK_EQ(d.got, 1);
	CHECK_OK(result_of(&behind));
	CHECK_EQ(stat_of(&d.sem).held, 1);
	CHECK_OK(weir_ctx_destroy(&d.ctx));
}

static void *descriptor_and_die(void *arg)
{
	weir_ctx *ctx = arg;
	int fd, again;

	CHECK_EQ(pthread_cancel(pthread_self()), 0);
	CHECK_OK(weir_ctx_fd(ctx, &fd));
	weir_ctx_cancel(ctx);
	CHECK_OK(weir_ctx_fd(ctx, &again));
	CHECK_EQ(fd, again);
	CHECK_ERR(weir_ctx_wait(ctx, WEIR_FOREVER), WEIR_ECANCELED);
	CHECK_OK(weir_ctx_destroy(ctx));
	pthread_testcancel();
	return NULL;
}

/* C18: the descriptor of a context is neither leaked nor created twice. */
TEST(c18_no_descriptor_is_leaked)
{
	weir_ctx ctx = WEIR_CTX_INIT;

	CHECK(finish(start(descriptor_and_die, &ctx)) == PTHREAD_CANCELED);
}
