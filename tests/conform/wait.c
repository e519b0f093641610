/* SPDX-License-Identifier: MIT */
/*
 * Waiting, and the reasons that end a wait: C3, C4, C5, C6, C7, C10, C11, C12,
 * C13, C14, C16, C17, C18.
 */
#include <signal.h>

#include "kind.h"

/* C3, C4: grants follow the order of arrival. */
STRICT(c3_c4_first_come_first_served)
{
	void *sem = k->make(1);
	struct job queue[5];

	CHECK_OK(k->acquire(sem, 1, NULL));
	for (int i = 0; i < 5; i++)
		begin(&queue[i], k, sem, 1, NULL);
	k->release(sem, 1);
	for (uint32_t i = 0; i < 5; i++) {
		CHECK_OK(outcome(&queue[i]));
		/* The other waiters are still queued. */
		CHECK_EQ(k->stat(sem).waiters, 4 - i);
		leave(&queue[i], sem);
	}
	drop(k, sem);
}

/* C4, C5: a heavy head blocks lighter waiters behind it, and new requests. */
STRICT(c4_c5_no_overtaking)
{
	void *sem = k->make(10);
	struct job heavy, light;
	int64_t got = 7;

	CHECK_OK(k->acquire(sem, 9, NULL));
	begin(&heavy, k, sem, 10, NULL);
	begin(&light, k, sem, 1, NULL);
	CHECK_EQ(k->stat(sem).free, 1);
	CHECK_EQ(k->stat(sem).waiting_permits, 11);
	CHECK_ERR(k->try_acquire(sem, 1), WEIR_EAGAIN);
	CHECK_OK(k->acquire_upto(sem, 0, 1, NULL, &got));
	CHECK_EQ(got, 0);
	CHECK_OK(k->drain(sem, &got));
	CHECK_EQ(got, 0);
	CHECK_ERR(k->acquire_until(sem, 1, 0), WEIR_ETIMEDOUT);
	k->release(sem, 9);
	CHECK_OK(outcome(&heavy));
	CHECK_EQ(k->stat(sem).waiters, 1);
	leave(&heavy, sem);
	CHECK_OK(outcome(&light));
	leave(&light, sem);
	drop(k, sem);
}

/* C6: release grants to every head that fits, in order, before it returns. */
STRICT(c6_release_grants_all_that_fit)
{
	void *sem = k->make(10);
	struct job two, three, six, one;
	struct picture now;

	CHECK_OK(k->acquire(sem, 10, NULL));
	begin(&two, k, sem, 2, NULL);
	begin(&three, k, sem, 3, NULL);
	begin(&six, k, sem, 6, NULL);
	begin(&one, k, sem, 1, NULL);
	k->release(sem, 1);
	CHECK_EQ(k->stat(sem).waiters, 4);
	k->release(sem, 5);
	/* No stat before both calls have returned: it may grant by itself. */
	CHECK_OK(outcome(&two));
	CHECK_OK(outcome(&three));
	now = CHECK_PICTURE(k, sem);
	CHECK_EQ(now.waiters, 2);
	CHECK_EQ(now.free, 1);
	CHECK_EQ(now.held, 9);
	leave(&two, sem);
	CHECK_EQ(k->stat(sem).waiters, 2);
	leave(&three, sem);
	CHECK_OK(outcome(&six));
	leave(&six, sem);
	CHECK_OK(outcome(&one));
	leave(&one, sem);
	k->release(sem, 4);
	drop(k, sem);
}

/* C6, C10: under any policy, waiters get their whole weight. */
EVERY(c6_c10_waiters_are_served)
{
	void *sem = k->make(6);
	struct job jobs[3];

	CHECK_OK(k->acquire(sem, 6, NULL));
	for (int i = 0; i < 3; i++)
		begin(&jobs[i], k, sem, 2, NULL);
	/* A waiter holds no permits. */
	k->release(sem, 1);
	CHECK_EQ(k->stat(sem).waiters, 3);
	CHECK_EQ(CHECK_PICTURE(k, sem).free, 1);
	k->release(sem, 5);
	for (int i = 0; i < 3; i++) {
		CHECK_OK(outcome(&jobs[i]));
		CHECK_EQ(jobs[i].got, 2);
	}
	CHECK_EQ(CHECK_PICTURE(k, sem).held, 6);
	for (int i = 0; i < 3; i++)
		leave(&jobs[i], sem);
	drop(k, sem);
}

