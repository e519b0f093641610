/* SPDX-License-Identifier: MIT */
/* Close, resize, wait_idle, destroy: C19, C20, C21, C22. */
#include "kind.h"

/*
 * C19: all waiting and later calls fail with WEIR_ECLOSED; held permits can be
 * released.
 */
EVERY(c19_close_ends_all_waits_forever)
{
	void *sem = k->make(2);
	weir_ctx ctx = WEIR_CTX_INIT;
	struct job waits, oversized;
	int64_t got = 7;

	CHECK(!k->is_closed(sem));
	CHECK_OK(k->acquire(sem, 2, NULL));
	begin(&waits, k, sem, 1, NULL);
	begin(&oversized, k, sem, 3, &ctx);
	k->close(sem, WEIR_CLOSE_NOW);
	CHECK_ERR(outcome(&waits), WEIR_ECLOSED);
	CHECK_ERR(outcome(&oversized), WEIR_ECLOSED);
	CHECK(k->is_closed(sem));
	CHECK(k->stat(sem).closed);
	k->release(sem, 1);
	/* A close is permanent. */
	k->close(sem, WEIR_CLOSE_DRAIN);
	CHECK_OK(k->resize(sem, 9, NULL));
	CHECK_ERR(k->acquire(sem, 1, NULL), WEIR_ECLOSED);
	CHECK_ERR(k->acquire_until(sem, 1, 0), WEIR_ECLOSED);
	CHECK_ERR(k->try_acquire(sem, 1), WEIR_ECLOSED);
	CHECK_ERR(k->acquire_upto(sem, 0, 1, NULL, &got), WEIR_ECLOSED);
	CHECK_EQ(got, 0);
	CHECK_ERR(k->drain(sem, &got), WEIR_ECLOSED);
	k->release(sem, 1);
	CHECK_OK(k->wait_idle(sem, NULL));
	leave(&waits, sem);
	leave(&oversized, sem);
	CHECK_OK(weir_ctx_destroy(&ctx));
	drop(k, sem);
}

/* C19: while draining, requests that fit are granted, and no call waits. */
EVERY(c19_drain_grants_requests_that_fit)
{
	void *sem = k->make(3);
	struct job heavy;

	CHECK_OK(k->acquire(sem, 2, NULL));
	begin(&heavy, k, sem, 3, NULL);
	k->close(sem, WEIR_CLOSE_DRAIN);
	CHECK_ERR(outcome(&heavy), WEIR_ECLOSED);
	CHECK(k->is_closed(sem));
	CHECK_OK(k->acquire(sem, 1, NULL));
	CHECK_ERR(k->acquire(sem, 1, NULL), WEIR_ECLOSED);
	CHECK_ERR(k->try_acquire(sem, 1), WEIR_ECLOSED);
	k->release(sem, 1);
	CHECK_OK(k->try_acquire(sem, 1));
	k->close(sem, WEIR_CLOSE_NOW);
	k->release(sem, 1);
	CHECK_ERR(k->try_acquire(sem, 1), WEIR_ECLOSED);
	k->release(sem, 2);
	leave(&heavy, sem);
	drop(k, sem);
}

/* C19: also waiters behind a head that does not fit. */
STRICT(c19_drain_serves_the_queue_in_order)
{
	void *sem = k->make(3);
	struct job heavy, light, lighter;

	CHECK_OK(k->acquire(sem, 2, NULL));
	begin(&heavy, k, sem, 3, NULL);
	begin(&light, k, sem, 1, NULL);
	begin(&lighter, k, sem, 1, NULL);
	k->close(sem, WEIR_CLOSE_DRAIN);
	CHECK_ERR(outcome(&heavy), WEIR_ECLOSED);
	CHECK_OK(outcome(&light));
	CHECK_ERR(outcome(&lighter), WEIR_ECLOSED);
	leave(&heavy, sem);
	leave(&light, sem);
	leave(&lighter, sem);
	k->release(sem, 2);
	drop(k, sem);
}

