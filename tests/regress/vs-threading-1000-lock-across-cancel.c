/* SPDX-License-Identifier: MIT */
/*
 * vs-threading#1000: a cancel deadlocks because it holds an internal lock while
 * it waits for a cancellation handler that needs the same lock.
 *
 * Threads: canceller, waiter, others.
 *
 *   1. canceller: cancel locks the tree and waits until the waiter has handled
 *      the cancellation.
 *   2. waiter: needs the tree's lock to leave.
 *   3. others: need the tree's lock as well; all wait forever.
 *
 * In weir (C13, C27) no lock is held while a waiter handles the end of its
 * context.  While the waiters of a tree are notified but cannot run, all other
 * calls still work: on the tree, on the semaphores, and a second cancel.
 */
#include "race.h"
#include "waiter.h"

TEST(c27_nothing_is_locked_while_the_waiters_leave)
{
	weir_sem sem = WEIR_SEM_INIT(1), other = WEIR_SEM_INIT(1);
	weir_ctx root = WEIR_CTX_INIT, left, right, late;
	struct waiter a = { .sem = &sem, .n = 1, .ctx = &left };
	struct waiter b = { .sem = &other, .n = 1, .ctx = &right };

	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	CHECK_OK(weir_sem_acquire(&other, 1, NULL));
	CHECK_OK(weir_ctx_init(&left, &root, WEIR_FOREVER));
	CHECK_OK(weir_ctx_init(&right, &root, WEIR_FOREVER));
	queue_up(&a);
	queue_up(&b);
	freeze(&a);
	freeze(&b);
	weir_ctx_cancel(&left);

	/* The tree is usable. */
	CHECK_OK(weir_ctx_err(&root));
	CHECK_OK(weir_ctx_err(&right));
	CHECK_OK(weir_ctx_init(&late, &left, WEIR_FOREVER));
	CHECK_ERR(weir_ctx_err(&late), WEIR_ECANCELED);
	CHECK_OK(weir_ctx_destroy(&late));
	CHECK_ERR(weir_ctx_wait(&right, weir_now_ns()), WEIR_EAGAIN);
	weir_ctx_cancel(&left);
	/* The semaphores are usable. */
	weir_sem_release(&sem, 1);
	CHECK_OK(weir_sem_acquire(&sem, 1, &right));
	CHECK_OK(weir_sem_resize(&sem, 2, NULL));
	CHECK_OK(weir_sem_acquire(&sem, 1, &root));
	CHECK_ERR(weir_sem_acquire_for(&sem, 1, 1000), WEIR_ETIMEDOUT);

	weir_ctx_cancel(&root);
	CHECK_ERR(weir_ctx_err(&right), WEIR_ECANCELED);
	CHECK_EQ(waiters_of(&sem) + waiters_of(&other), 0);
	thaw(&b);
	CHECK_ERR(result_of(&b), WEIR_ECANCELED);
	CHECK_OK(weir_ctx_destroy(&right));
	thaw(&a);
	CHECK_ERR(result_of(&a), WEIR_ECANCELED);
	CHECK_OK(weir_ctx_destroy(&left));
	CHECK_OK(weir_ctx_destroy(&root));
	CHECK_IDENTITY(&sem);
}

struct crossed {
	struct gate *gate;
	weir_sem *sem;
	weir_ctx *own, *others;
	const bool *stop;
};

/* A user that reacts to being cancelled by cancelling another context. */
static void *wait_then_cancel(void *arg)
{
	struct crossed *c = arg;

	for (;;) {
		meet(c->gate);
		if (*c->stop)
			return NULL;
		CHECK_ERR(weir_sem_acquire(c->sem, 1, c->own), WEIR_ECANCELED);
		weir_ctx_cancel(c->others);
		meet(c->gate);
	}
}

/*
 * C13, C27: two context trees and two semaphores, with a waiter of each tree in
 * each semaphore.  Each waiter cancels the other tree as soon as its own wait
 * ends, while the first cancel is still running.  A lock held during
 * notification would deadlock.
 */
TEST(c27_cancels_that_cancel)
{
	weir_sem sem[2] = { WEIR_SEM_INIT(1), WEIR_SEM_INIT(1) };
	struct gate gate = { .parties = 5 };
	bool stop = false;
	weir_ctx tree[2];
	struct crossed crossed[4];
	check_thread thread[4];
	struct rounds r = rounds(3000);

	for (int i = 0; i < 4; i++) {
		crossed[i] = (struct crossed){
			&gate, &sem[i / 2], &tree[i % 2], &tree[!(i % 2)], &stop
		};
		thread[i] = start(wait_then_cancel, &crossed[i]);
	}
	CHECK_OK(weir_sem_acquire(&sem[0], 1, NULL));
	CHECK_OK(weir_sem_acquire(&sem[1], 1, NULL));
	while (again(&r)) {
		CHECK_OK(weir_ctx_init(&tree[0], NULL, WEIR_FOREVER));
		CHECK_OK(weir_ctx_init(&tree[1], NULL, WEIR_FOREVER));
		meet(&gate);
		AWAIT(waiters_of(&sem[0]) == 2 && waiters_of(&sem[1]) == 2);
		weir_ctx_cancel(&tree[r.done % 2]);
		meet(&gate);
		CHECK_EQ(waiters_of(&sem[0]) + waiters_of(&sem[1]), 0);
		CHECK_OK(weir_ctx_destroy(&tree[0]));
		CHECK_OK(weir_ctx_destroy(&tree[1]));
	}
	stop = true;
	meet(&gate);
	for (int i = 0; i < 4; i++)
		finish(thread[i]);
}