/*
 * C7: when the head is cancelled, the next waiters that fit are granted
 * (golang/go#37852).
 */
STRICT(c7_c13_a_cancelled_head)
{
	void *sem = k->make(2);
	weir_ctx ctx = WEIR_CTX_INIT;
	struct job head, next;
	struct picture now;

	CHECK_OK(k->acquire(sem, 1, NULL));
	begin(&head, k, sem, 2, &ctx);
	begin(&next, k, sem, 1, NULL);
	weir_ctx_cancel(&ctx);
	SETTLE(k, sem, 0);
	/* C13: before the cancel returns. */
	now = CHECK_PICTURE(k, sem);
	CHECK_EQ(now.waiters, 0);
	CHECK_EQ(now.free, 0);
	CHECK_ERR(outcome(&head), WEIR_ECANCELED);
	CHECK_OK(outcome(&next));
	leave(&head, sem);
	leave(&next, sem);
	CHECK_OK(weir_ctx_destroy(&ctx));
	k->release(sem, 1);
	drop(k, sem);
}

/* C7: the same when the head times out. */
EVERY(c7_a_head_that_times_out)
{
	void *sem = k->make(2);
	struct job head, next;

	CHECK_OK(k->acquire(sem, 1, NULL));
	begin_until(&head, k, sem, 2, weir_deadline_after(50000000));
	/* The result is the same if the head times out before this call. */
	next = (struct job){ .k = k, .verb = ACQUIRE, .n = 1 };
	next.sem = k->another(sem);
	CHECK_OK(k->acquire(next.sem, 1, NULL));
	next.got = 1;
	CHECK_ERR(outcome(&head), WEIR_ETIMEDOUT);
	CHECK_EQ(CHECK_PICTURE(k, sem).waiters, 0);
	leave(&head, sem);
	leave(&next, sem);
	k->release(sem, 1);
	drop(k, sem);
}

/* C7: when another waiter than the head leaves, no grant follows. */
STRICT(c7_c16_the_second_leaves)
{
	void *sem = k->make(2);
	weir_ctx ctx = WEIR_CTX_INIT;
	struct job head, second, third;

	CHECK_OK(k->acquire(sem, 1, NULL));
	begin(&head, k, sem, 2, NULL);
	begin(&second, k, sem, 1, &ctx);
	begin(&third, k, sem, 1, NULL);
	weir_ctx_cancel(&ctx);
	SETTLE(k, sem, 2);
	CHECK_EQ(k->stat(sem).waiters, 2);
	CHECK_EQ(k->stat(sem).free, 1);
	CHECK_ERR(outcome(&second), WEIR_ECANCELED);
	k->release(sem, 1);
	CHECK_OK(outcome(&head));
	leave(&head, sem);
	CHECK_OK(outcome(&third));
	leave(&second, sem);
	leave(&third, sem);
	CHECK_OK(weir_ctx_destroy(&ctx));
	drop(k, sem);
}

/*
 * C11: a request above the capacity waits on the oversized list and blocks no
 * other call.
 */
EVERY(c11_an_oversized_request)
{
	void *sem = k->make(2);
	weir_ctx ctx = WEIR_CTX_INIT;
	struct job impossible;

	begin(&impossible, k, sem, 3, &ctx);
	CHECK_EQ(k->stat(sem).oversized, 1);
	CHECK_EQ(k->stat(sem).waiters, 0);
	CHECK_OK(k->acquire(sem, 2, NULL));
	/* It is enqueued when the capacity grows, dequeued by a shrink. */
	CHECK_OK(k->resize(sem, 3, NULL));
	CHECK_EQ(k->stat(sem).oversized, 0);
	CHECK_EQ(k->stat(sem).waiters, 1);
	CHECK_OK(k->resize(sem, 2, NULL));
	CHECK_EQ(k->stat(sem).oversized, 1);
	k->release(sem, 2);
	CHECK_EQ(k->stat(sem).free, 2);
	CHECK_OK(k->resize(sem, 3, NULL));
	CHECK_OK(outcome(&impossible));
	leave(&impossible, sem);
	CHECK_OK(weir_ctx_destroy(&ctx));
	drop(k, sem);
}

