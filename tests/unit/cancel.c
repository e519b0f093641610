/* SPDX-License-Identifier: MIT */
/* C13 in detail: once a cancel has returned, no acquire succeeds. */
#include "job.h"

/* C13: the waiters have left the queue when the cancel returns. */
TEST(c13_cancel_empties_the_queue_before_it_returns)
{
	weir_sem sem = WEIR_SEM_INIT(2);
	weir_ctx root = WEIR_CTX_INIT, child;
	job a, b, c, other;

	CHECK_OK(weir_ctx_init(&child, &root, WEIR_FOREVER));
	CHECK_OK(weir_sem_acquire(&sem, 2, NULL));
	queue_up(&a, &sem, 1, &root);
	queue_up(&other, &sem, 1, NULL);
	queue_up(&b, &sem, 2, &child);
	wait_oversized(&c, &sem, 3, &child);
	weir_ctx_cancel(&root);
	/* All except the one without the ctx. */
	CHECK_EQ(oversized_of(&sem), 0);
	CHECK_EQ(waiters_of(&sem), 1);
	CHECK_ERR(job_end(&a), WEIR_ECANCELED);
	CHECK_ERR(job_end(&b), WEIR_ECANCELED);
	CHECK_ERR(job_end(&c), WEIR_ECANCELED);
	weir_sem_release(&sem, 1);
	CHECK_OK(job_end(&other));
	CHECK_OK(weir_ctx_destroy(&child));
}

/* C13: an acquire with an ended ctx fails, with or without free permits. */
TEST(c13_no_acquire_after_cancel)
{
	weir_sem sem = WEIR_SEM_INIT(2);
	weir_ctx root = WEIR_CTX_INIT, child;
	int64_t got = 7;

	CHECK_OK(weir_ctx_init(&child, &root, WEIR_FOREVER));
	CHECK_OK(weir_sem_acquire(&sem, 1, &child));
	weir_ctx_cancel(&root);
	CHECK_ERR(weir_sem_acquire(&sem, 1, &child), WEIR_ECANCELED);
	CHECK_ERR(weir_sem_acquire(&sem, 1, &root), WEIR_ECANCELED);
	CHECK_ERR(weir_sem_acquire_upto(&sem, 0, 1, &child, &got),
		  WEIR_ECANCELED);
	CHECK_EQ(got, 0);
	CHECK_EQ(weir_sem_available(&sem), 1);
	/* Permits held before stay held. */
	weir_sem_release(&sem, 1);
	CHECK_OK(weir_ctx_destroy(&child));
}

/* C13: as above, where earlier acquires at the same call site were recorded. */
TEST(c13_cancelled_context_and_a_watched_semaphore)
{
	weir_sem_opts opts = { .permits = 1, .name = "watched" };
	weir_ctx ctx = WEIR_CTX_INIT;
	weir_sem sem;

	CHECK_OK(weir_sem_init_opts(&sem, &opts));
	weir_ctx_cancel(&ctx);
	for (int i = 0; i < 3; i++) {
		weir_err err = weir_sem_acquire(&sem, 1, i < 2 ? NULL : &ctx);

		CHECK_EQ(err, i < 2 ? WEIR_OK : WEIR_ECANCELED);
		if (!err)
			weir_sem_release(&sem, 1);
	}
	CHECK_EQ(weir_sem_available(&sem), 1);
	CHECK_OK(weir_sem_destroy(&sem));
	CHECK_OK(weir_ctx_destroy(&ctx));
}

/*
 * C13: a waiter is granted but has not returned when its ctx is cancelled.  The
 * cancellation wins, and when the acquire returns the next waiter has the
 * permits.
 */
TEST(c13_cancel_beats_a_grant)
{
	weir_sem sem = WEIR_SEM_INIT(2);
	weir_ctx ctx = WEIR_CTX_INIT;
	job loser, next, last;

	CHECK_OK(weir_sem_acquire(&sem, 2, NULL));
	queue_up(&loser, &sem, 2, &ctx);
	CHECK(job_freeze(&loser));
	queue_up(&next, &sem, 1, NULL);
	queue_up(&last, &sem, 2, NULL);
	weir_sem_release(&sem, 2);
	CHECK_EQ(stat_of(&sem).granted, 2);
	CHECK_EQ(waiters_of(&sem), 2);
	weir_ctx_cancel(&ctx);
	jobs_thaw();
	CHECK_ERR(job_end(&loser), WEIR_ECANCELED);
	CHECK_EQ(waiters_of(&sem), 1);
	CHECK_OK(job_end(&next));
	/* No permit is lost, and none is granted twice. */
	CHECK_EQ(stat_of(&sem).held, 1);
	CHECK_EQ(stat_of(&sem).free, 1);
	CHECK_EQ(stat_of(&sem).granted, 0);
	weir_sem_release(&sem, 1);
	CHECK_OK(job_end(&last));
	CHECK_OK(weir_ctx_destroy(&ctx));
}

