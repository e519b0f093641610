/* SPDX-License-Identifier: MIT */
/*
 * kotlinx.coroutines PR #1477: a permit is lost when a release meets an
 * acquirer that has announced itself, is not in the queue yet, and is cancelled
 * at the same time.  (The race was found by a proof.)
 *
 * Threads: acquirer (with a ctx), releaser, canceller.
 *
 *   1. acquirer: no permit is free; reserves a slot in the queue.
 *   2. releaser: the slot is reserved; begins to hand over the permit.
 *   3. canceller: cancels the ctx.
 *   4. acquirer: sees the cancellation and abandons the slot.
 *   5. releaser: stores the permit in the slot, which no thread reads again.
 *
 * In weir (C13, C16) the acquirer holds the permit, or the permit is free, when
 * all three calls have returned.  The three threads do not wait for each other
 * here, so the race also hits the acquirer before it is in the queue.
 */
#include "race.h"
#include "waiter.h"

struct shared {
	struct gate gate;
	weir_sem sem;
	weir_ctx ctx;
	weir_err err;
	bool stop;
};

static void *arrive(void *arg)
{
	struct shared *s = arg;
	uint64_t random = seed_of(1);

	for (;;) {
		depart(&s->gate);
		if (s->stop)
			return NULL;
		jitter(&random, 50);
		s->err = weir_sem_acquire(&s->sem, 1, &s->ctx);
		meet(&s->gate);
	}
}

static void *cancel_it(void *arg)
{
	struct shared *s = arg;
	uint64_t random = seed_of(2);

	for (;;) {
		depart(&s->gate);
		if (s->stop)
			return NULL;
		jitter(&random, 50);
		weir_ctx_cancel(&s->ctx);
		meet(&s->gate);
	}
}

static void race(weir_policy policy)
{
	weir_sem_opts opts = { .capacity = 1, .policy = policy };
	struct shared s = { .gate.parties = 3 };
	check_thread acquirer, canceller;
	uint64_t random = seed_of(3);
	struct rounds r = rounds(20000);

	CHECK_OK(weir_sem_init_opts(&s.sem, &opts));
	acquirer = start(arrive, &s);
	canceller = start(cancel_it, &s);
	while (again(&r)) {
		CHECK_OK(weir_ctx_init(&s.ctx, NULL, WEIR_FOREVER));
		depart(&s.gate);
		jitter(&random, 50);
		weir_sem_release(&s.sem, 1);
		meet(&s.gate);
		CHECK_EQ(waiters_of(&s.sem), 0);
		CHECK_EQ(stat_of(&s.sem).granted, 0);
		if (s.err) {
			CHECK_ERR(s.err, WEIR_ECANCELED);
			CHECK_OK(weir_sem_try_acquire(&s.sem, 1));
		}
		CHECK_EQ(stat_of(&s.sem).held, 1);
		CHECK_OK(weir_ctx_destroy(&s.ctx));
	}
	s.stop = true;
	meet(&s.gate);
	finish(acquirer);
	finish(canceller);
}

TEST(c13_release_meets_an_arrival_that_is_cancelled)
{
	race(WEIR_FIFO);
	race(WEIR_BARGING);
}

static void *arrive_for_a_moment(void *arg)
{
	struct shared *s = arg;
	uint64_t random = seed_of(4);

	for (;;) {
		depart(&s->gate);
		if (s->stop)
			return NULL;
		s->err = weir_sem_acquire_for(&s->sem, 1,
					      random_below(&random, 2000));
		meet(&s->gate);
	}
}

/* C14, C16: the same with a deadline instead of a canceller. */
static void race_deadline(weir_policy policy)
{
	weir_sem_opts opts = { .capacity = 1, .policy = policy };
	struct shared s = { .gate.parties = 2 };
	uint64_t random = seed_of(5);
	struct rounds r = rounds(20000);
	check_thread acquirer;

	CHECK_OK(weir_sem_init_opts(&s.sem, &opts));
	acquirer = start(arrive_for_a_moment, &s);
	while (again(&r)) {
		depart(&s.gate);
		jitter(&random, 1000);
		weir_sem_release(&s.sem, 1);
		meet(&s.gate);
		CHECK_EQ(waiters_of(&s.sem), 0);
		CHECK_EQ(stat_of(&s.sem).granted, 0);
		if (s.err) {
			CHECK_ERR(s.err, WEIR_ETIMEDOUT);
			CHECK_OK(weir_sem_try_acquire(&s.sem, 1));
		}
		CHECK_EQ(stat_of(&s.sem).held, 1);
	}
	s.stop = true;
	meet(&s.gate);
	finish(acquirer);
}

TEST(c14_release_meets_an_arrival_that_times_out)
{
	race_deadline(WEIR_FIFO);
	race_deadline(WEIR_BARGING);
}
