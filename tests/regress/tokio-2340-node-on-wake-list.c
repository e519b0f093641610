/* SPDX-License-Identifier: MIT */
/*
 * tokio PR #2340: a release reads a waiter's queue node after that waiter has
 * returned.
 *
 * Threads: releaser, A, B.
 *
 *   1. releaser: releases 2 and collects A and B in a list.
 *   2. releaser: notifies A.
 *   3. A: returns; its stack frame, which contains the node, is reused.
 *   4. releaser: reads A's node to find the next one: garbage.
 *
 * In weir (C22, C26) a waiter's node is neither read nor written after the
 * waiter has been notified, by a release or by any call that ends several waits
 * at once (close, cancel, resize).
 *
 * Each waiter, as soon as it returns, fills the stack where its node was with a
 * pattern that is no valid pointer, and checks later that the pattern is
 * intact.
 */
#include "race.h"
#include "waiter.h"

#define WAITERS 4
#define PATTERN 0xa5

enum notify {
	BY_RELEASE,
	BY_CLOSE,
	BY_CANCEL,
	BY_GROWTH
};

struct shared {
	struct gate gate;
	enum notify by;
	weir_sem sem;
	weir_ctx ctx;
	bool stop;
	uint32_t notified;	/* atomic: the notifying call has returned */
};

/*
 * The stack frame of this function overlays that of the acquire that has just
 * returned.  Not instrumented: a sanitizer would place the array elsewhere.
 */
__attribute__((noinline, no_sanitize("address", "thread")))
static void overwrite_the_stack(struct shared *s)
{
	volatile unsigned char area[1536];

	for (size_t i = 0; i < sizeof(area); i++)
		area[i] = PATTERN;
	while (!__atomic_load_n(&s->notified, __ATOMIC_ACQUIRE))
		syscall(SYS_sched_yield);
	for (size_t i = 0; i < sizeof(area); i++)
		if (area[i] != PATTERN)
			check_fail(__FILE__, __LINE__,
				   "stack byte %zu was written late", i);
}

static void *wait_and_overwrite(void *arg)
{
	struct shared *s = arg;

	for (;;) {
		weir_ctx *ctx;
		weir_err err;

		meet(&s->gate);
		if (s->stop)
			return NULL;
		ctx = s->by == BY_CANCEL ? &s->ctx : NULL;
		err = weir_sem_acquire(&s->sem, 1, ctx);
		overwrite_the_stack(s);
		CHECK(err == WEIR_OK || err == WEIR_ECLOSED ||
		      err == WEIR_ECANCELED);
		meet(&s->gate);
	}
}

static void notify_all(struct shared *s)
{
	switch (s->by) {
	case BY_RELEASE:
		weir_sem_release(&s->sem, WAITERS);
		break;
	case BY_CLOSE:
		weir_sem_close(&s->sem, WEIR_CLOSE_NOW);
		break;
	case BY_CANCEL:
		weir_ctx_cancel(&s->ctx);
		break;
	case BY_GROWTH:
		CHECK_OK(weir_sem_resize(&s->sem, 2 * WAITERS, NULL));
		break;
	}
}

static void walk(enum notify by, weir_policy policy)
{
	weir_sem_opts opts = { .capacity = WAITERS, .policy = policy };
	struct shared s = { .gate.parties = WAITERS + 1, .by = by };
	check_thread thread[WAITERS];
	struct rounds r = rounds(2000);

	for (int i = 0; i < WAITERS; i++)
		thread[i] = start(wait_and_overwrite, &s);
	while (again(&r)) {
		CHECK_OK(weir_sem_init_opts(&s.sem, &opts));
		CHECK_OK(weir_ctx_init(&s.ctx, NULL, WEIR_FOREVER));
		s.notified = 0;
		meet(&s.gate);
		AWAIT(waiters_of(&s.sem) == WAITERS);
		notify_all(&s);
		__atomic_store_n(&s.notified, 1, __ATOMIC_RELEASE);
		meet(&s.gate);
		CHECK_IDENTITY(&s.sem);
		CHECK_OK(weir_ctx_destroy(&s.ctx));
		CHECK_OK(weir_sem_destroy(&s.sem));
	}
	s.stop = true;
	meet(&s.gate);
	for (int i = 0; i < WAITERS; i++)
		finish(thread[i]);
}

TEST(c26_release_of_several)
{
	walk(BY_RELEASE, WEIR_FIFO);
	walk(BY_RELEASE, WEIR_BARGING);
}

TEST(c26_close_with_several)
{
	walk(BY_CLOSE, WEIR_FIFO);
}

TEST(c26_cancel_of_several)
{
	walk(BY_CANCEL, WEIR_FIFO);
}

TEST(c26_growth_for_several)
{
	walk(BY_GROWTH, WEIR_FIFO);
}