/*
 * C7, C13: the permits of cancelled waiters go directly to the remaining ones,
 * not through another cancelled waiter: that one cannot run now.
 */
TEST(c13_waiters_behind_are_granted_when_cancel_returns)
{
	weir_sem sem = WEIR_SEM_INIT(2);
	weir_ctx ctx = WEIR_CTX_INIT;
	job heavy, light, stays;

	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	queue_up(&heavy, &sem, 2, &ctx);
	queue_up(&light, &sem, 1, &ctx);
	queue_up(&stays, &sem, 1, NULL);
	CHECK(job_freeze(&light));
	weir_ctx_cancel(&ctx);
	CHECK_EQ(waiters_of(&sem), 0);
	CHECK_OK(job_end(&stays));
	jobs_thaw();
	CHECK_ERR(job_end(&heavy), WEIR_ECANCELED);
	CHECK_ERR(job_end(&light), WEIR_ECANCELED);
	CHECK_EQ(stat_of(&sem).held, 2);
}

/*
 * C13: the deadline of a ctx also wins over a grant, unlike a plain one (C14).
 */
TEST(c13_the_deadline_of_a_ctx_beats_a_grant)
{
	bool shown = false;

	for (int64_t ns = 10000000; !shown; ns *= 2) {
		weir_sem sem = WEIR_SEM_INIT(1);
		weir_ctx ctx;
		job a = { .sem = &sem, .n = 1, .max = -1, .ctx = &ctx };

		CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
		CHECK_OK(weir_ctx_init(&ctx, NULL, weir_deadline_after(ns)));
		job_start(&a);
		/*
		 * Wait until it is parked: it must not be frozen while it holds
		 * the lock.
		 */
		AWAIT((waiters_of(&sem) == 1 && job_asleep(&a)) || job_done(&a));
		shown = job_freeze(&a) && waiters_of(&sem) == 1;
		weir_sem_release(&sem, 1);
		CHECK_EQ(waiters_of(&sem), 0);
		AWAIT(weir_now_ns() > weir_ctx_deadline(&ctx));
		jobs_thaw();
		CHECK_ERR(job_end(&a), WEIR_ETIMEDOUT);
		CHECK_EQ(stat_of(&sem).free, 1);
		CHECK_OK(weir_ctx_destroy(&ctx));
	}
}

/* C13: a granted acquire_upto returns all its permits. */
TEST(c13_cancel_beats_a_grant_of_many)
{
	weir_sem sem = WEIR_SEM_INIT(5);
	weir_ctx ctx = WEIR_CTX_INIT;
	job a;

	CHECK_OK(weir_sem_acquire(&sem, 5, NULL));
	queue_up_upto(&a, &sem, 1, 4, &ctx);
	CHECK(job_freeze(&a));
	weir_sem_release(&sem, 3);
	CHECK_EQ(stat_of(&sem).granted, 3);
	weir_ctx_cancel(&ctx);
	jobs_thaw();
	CHECK_ERR(job_end(&a), WEIR_ECANCELED);
	CHECK_EQ(a.got, 0);
	CHECK_EQ(stat_of(&sem).free, 3);
	CHECK_EQ(stat_of(&sem).held, 2);
}

