/* SPDX-License-Identifier: MIT */
/*
 * marusama/semaphore PR #2, e2b infra PR #3629: a waiter misses the broadcast
 * that would have woken it, because checking and registering are two separate
 * steps.
 *
 * Threads: acquirer, notifier.
 *
 *   1. acquirer: checks: no permit is free.
 *   2. notifier: grows, releases or closes, and broadcasts to the registered
 *      waiters, of which there are none.
 *   3. acquirer: registers and sleeps forever.
 *
 * In weir checking and enqueueing are one step with respect to every event that
 * can change the result: release (C6), growth (C21), close (C19), the end of
 * the context (C13), the head leaving the queue (C7).
 */
#include "race.h"
#include "waiter.h"

enum event {
	RELEASE,
	GROWTH,
	CLOSE,
	CANCEL,
	HEAD_LEAVES
};

struct shared {
	struct gate gate;
	enum event event;
	weir_sem sem;
	weir_ctx ctx;		/* of the acquirer */
	weir_ctx head;		/* of the heavy head */
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
		jitter(&random, 60);
		s->err = weir_sem_acquire(&s->sem, 1, &s->ctx);
		meet(&s->gate);
	}
}

static void make_happen(struct shared *s)
{
	switch (s->event) {
	case RELEASE:
		weir_sem_release(&s->sem, 1);
		break;
	case GROWTH:
		CHECK_OK(weir_sem_resize(&s->sem, 2, NULL));
		break;
	case CLOSE:
		weir_sem_close(&s->sem, WEIR_CLOSE_NOW);
		break;
	case CANCEL:
		weir_ctx_cancel(&s->ctx);
		break;
	case HEAD_LEAVES:
		weir_ctx_cancel(&s->head);
		break;
	}
}

static void race(enum event event, weir_policy policy, weir_err want)
{
	weir_sem_opts opts = { .capacity = 1, .policy = policy };
	struct shared s = { .gate.parties = 2, .event = event };
	check_thread acquirer = start(arrive, &s);
	uint64_t random = seed_of(2);
	struct rounds r = rounds(event == HEAD_LEAVES ? 2000 : 15000);

	if (event == HEAD_LEAVES) {
		/* One permit is free, but the head requests two. */
		opts.permits = 1;
		opts.capacity = 2;
	}
	while (again(&r)) {
		struct waiter head = { .sem = &s.sem, .n = 2, .ctx = &s.head };

		CHECK_OK(weir_sem_init_opts(&s.sem, &opts));
		CHECK_OK(weir_ctx_init(&s.ctx, NULL, WEIR_FOREVER));
		CHECK_OK(weir_ctx_init(&s.head, NULL, WEIR_FOREVER));
		if (event == HEAD_LEAVES) {
			begin(&head);
			AWAIT(waiters_of(&s.sem) == 1);
		}
		depart(&s.gate);
		jitter(&random, 60);
		make_happen(&s);
		meet(&s.gate);		/* hangs if the event was lost */
		CHECK_ERR(s.err, want);
		if (event == HEAD_LEAVES)
			CHECK_ERR(result_of(&head), WEIR_ECANCELED);
		CHECK_EQ(waiters_of(&s.sem), 0);
		CHECK_OK(weir_sem_destroy(&s.sem));
		CHECK_OK(weir_ctx_destroy(&s.ctx));
		CHECK_OK(weir_ctx_destroy(&s.head));
	}
	s.stop = true;
	meet(&s.gate);
	finish(acquirer);
}

TEST(c6_release_between_check_and_join)
{
	race(RELEASE, WEIR_FIFO, WEIR_OK);
	race(RELEASE, WEIR_BARGING, WEIR_OK);
}

TEST(c21_growth_between_check_and_join)
{
	race(GROWTH, WEIR_FIFO, WEIR_OK);
	race(GROWTH, WEIR_BARGING, WEIR_OK);
}

TEST(c19_close_between_check_and_join)
{
	race(CLOSE, WEIR_FIFO, WEIR_ECLOSED);
}

TEST(c13_cancel_between_check_and_join)
{
	race(CANCEL, WEIR_FIFO, WEIR_ECANCELED);
}

TEST(c7_head_leaves_between_check_and_join)
{
	race(HEAD_LEAVES, WEIR_FIFO, WEIR_OK);
}