/* C11: a shrink makes the head oversized; without a context its call fails. */
STRICT(c7_c11_a_shrink_makes_the_head_oversized)
{
	void *sem = k->make(3);
	weir_ctx ctx = WEIR_CTX_INIT;
	struct job with, without, light;

	CHECK_OK(k->acquire(sem, 1, NULL));
	begin(&with, k, sem, 3, &ctx);
	begin(&without, k, sem, 3, NULL);
	begin(&light, k, sem, 1, NULL);
	CHECK_OK(k->resize(sem, 2, NULL));
	CHECK_OK(outcome(&light));
	CHECK_ERR(outcome(&without), WEIR_ETOOBIG);
	CHECK_EQ(k->stat(sem).oversized, 1);
	weir_ctx_cancel(&ctx);
	CHECK_ERR(outcome(&with), WEIR_ECANCELED);
	leave(&with, sem);
	leave(&without, sem);
	leave(&light, sem);
	CHECK_OK(weir_ctx_destroy(&ctx));
	k->release(sem, 1);
	drop(k, sem);
}

/*
 * C11, C4: oversized waiters return in the order in which they left the queue,
 * whatever the position of their records.
 */
STRICT(c4_c11_oversized_waiters_return_in_order)
{
	void *sem = k->make(3);
	weir_ctx ctx = WEIR_CTX_INIT;
	struct job light, elder, younger;

	CHECK_OK(k->acquire(sem, 3, NULL));
	begin(&light, k, sem, 1, NULL);
	begin(&elder, k, sem, 3, &ctx);
	k->release(sem, 1);
	CHECK_OK(outcome(&light));
	leave(&light, sem);
	/* A named semaphore reuses `light`'s record, before the elder's. */
	begin(&younger, k, sem, 3, &ctx);
	CHECK_OK(k->resize(sem, 2, NULL));
	CHECK_EQ(k->stat(sem).oversized, 2);
	CHECK_OK(k->resize(sem, 3, NULL));
	CHECK_EQ(k->stat(sem).waiters, 2);
	k->release(sem, 2);
	AWAIT(is_done(&elder) || is_done(&younger));
	CHECK(is_done(&elder));
	CHECK_OK(outcome(&elder));
	leave(&elder, sem);
	CHECK_OK(outcome(&younger));
	leave(&younger, sem);
	CHECK_OK(weir_ctx_destroy(&ctx));
	drop(k, sem);
}

/* C12: waits for min permits and is granted up to max. */
EVERY(c12_upto_waits_for_min)
{
	void *sem = k->make(5);
	struct job job;

	CHECK_OK(k->acquire(sem, 5, NULL));
	begin_upto(&job, k, sem, 2, 4);
	k->release(sem, 1);
	CHECK_EQ(k->stat(sem).waiters, 1);
	k->release(sem, 2);
	CHECK_OK(outcome(&job));
	CHECK_EQ(job.got, 3);
	leave(&job, sem);
	k->release(sem, 2);
	drop(k, sem);
}