/* C7, C13: a waiter that is not the head leaves without a trace. */
TEST(c13_cancel_of_a_waiter_that_is_not_the_head)
{
	weir_sem sem = WEIR_SEM_INIT(3);
	weir_ctx ctx = WEIR_CTX_INIT;
	job head, gone, last;

	CHECK_OK(weir_sem_acquire(&sem, 2, NULL));
	queue_up(&head, &sem, 2, NULL);
	queue_up(&gone, &sem, 1, &ctx);
	queue_up(&last, &sem, 1, NULL);
	weir_ctx_cancel(&ctx);
	CHECK_ERR(job_end(&gone), WEIR_ECANCELED);
	CHECK_EQ(waiters_of(&sem), 2);
	CHECK_EQ(stat_of(&sem).free, 1);
	CHECK_EQ(stat_of(&sem).waiting_permits, 3);
	weir_sem_release(&sem, 1);
	CHECK_OK(job_end(&head));
	weir_sem_release(&sem, 1);
	CHECK_OK(job_end(&last));
}

/* C13: one cancel ends waits on several semaphores. */
TEST(c13_one_ctx_for_many_semaphores)
{
	enum { MANY = 8 };
	weir_sem sem[MANY];
	weir_ctx ctx = WEIR_CTX_INIT;
	job a[MANY];

	for (int i = 0; i < MANY; i++) {
		CHECK_OK(weir_sem_init(&sem[i], 1));
		CHECK_OK(weir_sem_acquire(&sem[i], 1, NULL));
		queue_up(&a[i], &sem[i], 1, &ctx);
	}
	weir_ctx_cancel(&ctx);
	for (int i = 0; i < MANY; i++) {
		CHECK_EQ(waiters_of(&sem[i]), 0);
		CHECK_ERR(job_end(&a[i]), WEIR_ECANCELED);
		weir_sem_release(&sem[i], 1);
		CHECK_OK(weir_sem_destroy(&sem[i]));
	}
	CHECK_OK(weir_ctx_destroy(&ctx));
}

struct race {
	weir_sem sem;
	weir_ctx ctx;
	int cancelled;
	int64_t kept;
};

static void *acquire_and_count(void *arg)
{
	struct race *r = arg;

	for (;;) {
		int before = __atomic_load_n(&r->cancelled, __ATOMIC_SEQ_CST);
		weir_err err = weir_sem_acquire(&r->sem, 1, &r->ctx);

		if (err) {
			CHECK_ERR(err, WEIR_ECANCELED);
			return NULL;
		}
		/*
		 * Began after the cancel had returned: it must not have
		 * succeeded.
		 */
		CHECK(!before);
		__atomic_add_fetch(&r->kept, 1, __ATOMIC_SEQ_CST);
		weir_sem_release(&r->sem, 1);
	}
}

/* C13: cancel at any moment while permits circulate. */
TEST(c13_cancel_at_any_moment)
{
	for (int round = 0; round < 300; round++) {
		struct race r = { .sem = WEIR_SEM_INIT(1),
				  .ctx = WEIR_CTX_INIT };
		check_thread thread[3];

		for (int i = 0; i < 3; i++)
			thread[i] = start(acquire_and_count, &r);
		AWAIT(__atomic_load_n(&r.kept, __ATOMIC_SEQ_CST) > round % 16);
		weir_ctx_cancel(&r.ctx);
		__atomic_store_n(&r.cancelled, 1, __ATOMIC_SEQ_CST);
		for (int i = 0; i < 3; i++)
			finish(thread[i]);
		CHECK_EQ(weir_sem_available(&r.sem), 1);
		CHECK_EQ(stat_of(&r.sem).granted, 0);
		CHECK_OK(weir_ctx_destroy(&r.ctx));
		CHECK_OK(weir_sem_destroy(&r.sem));
	}
}

/*
 * C16: a waiter that the cancel ends is never granted on the way, not even
 * briefly: the waiter behind it gets as much as if it had never been there.
 */
TEST(c16_cancelled_waiters_take_nothing_from_the_next)
{
	weir_sem sem = WEIR_SEM_INIT(7);
	weir_ctx ctx = WEIR_CTX_INIT;
	job heavy, small, last;

	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	queue_up(&heavy, &sem, 7, &ctx);
	queue_up_upto(&small, &sem, 1, 1, &ctx);
	queue_up_upto(&last, &sem, 1, 6, NULL);
	weir_ctx_cancel(&ctx);
	CHECK_ERR(job_end(&heavy), WEIR_ECANCELED);
	CHECK_ERR(job_end(&small), WEIR_ECANCELED);
	CHECK_OK(job_end(&last));
	CHECK_EQ(last.got, 6);
	CHECK_OK(weir_ctx_destroy(&ctx));
}
