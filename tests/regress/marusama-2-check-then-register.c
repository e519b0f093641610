/* SPDX-License-Identifier: MIT */
/*
 * marusama/semaphore PR #2, e2b infra PR #3629: a waiter checks, finds nothing,
 * and registers for the broadcast; the broadcast comes in between.
 *
 *   acquirer                        another
 *   --------                        -------
 *   checks: none free
 *                                   grows, releases or closes; broadcasts to
 *                                   those registered: nobody
 *   registers, sleeps
 *
 * Must hold: checking and joining the queue are one step with respect to
 * whatever can make the answer different: release (C6), growth (C21), close
 * (C19), the end of the context (C13), the head's leaving (C7).
 */
#include "race.h"
#include "waiter.h"

enum news {
	RELEASE,
	GROWTH,
	CLOSE,
	CANCEL,
	HEAD_LEAVES
};

struct shared {
	struct gate gate;
	enum news news;
	weir_sem sem;
	weir_ctx ctx;		/* the acquirer's */
	weir_ctx head;		/* the heavy head's */
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

static void tell(struct shared *s)
{
	switch (s->news) {
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

static void race(enum news news, weir_policy policy, weir_err want)
{
	weir_sem_opts opts = { .capacity = 1, .policy = policy };
	struct shared s = { .gate.parties = 2, .news = news };
	check_thread acquirer = start(arrive, &s);
	uint64_t random = seed_of(2);
	struct rounds r = rounds(news == HEAD_LEAVES ? 2000 : 15000);

	if (news == HEAD_LEAVES) {
		/* One is free, but the head wants two. */
		opts.permits = 1;
		opts.capacity = 2;
	}
	while (again(&r)) {
		struct waiter head = { .sem = &s.sem, .n = 2, .ctx = &s.head };

		CHECK_OK(weir_sem_init_opts(&s.sem, &opts));
		CHECK_OK(weir_ctx_init(&s.ctx, NULL, WEIR_FOREVER));
		CHECK_OK(weir_ctx_init(&s.head, NULL, WEIR_FOREVER));
		if (news == HEAD_LEAVES) {
			begin(&head);
			AWAIT(waiters_of(&s.sem) == 1);
		}
		depart(&s.gate);
		jitter(&random, 60);
		tell(&s);
		meet(&s.gate);		/* or never */
		CHECK_ERR(s.err, want);
		if (news == HEAD_LEAVES)
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
