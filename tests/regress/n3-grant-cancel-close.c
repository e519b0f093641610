/* SPDX-License-Identifier: MIT */
/*
 * N3: a waiter is granted, cancelled and closed at the same time and gets more
 * than one outcome, or the permit is lost.
 *
 * Threads: waiter (parked, with a ctx), releaser, canceller, closer.
 *
 *   1. releaser: grants to the waiter.
 *   2. canceller: cancels the ctx.
 *   3. closer: closes the semaphore.
 *   4. waiter: wakes and finds three results.
 *
 * In weir the call has exactly one outcome, and the permit is where that
 * outcome says: held by the waiter (WEIR_OK) or free (C13, C16, C19).
 */
#include "race.h"
#include "waiter.h"

enum { RELEASE, CANCEL, CLOSE };

static void act(weir_sem *sem, weir_ctx *ctx, int what)
{
	if (what == RELEASE)
		weir_sem_release(sem, 1);
	else if (what == CANCEL)
		weir_ctx_cancel(ctx);
	else
		weir_sem_close(sem, WEIR_CLOSE_NOW);
}

static void check_one_outcome(weir_sem *sem, weir_err err)
{
	CHECK_EQ(waiters_of(sem), 0);
	CHECK_EQ(stat_of(sem).granted, 0);
	CHECK_EQ(stat_of(sem).held, err ? 0 : 1);
	CHECK_EQ(stat_of(sem).free, err ? 1 : 0);
	CHECK(weir_sem_is_closed(sem));
	CHECK_OK(weir_sem_destroy(sem));
}

/* Each order of the three calls, on a waiter that cannot run meanwhile. */
static void in_order(weir_policy policy, const int order[3])
{
	weir_sem_opts opts = { .capacity = 1, .policy = policy };
	weir_ctx ctx = WEIR_CTX_INIT;
	weir_sem sem;
	struct waiter w = { .sem = &sem, .n = 1, .ctx = &ctx };
	weir_err err;

	CHECK_OK(weir_sem_init_opts(&sem, &opts));
	queue_up(&w);
	freeze(&w);
	for (int i = 0; i < 3; i++)
		act(&sem, &ctx, order[i]);
	thaw(&w);
	err = result_of(&w);
	/* The ctx ended before the call returned, so the call fails. */
	if (order[0] == CANCEL || (order[0] == RELEASE && policy == WEIR_FIFO))
		CHECK_ERR(err, WEIR_ECANCELED);
	else
		CHECK(err == WEIR_ECLOSED || err == WEIR_ECANCELED);
	check_one_outcome(&sem, err);
	CHECK_OK(weir_ctx_destroy(&ctx));
}

TEST(c13_every_order)
{
	static const int orders[6][3] = {
		{ RELEASE, CANCEL, CLOSE }, { RELEASE, CLOSE, CANCEL },
		{ CANCEL, RELEASE, CLOSE }, { CANCEL, CLOSE, RELEASE },
		{ CLOSE, RELEASE, CANCEL }, { CLOSE, CANCEL, RELEASE },
	};

	for (int i = 0; i < 6; i++) {
		in_order(WEIR_FIFO, orders[i]);
		in_order(WEIR_BARGING, orders[i]);
	}
}

/* C19: without a ctx, permits granted before the close stay granted. */
TEST(c19_grant_then_close)
{
	weir_sem sem = WEIR_SEM_INIT(1);
	struct waiter w = { .sem = &sem, .n = 1 };

	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	queue_up(&w);
	freeze(&w);
	weir_sem_release(&sem, 1);
	weir_sem_close(&sem, WEIR_CLOSE_NOW);
	thaw(&w);
	CHECK_OK(result_of(&w));
	check_one_outcome(&sem, WEIR_OK);
}

struct shared {
	struct gate all, fire;
	weir_sem sem;
	weir_ctx ctx;
	weir_err err;
	bool stop;
};

struct actor {
	struct shared *shared;
	int what;
};

static void *wait_for_it(void *arg)
{
	struct shared *s = arg;

	for (;;) {
		meet(&s->all);
		if (s->stop)
			return NULL;
		s->err = weir_sem_acquire(&s->sem, 1, &s->ctx);
		meet(&s->all);
	}
}

static void *act_at_once(void *arg)
{
	struct actor *a = arg;
	struct shared *s = a->shared;
	uint64_t random = seed_of((uint64_t)a->what);

	for (;;) {
		meet(&s->all);
		if (s->stop)
			return NULL;
		depart(&s->fire);
		jitter(&random, 200);
		act(&s->sem, &s->ctx, a->what);
		meet(&s->all);
	}
}

static void race(weir_policy policy)
{
	weir_sem_opts opts = { .capacity = 1, .policy = policy };
	struct shared s = { .all.parties = 4, .fire.parties = 3 };
	struct actor cancel = { &s, CANCEL }, close = { &s, CLOSE };
	uint64_t random = seed_of(7);
	check_thread thread[3];
	struct rounds r = rounds(10000);

	thread[0] = start(wait_for_it, &s);
	thread[1] = start(act_at_once, &cancel);
	thread[2] = start(act_at_once, &close);
	while (again(&r)) {
		CHECK_OK(weir_sem_init_opts(&s.sem, &opts));
		CHECK_OK(weir_ctx_init(&s.ctx, NULL, WEIR_FOREVER));
		meet(&s.all);
		/* In every second round the waiter is in the queue. */
		if (r.done % 2)
			AWAIT(waiters_of(&s.sem) == 1);
		depart(&s.fire);
		jitter(&random, 200);
		act(&s.sem, &s.ctx, RELEASE);
		meet(&s.all);
		CHECK(!s.err || s.err == WEIR_ECANCELED ||
		      s.err == WEIR_ECLOSED);
		check_one_outcome(&s.sem, s.err);
		CHECK_OK(weir_ctx_destroy(&s.ctx));
	}
	s.stop = true;
	meet(&s.all);
	for (int i = 0; i < 3; i++)
		finish(thread[i]);
}

TEST(c13_all_three_at_once)
{
	race(WEIR_FIFO);
	race(WEIR_BARGING);
}
