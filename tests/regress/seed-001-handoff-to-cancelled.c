/* SPDX-License-Identifier: MIT */
/*
 * A releaser that hands the permit over by rendezvous (a channel, a second
 * lock) blocks forever when the waiter has just been cancelled.
 *
 * Threads: waiter (queued, with a ctx), canceller, releaser.
 *
 *   1. releaser: selects the waiter.
 *   2. canceller: cancels the ctx.
 *   3. waiter: gives up and will not take the permit.
 *   4. releaser: waits forever for the waiter to take the permit.
 *
 * In weir a release never blocks (C25), whatever the waiter does, even if the
 * waiter's thread does not run at all.  When the release and the cancel have
 * returned, the permit is free or granted to another waiter (C13).
 */
#include "race.h"
#include "waiter.h"

static void release_to_a_frozen_waiter(weir_policy policy, bool cancel_first)
{
	weir_sem_opts opts = { .capacity = 1, .policy = policy };
	weir_ctx ctx = WEIR_CTX_INIT;
	weir_sem sem;
	struct waiter w = { .sem = &sem, .n = 1, .ctx = &ctx };

	CHECK_OK(weir_sem_init_opts(&sem, &opts));
	queue_up(&w);
	freeze(&w);
	if (cancel_first)
		weir_ctx_cancel(&ctx);
	weir_sem_release(&sem, 1);
	if (!cancel_first)
		weir_ctx_cancel(&ctx);
	/* Neither call waited for the waiter, which cannot run. */
	CHECK_EQ(waiters_of(&sem), 0);
	CHECK(!has_returned(&w));
	if (cancel_first)
		CHECK_EQ(weir_sem_available(&sem), 1);
	thaw(&w);
	CHECK_ERR(result_of(&w), WEIR_ECANCELED);
	CHECK_EQ(stat_of(&sem).granted, 0);
	CHECK_OK(weir_sem_try_acquire(&sem, 1));
	CHECK_EQ(stat_of(&sem).held, 1);
	CHECK_IDENTITY(&sem);
	CHECK_OK(weir_ctx_destroy(&ctx));
}

TEST(c25_release_after_the_cancel)
{
	release_to_a_frozen_waiter(WEIR_FIFO, true);
	release_to_a_frozen_waiter(WEIR_BARGING, true);
}

TEST(c25_cancel_after_the_release)
{
	release_to_a_frozen_waiter(WEIR_FIFO, false);
	release_to_a_frozen_waiter(WEIR_BARGING, false);
}

struct shared {
	struct gate all;
	struct gate fire;
	weir_sem *sem;
	weir_ctx ctx;
	weir_err err;
	bool stop;
};

static void *wait_for_one(void *arg)
{
	struct shared *s = arg;

	for (;;) {
		meet(&s->all);
		if (s->stop)
			return NULL;
		s->err = weir_sem_acquire(s->sem, 1, &s->ctx);
		meet(&s->all);
	}
}

static void *cancel_it(void *arg)
{
	struct shared *s = arg;
	uint64_t random = seed_of(1);

	for (;;) {
		meet(&s->all);
		if (s->stop)
			return NULL;
		depart(&s->fire);
		jitter(&random, 300);
		weir_ctx_cancel(&s->ctx);
		meet(&s->all);
	}
}

/* C13, C25: release and cancel race on one queued waiter. */
static void meet_on_one(weir_sem *sem)
{
	struct shared s = { .all.parties = 3, .fire.parties = 2, .sem = sem };
	check_thread waiter = start(wait_for_one, &s);
	check_thread canceller = start(cancel_it, &s);
	uint64_t random = seed_of(2);
	struct rounds r = rounds(10000);

	while (again(&r)) {
		CHECK_OK(weir_ctx_init(&s.ctx, NULL, WEIR_FOREVER));
		meet(&s.all);
		AWAIT(waiters_of(sem) == 1);
		depart(&s.fire);
		jitter(&random, 300);
		weir_sem_release(sem, 1);
		meet(&s.all);
		CHECK_EQ(stat_of(sem).granted, 0);
		if (s.err) {
			CHECK_ERR(s.err, WEIR_ECANCELED);
			CHECK_OK(weir_sem_try_acquire(sem, 1));
		}
		CHECK_EQ(stat_of(sem).held, 1);
		CHECK_OK(weir_ctx_destroy(&s.ctx));
	}
	s.stop = true;
	meet(&s.all);
	finish(waiter);
	finish(canceller);
}

TEST(c13_release_meets_cancel)
{
	weir_sem fifo = WEIR_SEM_INIT(1), barging = WEIR_SEM_INIT_BARGING(1);

	CHECK_OK(weir_sem_acquire(&fifo, 1, NULL));
	meet_on_one(&fifo);
	CHECK_OK(weir_sem_acquire(&barging, 1, NULL));
	meet_on_one(&barging);
}
