/* SPDX-License-Identifier: MIT */
/*
 * Curator's semaphore recipe (CURATOR-462 and others): a lease that is granted
 * to an interrupted acquire is never released.
 *
 * Threads: waiter (parked), signaller, releaser.
 *
 *   1. signaller: sends a signal to the waiter.
 *   2. waiter: wakes with "interrupted".
 *   3. releaser: grants to the waiter, which is still in the queue.
 *   4. waiter: reports the interruption; no thread owns the grant.
 *
 * In weir a signal is handled and the wait goes on by default (C18).  With
 * WEIR_SEM_INTERRUPTIBLE the call either succeeds and owns the permit, or fails
 * with WEIR_EINTR and changes nothing (C16).
 */
#include "race.h"
#include "waiter.h"

static void no_op(int signo)
{
	(void)signo;
}

static void handle_signal(void)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = no_op;
	CHECK_EQ(real_sigaction(SIGUSR2, &action, NULL), 0);
}

TEST(c18_a_signal_does_not_end_a_wait)
{
	weir_sem sem = WEIR_SEM_INIT(1);
	weir_ctx ctx = WEIR_CTX_INIT;
	struct waiter plain = { .sem = &sem, .n = 1 };
	struct waiter with_ctx = { .sem = &sem, .n = 1, .ctx = &ctx };
	struct waiter timed = { .sem = &sem, .n = 1,
				.deadline_ns = WEIR_FOREVER - 1 };
	struct waiter *all[] = { &plain, &with_ctx, &timed };

	handle_signal();
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	for (int i = 0; i < 3; i++)
		queue_up(all[i]);
	for (int k = 0; k < 50; k++) {
		for (int i = 0; i < 3; i++)
			CHECK_EQ(pthread_kill(all[i]->thread.id, SIGUSR2), 0);
		AWAIT(asleep(plain.tid) && asleep(with_ctx.tid) &&
		      asleep(timed.tid));
		CHECK_EQ(waiters_of(&sem), 3);
	}
	/* The waiters keep their places in the queue. */
	for (int i = 0; i < 3; i++) {
		weir_sem_release(&sem, 1);
		CHECK_OK(result_of(all[i]));
		CHECK_EQ(waiters_of(&sem), 2 - i);
	}
	CHECK_OK(weir_ctx_destroy(&ctx));
}

static void race(weir_policy policy)
{
	weir_sem_opts opts = { .capacity = 1, .policy = policy,
			       .flags = WEIR_SEM_INTERRUPTIBLE };
	struct rounds r = rounds(3000);
	uint64_t random = seed_of(1);
	weir_sem sem;

	handle_signal();
	CHECK_OK(weir_sem_init_opts(&sem, &opts));
	while (again(&r)) {
		struct waiter w = { .sem = &sem, .n = 1 };
		struct waiter behind = { .sem = &sem, .n = 1 };

		begin(&w);
		AWAIT(waiters_of(&sem) == 1);
		begin(&behind);
		AWAIT(waiters_of(&sem) == 2);
		CHECK_EQ(pthread_kill(w.thread.id, SIGUSR2), 0);
		jitter(&random, 2000);
		weir_sem_release(&sem, 1);
		/* If w was interrupted, `behind` gets the permit directly. */
		if (result_of(&w))
			CHECK_ERR(w.err, WEIR_EINTR);
		else
			weir_sem_release(&sem, 1);
		CHECK_OK(result_of(&behind));
		CHECK_EQ(stat_of(&sem).held, 1);
		CHECK_EQ(stat_of(&sem).granted, 0);
		CHECK_EQ(waiters_of(&sem), 0);
	}
	CHECK_IDENTITY(&sem);
}

/* C16: the signal and the grant race; `behind` is granted in both cases. */
TEST(c16_a_signal_meets_a_grant)
{
	race(WEIR_FIFO);
	race(WEIR_BARGING);
}
