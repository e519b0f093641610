/* SPDX-License-Identifier: MIT */
/*
 * cpython gh-90155: after many simultaneous cancellations a stale "waiter was
 * woken" flag makes every later acquire wait forever.
 *
 * Threads: A, B, C (queued, one common ctx), releaser, canceller, newcomer.
 *
 *   1. releaser: sets the flag "A has been woken".
 *   2. canceller: cancels the ctx.
 *   3. A, B, C: leave the queue; the flag stays set.
 *   4. newcomer: the flag says that a woken waiter is about to take the permit;
 *      waits behind it forever.
 *
 * In weir a newcomer finds the permits free once the cancelled calls have
 * returned (C16).  Waiters that queue later are granted in order, and no
 * request passes a waiter that was notified but has not run (C4, C5).
 */
#include "race.h"
#include "waiter.h"

#define STORM 6

static void check_usable(weir_sem *sem)
{
	struct waiter first = { .sem = sem, .n = 1 };
	struct waiter second = { .sem = sem, .n = 1 };

	/* No waiter, all permits free: the fast path succeeds. */
	CHECK_EQ(waiters_of(sem), 0);
	CHECK_EQ(weir_sem_available(sem), 1);
	CHECK_OK(weir_sem_try_acquire(sem, 1));
	weir_sem_release(sem, 1);
	CHECK_OK(weir_sem_acquire(sem, 1, NULL));
	/* The queue grants in order. */
	queue_up(&first);
	queue_up(&second);
	weir_sem_release(sem, 1);
	CHECK_OK(result_of(&first));
	CHECK(!has_returned(&second));
	CHECK_EQ(waiters_of(sem), 1);
	weir_sem_release(sem, 1);
	CHECK_OK(result_of(&second));
	weir_sem_release(sem, 1);
	CHECK_IDENTITY(sem);
}

static void storm(weir_sem *sem, bool release_first)
{
	weir_ctx ctx = WEIR_CTX_INIT;
	struct waiter w[STORM];

	CHECK_OK(weir_sem_acquire(sem, 1, NULL));
	for (int i = 0; i < STORM; i++) {
		w[i] = (struct waiter){ .sem = sem, .n = 1, .ctx = &ctx };
		queue_up(&w[i]);
	}
	/* No waiter runs between the release and the cancel. */
	for (int i = 0; i < STORM; i++)
		freeze(&w[i]);
	if (release_first)
		weir_sem_release(sem, 1);
	weir_ctx_cancel(&ctx);
	if (!release_first) {
		weir_sem_release(sem, 1);
		check_usable(sem);
	}
	for (int i = 0; i < STORM; i++)
		thaw(&w[i]);
	for (int i = 0; i < STORM; i++)
		CHECK_ERR(result_of(&w[i]), WEIR_ECANCELED);
	check_usable(sem);
	CHECK_OK(weir_ctx_destroy(&ctx));
}

TEST(c16_usable_after_a_cancel_storm)
{
	weir_sem fifo = WEIR_SEM_INIT(1), barging = WEIR_SEM_INIT_BARGING(1);

	storm(&fifo, true);
	storm(&fifo, false);
	storm(&barging, true);
	storm(&barging, false);
}

struct shared {
	struct gate gate;
	weir_sem sem;
	weir_ctx ctx;
	bool stop;
};

static void *acquire_in_the_storm(void *arg)
{
	struct shared *s = arg;

	for (;;) {
		weir_err err;

		meet(&s->gate);
		if (s->stop)
			return NULL;
		while (!(err = weir_sem_acquire(&s->sem, 1, &s->ctx)))
			weir_sem_release(&s->sem, 1);
		CHECK_ERR(err, WEIR_ECANCELED);
		meet(&s->gate);
	}
}

/* C13, C16: the same with threads that acquire and release continuously. */
static void storms(weir_policy policy)
{
	weir_sem_opts opts = { .permits = 1, .policy = policy };
	struct shared s = { .gate.parties = STORM + 1 };
	uint64_t random = seed_of(1);
	check_thread thread[STORM];
	struct rounds r = rounds(2000);

	CHECK_OK(weir_sem_init_opts(&s.sem, &opts));
	for (int i = 0; i < STORM; i++)
		thread[i] = start(acquire_in_the_storm, &s);
	while (again(&r)) {
		CHECK_OK(weir_ctx_init(&s.ctx, NULL, WEIR_FOREVER));
		meet(&s.gate);
		jitter(&random, 20000);
		weir_ctx_cancel(&s.ctx);
		meet(&s.gate);
		CHECK_EQ(waiters_of(&s.sem), 0);
		CHECK_OK(weir_sem_try_acquire(&s.sem, 1));
		weir_sem_release(&s.sem, 1);
		CHECK_OK(weir_ctx_destroy(&s.ctx));
	}
	s.stop = true;
	meet(&s.gate);
	for (int i = 0; i < STORM; i++)
		finish(thread[i]);
	check_usable(&s.sem);
}

TEST(c13_storms_of_cancellation)
{
	storms(WEIR_FIFO);
	storms(WEIR_BARGING);
}