/* C20: returns when all held permits have been released, and not before. */
EVERY(c20_wait_idle)
{
	void *sem = k->make(2);
	weir_ctx ctx = WEIR_CTX_INIT;
	struct job idle, cancelled;

	CHECK_OK(k->wait_idle(sem, NULL));
	CHECK_OK(k->acquire(sem, 2, NULL));
	begin_idle(&idle, k, sem, NULL);
	begin_idle(&cancelled, k, sem, &ctx);
	k->release(sem, 1);
	CHECK_EQ(k->stat(sem).oversized, 2);
	weir_ctx_cancel(&ctx);
	CHECK_ERR(outcome(&cancelled), WEIR_ECANCELED);
	CHECK_EQ(k->stat(sem).oversized, 1);
	k->release(sem, 1);
	CHECK_OK(outcome(&idle));
	leave(&idle, sem);
	leave(&cancelled, sem);
	CHECK_OK(weir_ctx_destroy(&ctx));
	drop(k, sem);
}

/* C21: a growth grants at once. */
EVERY(c21_growth_grants)
{
	void *sem = k->make(1);
	struct job one, two;
	int64_t debt = 7;

	CHECK_OK(k->acquire(sem, 1, NULL));
	begin(&one, k, sem, 1, NULL);
	begin(&two, k, sem, 1, NULL);
	CHECK_OK(k->resize(sem, 3, &debt));
	CHECK_EQ(debt, 0);
	CHECK_OK(outcome(&one));
	CHECK_OK(outcome(&two));
	CHECK_EQ(CHECK_PICTURE(k, sem).held, 3);
	leave(&one, sem);
	leave(&two, sem);
	k->release(sem, 1);
	drop(k, sem);
}

/* C21: a shrink below the held permits is a debt, which releases pay first. */
EVERY(c21_a_shrink_is_a_debt)
{
	void *sem = k->make(4);
	int64_t debt = 7;

	CHECK_OK(k->acquire(sem, 4, NULL));
	CHECK_OK(k->resize(sem, 1, &debt));
	CHECK_EQ(debt, 3);
	CHECK_EQ(CHECK_PICTURE(k, sem).debt, 3);
	k->release(sem, 1);
	CHECK_EQ(CHECK_PICTURE(k, sem).debt, 2);
	CHECK_ERR(k->try_acquire(sem, 1), WEIR_EAGAIN);
	k->release(sem, 2);
	CHECK_EQ(CHECK_PICTURE(k, sem).debt, 0);
	CHECK_EQ(k->available(sem), 0);
	k->release(sem, 1);
	CHECK_EQ(k->available(sem), 1);
	CHECK_OK(k->resize(sem, 0, NULL));
	CHECK_ERR(k->acquire(sem, 1, NULL), WEIR_ETOOBIG);
	drop(k, sem);
}

/* C21: forget subtracts held permits from the debt, then from the capacity. */
EVERY(c21_forget)
{
	void *sem = k->make(6);

	CHECK_OK(k->acquire(sem, 5, NULL));
	CHECK_ERR(k->forget(sem, 6), WEIR_EOVERFLOW);
	CHECK_OK(k->forget(sem, 2));
	CHECK_EQ(CHECK_PICTURE(k, sem).capacity, 4);
	CHECK_EQ(k->available(sem), 1);
	CHECK_OK(k->resize(sem, 2, NULL));
	CHECK_EQ(k->stat(sem).debt, 1);
	CHECK_OK(k->forget(sem, 2));
	CHECK_EQ(CHECK_PICTURE(k, sem).debt, 0);
	CHECK_EQ(k->stat(sem).capacity, 1);
	k->release(sem, 1);
	drop(k, sem);
}

/* C22: destroy fails while a call waits. */
EVERY(c22_destroy_with_a_waiter)
{
	void *sem = k->make(1);
	struct job job;

	CHECK_OK(k->acquire(sem, 1, NULL));
	begin(&job, k, sem, 1, NULL);
	CHECK_ERR(k->destroy(job.sem), WEIR_EBUSY);
	CHECK_EQ(k->stat(sem).waiters, 1);
	k->release(sem, 1);
	CHECK_OK(outcome(&job));
	leave(&job, sem);
	drop(k, sem);
}
