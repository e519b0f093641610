/* SPDX-License-Identifier: MIT */
/*
 * glibc bug 18243 and golang/go#63615: an acquire succeeds although its caller
 * is already cancelled, because only the slow path checks for cancellation.
 *
 * Threads: caller, canceller.
 *
 *   1. canceller: cancels the caller's context; the cancel returns.
 *   2. caller: acquire finds a free permit, takes it on the fast path without
 *      checking the context, and succeeds.
 *
 * In weir a ctx that has ended wins over free permits, also on the fast path
 * (C2, C13), while a plain deadline limits waiting only (C14).  A pending
 * thread cancellation stays pending: acquire is not a cancellation point (C18).
 */
#include "race.h"
#include "waiter.h"
#include "weir/permit.h"

static void check_refused(weir_ctx *ctx, weir_err why)
{
	weir_sem sem = WEIR_SEM_INIT(3), closed = WEIR_SEM_INIT(3);
	weir_permit permit = WEIR_PERMIT_INIT;
	int64_t got = 7;

	CHECK_ERR(weir_sem_acquire(&sem, 1, ctx), why);
	CHECK_ERR(weir_sem_acquire(&sem, 0, ctx), why);
	CHECK_ERR(weir_sem_acquire(&sem, 99, ctx), why);
	CHECK_ERR(weir_sem_acquire_upto(&sem, 0, 2, ctx, &got), why);
	CHECK_EQ(got, 0);
	CHECK_ERR(weir_sem_acquire_upto(&sem, 1, 2, ctx, &got), why);
	CHECK_ERR(weir_permit_acquire(&permit, &sem, 1, ctx), why);
	CHECK_EQ(weir_permit_count(&permit), 0);
	/* C2: arguments are checked before the ctx, the ctx before closed. */
	CHECK_ERR(weir_sem_acquire(&sem, -1, ctx), WEIR_EINVAL);
	weir_sem_close(&closed, WEIR_CLOSE_NOW);
	CHECK_ERR(weir_sem_acquire(&closed, 1, ctx), why);
	CHECK_EQ(weir_sem_available(&sem), 3);
	CHECK_EQ(stat_of(&sem).held, 0);
	CHECK_EQ(waiters_of(&sem) + oversized_of(&sem), 0);
}

TEST(c2_ended_ctx_wins_over_free_permits)
{
	weir_ctx root, child, grandchild, late;

	CHECK_OK(weir_ctx_init(&root, NULL, WEIR_FOREVER));
	CHECK_OK(weir_ctx_init(&child, &root, WEIR_FOREVER));
	CHECK_OK(weir_ctx_init(&grandchild, &child, WEIR_FOREVER));
	weir_ctx_cancel(&root);
	check_refused(&root, WEIR_ECANCELED);
	check_refused(&child, WEIR_ECANCELED);
	check_refused(&grandchild, WEIR_ECANCELED);
	/* A context below a parent that has ended. */
	CHECK_OK(weir_ctx_init(&late, &child, WEIR_FOREVER));
	check_refused(&late, WEIR_ECANCELED);
	CHECK_OK(weir_ctx_destroy(&late));
	CHECK_OK(weir_ctx_destroy(&grandchild));
	CHECK_OK(weir_ctx_destroy(&child));
	CHECK_OK(weir_ctx_destroy(&root));
}

TEST(c2_deadline_of_the_ctx_wins_over_free_permits)
{
	weir_ctx root, child;

	CHECK_OK(weir_ctx_init(&root, NULL, weir_now_ns()));
	CHECK_OK(weir_ctx_init(&child, &root, WEIR_FOREVER));
	check_refused(&root, WEIR_ETIMEDOUT);
	check_refused(&child, WEIR_ETIMEDOUT);
	/* The reason why a context ended does not change. */
	weir_ctx_cancel(&root);
	check_refused(&root, WEIR_ETIMEDOUT);
	CHECK_OK(weir_ctx_destroy(&child));
	CHECK_OK(weir_ctx_destroy(&root));
}

TEST(c14_plain_deadline_limits_waiting_only)
{
	weir_sem sem = WEIR_SEM_INIT(3);

	CHECK_OK(weir_sem_acquire_until(&sem, 1, 1));
	CHECK_OK(weir_sem_acquire_until(&sem, 1, INT64_MIN));
	CHECK_OK(weir_sem_acquire_for(&sem, 1, -5));
	CHECK_ERR(weir_sem_acquire_until(&sem, 1, 1), WEIR_ETIMEDOUT);
	CHECK_EQ(stat_of(&sem).held, 3);
}

struct shared {
	struct gate gate;
	bool stop;
	weir_ctx ctx;
	uint32_t cancelled;	/* atomic: cancel has returned */
};

static void *cancel_it(void *arg)
{
	struct shared *s = arg;
	uint64_t random = seed_of(1);

	for (;;) {
		depart(&s->gate);
		if (s->stop)
			return NULL;
		jitter(&random, 500);
		weir_ctx_cancel(&s->ctx);
		__atomic_store_n(&s->cancelled, 1, __ATOMIC_RELEASE);
		meet(&s->gate);
	}
}

/* C13: no acquire succeeds once the cancel has returned. */
TEST(c13_no_success_after_cancel_returned)
{
	struct shared s = { .gate.parties = 2 };
	check_thread canceller = start(cancel_it, &s);
	weir_sem sem = WEIR_SEM_INIT(1);
	struct rounds r = rounds(20000);

	while (again(&r)) {
		weir_err err;

		s.cancelled = 0;
		CHECK_OK(weir_ctx_init(&s.ctx, NULL, WEIR_FOREVER));
		depart(&s.gate);
		do {
			bool over = __atomic_load_n(&s.cancelled,
						    __ATOMIC_ACQUIRE);

			err = weir_sem_acquire(&sem, 1, &s.ctx);
			if (over)
				CHECK_ERR(err, WEIR_ECANCELED);
			if (!err)
				weir_sem_release(&sem, 1);
		} while (!err);
		CHECK_ERR(err, WEIR_ECANCELED);
		meet(&s.gate);
		CHECK_OK(weir_ctx_destroy(&s.ctx));
		CHECK_EQ(weir_sem_available(&sem), 1);
	}
	s.stop = true;
	meet(&s.gate);
	finish(canceller);
}

struct doomed {
	weir_sem sem;
	uint32_t acquired;	/* atomic */
};

static void put_back(void *arg)
{
	struct doomed *d = arg;

	weir_sem_release(&d->sem, 1);
}

static void *acquire_while_doomed(void *arg)
{
	struct doomed *d = arg;

	pthread_cancel(pthread_self());		/* pending from here on */
	CHECK_OK(weir_sem_acquire(&d->sem, 1, NULL));
	__atomic_store_n(&d->acquired, 1, __ATOMIC_RELEASE);
	pthread_cleanup_push(put_back, d);
	pthread_testcancel();
	pthread_cleanup_pop(0);
	return NULL;
}

/* C18: the acquire succeeds; pthread_testcancel acts on the cancellation. */
TEST(c18_pending_thread_cancellation_stays_pending)
{
	struct doomed d = { .sem = WEIR_SEM_INIT(1) };

	CHECK(finish(start(acquire_while_doomed, &d)) == PTHREAD_CANCELED);
	CHECK(d.acquired);
	CHECK_EQ(weir_sem_available(&d.sem), 1);
}
