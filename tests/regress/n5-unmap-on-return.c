/* SPDX-License-Identifier: MIT */
/*
 * N5: a thread that ends a wait accesses the semaphore after the waiter has
 * returned and unmapped it.
 *
 * Threads: waiter (parked), closer or canceller.
 *
 *   1. closer: dequeues the waiter and notifies it.
 *   2. waiter: returns the error, destroys the semaphore and the context, and
 *      unmaps both.
 *   3. closer: unlocks the queue or reads the next waiter: fault.
 *
 * In weir (C22) no such access happens, whatever ended the wait.  The context
 * can be destroyed as well, although its canceller has not returned.  The tests
 * for releases are in glibc-12674-destroy-after-post.c.
 */
#include "page.h"
#include "race.h"
#include "waiter.h"

enum ending {
	BY_CLOSE,
	BY_DRAIN,	/* a close in drain mode */
	BY_CANCEL,
	BY_PARENT	/* the cancel of a context that is not unmapped */
};

struct shared {
	struct gate gate;
	enum ending ending;
	bool stop;
	weir_sem *sem;
	weir_ctx *ctx;
	weir_ctx parent;
	int32_t waiter;		/* thread id */
	bool until_asleep;
};

static void *end_the_wait(void *arg)
{
	struct shared *s = arg;
	uint64_t random = seed_of(1);

	for (;;) {
		weir_sem *sem;

		meet(&s->gate);
		if (s->stop)
			return NULL;
		sem = s->sem;
		/*
		 * The waiter cannot return before this thread has ended its
		 * wait.
		 */
		AWAIT(waiters_of(sem) == 1 &&
		      (!s->until_asleep || asleep(s->waiter)));
		jitter(&random, 100);
		if (s->ending == BY_CLOSE)
			weir_sem_close(sem, WEIR_CLOSE_NOW);
		else if (s->ending == BY_DRAIN)
			weir_sem_close(sem, WEIR_CLOSE_DRAIN);
		else if (s->ending == BY_CANCEL)
			weir_ctx_cancel(s->ctx);
		else
			weir_ctx_cancel(&s->parent);
		meet(&s->gate);
	}
}

static void vanish(enum ending ending, weir_policy policy)
{
	weir_sem_opts opts = { .capacity = 1, .policy = policy };
	struct shared s = { .gate.parties = 2, .ending = ending };
	check_thread ender = start(end_the_wait, &s);
	struct rounds r = rounds(4000);

	s.waiter = (int32_t)syscall(SYS_gettid);
	while (again(&r)) {
		enum page_end how = (enum page_end)(r.done % PAGE_ENDS);
		weir_sem *sem = s.sem = page_new();
		weir_ctx *ctx = s.ctx = page_new();
		weir_err err;

		s.until_asleep = r.done / PAGE_ENDS % 2;
		CHECK_OK(weir_sem_init_opts(sem, &opts));
		CHECK_OK(weir_ctx_init(&s.parent, NULL, WEIR_FOREVER));
		CHECK_OK(weir_ctx_init(ctx, &s.parent, WEIR_FOREVER));
		meet(&s.gate);
		err = weir_sem_acquire(sem, 1, ctx);
		CHECK_OK(weir_sem_destroy(sem));
		page_take_away(sem, how);
		CHECK_OK(weir_ctx_destroy(ctx));
		page_take_away(ctx, how);
		meet(&s.gate);
		page_done(sem, how);
		page_done(ctx, how);
		CHECK_ERR(err, ending == BY_CLOSE || ending == BY_DRAIN ?
			  WEIR_ECLOSED : WEIR_ECANCELED);
		CHECK_OK(weir_ctx_destroy(&s.parent));
	}
	s.stop = true;
	meet(&s.gate);
	finish(ender);
}

TEST(c22_close)
{
	vanish(BY_CLOSE, WEIR_FIFO);
	vanish(BY_DRAIN, WEIR_BARGING);
}

TEST(c22_cancel)
{
	vanish(BY_CANCEL, WEIR_FIFO);
	vanish(BY_CANCEL, WEIR_BARGING);
}

TEST(c22_cancel_of_the_parent)
{
	vanish(BY_PARENT, WEIR_FIFO);
}

/*
 * C7, C22: cancelling A, the heavy head, grants to B.  When both calls have
 * returned, the semaphore is unmapped, while the canceller may still be inside
 * weir_ctx_cancel.
 */
static void *cancel_the_head(void *arg)
{
	struct shared *s = arg;

	for (;;) {
		meet(&s->gate);
		if (s->stop)
			return NULL;
		AWAIT(waiters_of(s->sem) == 2);
		weir_ctx_cancel(s->ctx);
		meet(&s->gate);
	}
}

TEST(c22_granted_by_a_cancel)
{
	weir_sem_opts opts = { .permits = 1, .capacity = 2 };
	struct shared s = { .gate.parties = 2 };
	check_thread canceller = start(cancel_the_head, &s);
	struct rounds r = rounds(2000);

	while (again(&r)) {
		enum page_end how = (enum page_end)(r.done % PAGE_ENDS);
		struct waiter head = { .n = 2 };

		s.sem = head.sem = page_new();
		s.ctx = head.ctx = page_new();
		CHECK_OK(weir_sem_init_opts(s.sem, &opts));
		CHECK_OK(weir_ctx_init(s.ctx, NULL, WEIR_FOREVER));
		begin(&head);
		AWAIT(waiters_of(s.sem) == 1);
		meet(&s.gate);
		CHECK_OK(weir_sem_acquire(s.sem, 1, NULL));
		/* A join would give the canceller time to return. */
		while (!has_returned(&head))
			;
		CHECK_OK(weir_sem_destroy(s.sem));
		page_take_away(s.sem, how);
		CHECK_OK(weir_ctx_destroy(s.ctx));
		page_take_away(s.ctx, how);
		meet(&s.gate);
		page_done(s.sem, how);
		page_done(s.ctx, how);
		CHECK_ERR(result_of(&head), WEIR_ECANCELED);
	}
	s.stop = true;
	meet(&s.gate);
	finish(canceller);
}
