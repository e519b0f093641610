/* SPDX-License-Identifier: MIT */
/*
 * dotnet/runtime#59639, #11202, #71706: waiters never return when the semaphore
 * is disposed of while they wait, or right after they were cancelled.
 *
 * Threads: A (with a ctx), B, main.
 *
 *   1. main: cancels A's ctx.
 *   2. main: disposes of the semaphore.
 *   3. A: wakes and removes itself from a queue that no longer exists.
 *   4. B: sleeps forever.
 *
 * In weir a close makes every waiter return exactly once, with WEIR_ECLOSED or
 * with the error that ended its wait earlier (C19, C16).  A destroy with
 * waiters fails with WEIR_EBUSY and changes nothing (C22); it succeeds after
 * the last call has returned.
 */
#include "race.h"
#include "waiter.h"

#define WAITERS 6

static void close_with_waiters(weir_policy policy, weir_close how,
			       bool cancel_first)
{
	weir_sem_opts opts = { .capacity = 1, .policy = policy };
	weir_ctx ctx = WEIR_CTX_INIT;
	struct waiter w[WAITERS];
	weir_sem sem;

	CHECK_OK(weir_sem_init_opts(&sem, &opts));
	for (int i = 0; i < WAITERS; i++) {
		w[i] = (struct waiter){ .sem = &sem, .n = 1 };
		if (i % 2)
			w[i].ctx = &ctx;
		else if (i == 2)
			w[i].deadline_ns = WEIR_FOREVER - 1;
		queue_up(&w[i]);
	}
	CHECK_ERR(weir_sem_destroy(&sem), WEIR_EBUSY);
	CHECK_EQ(waiters_of(&sem), WAITERS);
	if (cancel_first)
		weir_ctx_cancel(&ctx);
	weir_sem_close(&sem, how);
	if (!cancel_first)
		weir_ctx_cancel(&ctx);
	CHECK_EQ(waiters_of(&sem), 0);
	for (int i = 0; i < WAITERS; i++) {
		weir_err err = result_of(&w[i]);

		if (i % 2 && cancel_first)
			CHECK_ERR(err, WEIR_ECANCELED);
		else if (i % 2)		/* either may come first */
			CHECK(err == WEIR_ECLOSED || err == WEIR_ECANCELED);
		else
			CHECK_ERR(err, WEIR_ECLOSED);
	}
	/* The held permit is released as usual. */
	CHECK_EQ(stat_of(&sem).held, 1);
	weir_sem_release(&sem, 1);
	CHECK_OK(weir_sem_wait_idle(&sem, NULL));
	CHECK_OK(weir_sem_destroy(&sem));
	CHECK_OK(weir_ctx_destroy(&ctx));
}

TEST(c19_every_waiter_returns)
{
	close_with_waiters(WEIR_FIFO, WEIR_CLOSE_NOW, true);
	close_with_waiters(WEIR_FIFO, WEIR_CLOSE_NOW, false);
	close_with_waiters(WEIR_FIFO, WEIR_CLOSE_DRAIN, true);
	close_with_waiters(WEIR_BARGING, WEIR_CLOSE_NOW, true);
	close_with_waiters(WEIR_BARGING, WEIR_CLOSE_DRAIN, false);
}

/* C11, C19: oversized waiters return as well. */
TEST(c19_oversized_waiters_return_too)
{
	weir_sem sem = WEIR_SEM_INIT(1);
	weir_ctx ctx = WEIR_CTX_INIT;
	struct waiter big = { .sem = &sem, .n = 9, .ctx = &ctx };
	struct waiter idle = { .sem = &sem, .idle = true };

	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	queue_up(&big);
	queue_up(&idle);
	CHECK_ERR(weir_sem_destroy(&sem), WEIR_EBUSY);
	weir_sem_close(&sem, WEIR_CLOSE_NOW);
	CHECK_ERR(result_of(&big), WEIR_ECLOSED);
	/* The idle waiter still waits for the held permit. */
	CHECK_EQ(oversized_of(&sem), 1);
	CHECK_ERR(weir_sem_destroy(&sem), WEIR_EBUSY);
	weir_sem_release(&sem, 1);
	CHECK_OK(result_of(&idle));
	CHECK_OK(weir_sem_destroy(&sem));
	CHECK_OK(weir_ctx_destroy(&ctx));
}

struct shared {
	struct gate gate;
	weir_sem sem;
	weir_ctx ctx;
	bool stop;
};

static void *acquire_until_closed(void *arg)
{
	struct shared *s = arg;

	for (;;) {
		weir_err err;

		meet(&s->gate);
		if (s->stop)
			return NULL;
		while (!(err = weir_sem_acquire(&s->sem, 1, &s->ctx)))
			weir_sem_release(&s->sem, 1);
		CHECK(err == WEIR_ECLOSED || err == WEIR_ECANCELED);
		meet(&s->gate);
	}
}

static void *cancel_it(void *arg)
{
	struct shared *s = arg;
	uint64_t random = seed_of(1);

	for (;;) {
		meet(&s->gate);
		if (s->stop)
			return NULL;
		jitter(&random, 5000);
		weir_ctx_cancel(&s->ctx);
		meet(&s->gate);
	}
}

/* C19, C22: close and cancel race, then the semaphore is destroyed at once. */
TEST(c19_close_meets_cancel)
{
	struct shared s = { .gate.parties = 5 };
	uint64_t random = seed_of(2);
	check_thread thread[4];
	struct rounds r = rounds(3000);

	for (int i = 0; i < 3; i++)
		thread[i] = start(acquire_until_closed, &s);
	thread[3] = start(cancel_it, &s);
	while (again(&r)) {
		CHECK_OK(weir_sem_init(&s.sem, 1));
		CHECK_OK(weir_ctx_init(&s.ctx, NULL, WEIR_FOREVER));
		meet(&s.gate);
		jitter(&random, 5000);
		weir_sem_close(&s.sem, r.done % 2 ? WEIR_CLOSE_NOW :
						    WEIR_CLOSE_DRAIN);
		meet(&s.gate);
		CHECK_EQ(stat_of(&s.sem).free, 1);
		CHECK_OK(weir_sem_destroy(&s.sem));
		CHECK_OK(weir_ctx_destroy(&s.ctx));
	}
	s.stop = true;
	meet(&s.gate);
	for (int i = 0; i < 4; i++)
		finish(thread[i]);
}