/* C13: a cancel reaches waits of child contexts, and later acquires fail. */
EVERY(c13_a_parents_cancel_ends_waits_below)
{
	void *sem = k->make(2);
	weir_ctx root = WEIR_CTX_INIT, child;
	struct job first, second;

	CHECK_OK(weir_ctx_init(&child, &root, WEIR_FOREVER));
	CHECK_OK(k->acquire(sem, 2, NULL));
	begin(&first, k, sem, 1, &child);
	begin(&second, k, sem, 2, &root);
	weir_ctx_cancel(&root);
	SETTLE(k, sem, 0);
	CHECK_EQ(k->stat(sem).waiters, 0);
	CHECK_ERR(outcome(&first), WEIR_ECANCELED);
	CHECK_ERR(outcome(&second), WEIR_ECANCELED);
	k->release(sem, 2);
	CHECK_ERR(k->acquire(sem, 1, &child), WEIR_ECANCELED);
	leave(&first, sem);
	leave(&second, sem);
	CHECK_OK(weir_ctx_destroy(&child));
	CHECK_OK(weir_ctx_destroy(&root));
	drop(k, sem);
}

/*
 * C13: a cancel concurrent with a grant.  A call that was granted first may
 * have returned.
 */
EVERY(c13_cancel_meets_grant)
{
	void *sem = k->make(1);

	for (int i = 0; i < 40 * check_scale(); i++) {
		weir_ctx ctx = WEIR_CTX_INIT;
		struct job met, next;
		weir_err err;

		CHECK_OK(k->acquire(sem, 1, NULL));
		begin(&met, k, sem, 1, &ctx);
		begin(&next, k, sem, 1, NULL);
		k->release(sem, 1);
		weir_ctx_cancel(&ctx);
		err = outcome(&met);
		CHECK(err == WEIR_OK || err == WEIR_ECANCELED);
		leave(&met, sem);
		CHECK_OK(outcome(&next));
		leave(&next, sem);
		CHECK_OK(weir_ctx_destroy(&ctx));
		CHECK_EQ(CHECK_PICTURE(k, sem).free, 1);
	}
	drop(k, sem);
}

/* C14: a context's deadline ends the wait, and remains the context's error. */
EVERY(c13_c14_a_contexts_deadline)
{
	void *sem = k->make(1);
	weir_ctx ctx;

	CHECK_OK(k->acquire(sem, 1, NULL));
	CHECK_OK(weir_ctx_init(&ctx, NULL, weir_deadline_after(3000000)));
	CHECK_ERR(k->acquire(sem, 1, &ctx), WEIR_ETIMEDOUT);
	CHECK_EQ(k->stat(sem).waiters, 0);
	k->release(sem, 1);
	CHECK_ERR(k->acquire(sem, 1, &ctx), WEIR_ETIMEDOUT);
	CHECK_OK(weir_ctx_destroy(&ctx));
	drop(k, sem);
}

/* C17: some hundred waits of microseconds do not move another waiter. */
EVERY(c17_a_storm_of_timeouts)
{
	void *sem = k->make(1);
	struct job patient;

	CHECK_OK(k->acquire(sem, 1, NULL));
	begin(&patient, k, sem, 1, NULL);
	for (int i = 0; i < 300; i++)
		CHECK_ERR(k->acquire_for(sem, 1, i * 100), WEIR_ETIMEDOUT);
	CHECK_EQ(k->stat(sem).waiters, 1);
	k->release(sem, 1);
	CHECK_OK(outcome(&patient));
	leave(&patient, sem);
	drop(k, sem);
}

static int handled;

static void handle(int number)
{
	(void)number;
	__atomic_add_fetch(&handled, 1, __ATOMIC_RELAXED);
}

/* C18: signals are handled, and the wait continues. */
EVERY(c18_signals_do_not_end_a_wait)
{
	struct sigaction action = { .sa_handler = handle };
	void *sem = k->make(1);
	struct job job;

	CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
	CHECK_OK(k->acquire(sem, 1, NULL));
	begin(&job, k, sem, 1, NULL);
	for (int i = 1; i <= 5; i++) {
		__atomic_store_n(&handled, 0, __ATOMIC_RELAXED);
		/* Repeat: a sanitizer may delay a handler until then. */
		AWAIT(__atomic_load_n(&handled, __ATOMIC_RELAXED) ||
		      pthread_kill(job.thread.id, SIGUSR1));
		CHECK_EQ(k->stat(sem).waiters, 1);
	}
	k->release(sem, 1);
	CHECK_OK(outcome(&job));
	leave(&job, sem);
	drop(k, sem);
}
