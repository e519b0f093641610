/* SPDX-License-Identifier: MIT */
/*
 * python/asyncio#270, vs-threading#955, kotlinx.coroutines#2380 and others: a
 * permit is lost when its waiter is granted and cancelled at the same time.
 *
 * Threads: A (head of the queue, with a ctx), B (queued behind A), releaser,
 * canceller.
 *
 *   1. releaser: grants the permit to A.
 *   2. canceller: cancels A's ctx before A has run.
 *   3. A: wakes, sees the cancellation, reports it and ignores the grant.
 *   4. B: sleeps forever; the permit is neither free nor held.
 *
 * In weir (C13) the cancellation wins and the permit goes to B before A's call
 * returns.  No permit is lost, and no waiter is notified twice.
 */
#include "race.h"
#include "waiter.h"

/* C13: A is granted and then cancelled before it can run; B gets the permit. */
TEST(c13_granted_then_cancelled)
{
	weir_sem sem = WEIR_SEM_INIT(1);
	weir_ctx ctx = WEIR_CTX_INIT;
	struct waiter a = { .sem = &sem, .n = 1, .ctx = &ctx };
	struct waiter b = { .sem = &sem, .n = 1 };

	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	queue_up(&a);
	queue_up(&b);
	freeze(&a);
	weir_sem_release(&sem, 1);
	CHECK_EQ(stat_of(&sem).granted, 1);
	CHECK_EQ(waiters_of(&sem), 1);
	weir_ctx_cancel(&ctx);
	thaw(&a);
	CHECK_ERR(result_of(&a), WEIR_ECANCELED);
	CHECK_EQ(waiters_of(&sem), 0);
	CHECK_EQ(weir_sem_available(&sem), 0);
	CHECK_OK(result_of(&b));
	CHECK_EQ(stat_of(&sem).held, 1);
	CHECK_EQ(stat_of(&sem).granted, 0);
	CHECK_IDENTITY(&sem);
	CHECK_OK(weir_ctx_destroy(&ctx));
}

/* C14: with a plain deadline the grant wins. */
TEST(c14_granted_then_timed_out)
{
	weir_sem sem = WEIR_SEM_INIT(1);
	struct waiter a = { .sem = &sem, .n = 1 };
	int64_t ns = 10000000;

	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	do
		a.deadline_ns = weir_now_ns() + (ns *= 2);
	while (!queue_up_frozen(&a));
	weir_sem_release(&sem, 1);
	AWAIT(weir_now_ns() > a.deadline_ns);
	thaw(&a);
	CHECK_OK(result_of(&a));
	CHECK_EQ(stat_of(&sem).held, 1);
	CHECK_IDENTITY(&sem);
}

struct shared {
	struct gate all;
	struct gate fire;
	weir_sem *sem;
	weir_ctx ctx;
	weir_err err_a, err_b;
	bool stop;
};

static void *wait_with_ctx(void *arg)
{
	struct shared *s = arg;

	for (;;) {
		meet(&s->all);
		if (s->stop)
			return NULL;
		s->err_a = weir_sem_acquire(s->sem, 1, &s->ctx);
		if (!s->err_a)
			weir_sem_release(s->sem, 1);
		meet(&s->all);
	}
}

static void *wait_behind(void *arg)
{
	struct shared *s = arg;

	for (;;) {
		meet(&s->all);
		if (s->stop)
			return NULL;
		AWAIT(waiters_of(s->sem) == 1);
		s->err_b = weir_sem_acquire(s->sem, 1, NULL);
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

/* C13: B gets the permit in every case, whether A was granted or cancelled. */
static void race(weir_sem *sem)
{
	struct shared s = { .all.parties = 4, .fire.parties = 2, .sem = sem };
	uint64_t random = seed_of(2);
	struct rounds r = rounds(5000);
	check_thread thread[3];

	CHECK_OK(weir_sem_acquire(sem, 1, NULL));
	thread[0] = start(wait_with_ctx, &s);
	thread[1] = start(wait_behind, &s);
	thread[2] = start(cancel_it, &s);
	while (again(&r)) {
		CHECK_OK(weir_ctx_init(&s.ctx, NULL, WEIR_FOREVER));
		meet(&s.all);
		AWAIT(waiters_of(sem) == 2);
		depart(&s.fire);
		jitter(&random, 300);
		weir_sem_release(sem, 1);
		meet(&s.all);
		CHECK(!s.err_a || s.err_a == WEIR_ECANCELED);
		CHECK_OK(s.err_b);
		CHECK_EQ(stat_of(sem).held, 1);
		CHECK_EQ(stat_of(sem).granted, 0);
		CHECK_OK(weir_ctx_destroy(&s.ctx));
	}
	s.stop = true;
	meet(&s.all);
	for (int i = 0; i < 3; i++)
		finish(thread[i]);
}

TEST(c13_grant_meets_cancel)
{
	weir_sem fifo = WEIR_SEM_INIT(1), barging = WEIR_SEM_INIT_BARGING(1);

	race(&fifo);
	race(&barging);
}
