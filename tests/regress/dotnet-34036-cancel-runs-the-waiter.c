/* SPDX-License-Identifier: MIT */
/*
 * dotnet/runtime PR #34036: a cancel deadlocks because it runs the continuation
 * of the cancelled wait on the canceller's thread, with the canceller's locks
 * held.
 *
 * Threads: canceller, waiter.
 *
 *   1. canceller: locks the mutex M.
 *   2. canceller: cancels the waiter; the cancel calls the waiter's
 *      continuation directly.
 *   3. The continuation, on the canceller's thread: locks M and waits forever.
 *
 * In weir (C13, C27) a cancel notifies the waiters and returns.  Each waiter
 * continues on its own thread; the cancel neither runs that code nor waits for
 * it.
 */
#include "waiter.h"

#define WAITERS 4

struct user {
	struct waiter w;
	pthread_mutex_t *mutex;
	pthread_t ran_on;
	uint32_t done;		/* atomic */
};

static void *wait_then_lock(void *arg)
{
	struct user *u = arg;

	u->w.err = weir_sem_acquire(u->w.sem, 1, u->w.ctx);
	u->ran_on = pthread_self();
	pthread_mutex_lock(u->mutex);
	__atomic_store_n(&u->done, 1, __ATOMIC_RELEASE);
	pthread_mutex_unlock(u->mutex);
	return NULL;
}

/* C27: the canceller holds the mutex that every waiter locks next. */
TEST(c27_cancel_does_not_run_the_waiters)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	weir_sem sem = WEIR_SEM_INIT(1);
	weir_ctx ctx = WEIR_CTX_INIT;
	struct user user[WAITERS];

	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	for (int i = 0; i < WAITERS; i++) {
		user[i] = (struct user){ .w = { .sem = &sem, .ctx = &ctx },
					 .mutex = &mutex };
		user[i].w.thread = start(wait_then_lock, &user[i]);
	}
	AWAIT(waiters_of(&sem) == WAITERS);
	pthread_mutex_lock(&mutex);
	weir_ctx_cancel(&ctx);
	CHECK_EQ(waiters_of(&sem), 0);
	for (int i = 0; i < WAITERS; i++)
		CHECK(!__atomic_load_n(&user[i].done, __ATOMIC_ACQUIRE));
	pthread_mutex_unlock(&mutex);
	for (int i = 0; i < WAITERS; i++) {
		pthread_t id = user[i].w.thread.id;

		CHECK_ERR(result_of(&user[i].w), WEIR_ECANCELED);
		CHECK(pthread_equal(user[i].ran_on, id));
	}
	CHECK_OK(weir_ctx_destroy(&ctx));
}

/* C13: the cancel returns although no waiter can run. */
TEST(c13_cancel_does_not_wait_for_the_waiters)
{
	weir_sem sem = WEIR_SEM_INIT(1);
	weir_ctx ctx = WEIR_CTX_INIT;
	struct waiter w[WAITERS];

	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	for (int i = 0; i < WAITERS; i++) {
		w[i] = (struct waiter){ .sem = &sem, .n = 1, .ctx = &ctx };
		queue_up(&w[i]);
		freeze(&w[i]);
	}
	weir_ctx_cancel(&ctx);
	CHECK_EQ(waiters_of(&sem), 0);
	CHECK_ERR(weir_ctx_err(&ctx), WEIR_ECANCELED);
	/* The waiters' calls have not returned, so the ctx is still in use. */
	CHECK_ERR(weir_ctx_destroy(&ctx), WEIR_EBUSY);
	for (int i = 0; i < WAITERS; i++) {
		thaw(&w[i]);
		CHECK_ERR(result_of(&w[i]), WEIR_ECANCELED);
	}
	CHECK_OK(weir_ctx_destroy(&ctx));
}
