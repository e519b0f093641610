/* SPDX-License-Identifier: MIT */
/* Several semaphores at once: C32, C33. */
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "calls.h"
#include "soon.h"
#include "weir/multi.h"
#include "../unit/job.h"

static weir_sem sems[4];

static void begin(int64_t free0, int64_t free1, int64_t free2)
{
	const int64_t free[] = { free0, free1, free2, 0 };

	for (int i = 0; i < 4; i++)
		CHECK_OK(weir_sem_init_opts(&sems[i], &(weir_sem_opts){
			.permits = free[i], .capacity = 4 }));
}

static int64_t held_of(int i)
{
	CHECK_IDENTITY(&sems[i]);
	CHECK_EQ(stat_of(&sems[i]).granted, 0);
	return stat_of(&sems[i]).held;
}

/* C32: acquire and release all; requests for one semaphore are merged. */
TEST(c32_all)
{
	const weir_req reqs[] = { { &sems[2], 1 }, { &sems[0], 2 },
				  { &sems[2], 3 }, { &sems[1], 0 } };

	begin(4, 4, 4);
	CHECK_OK(weir_acquire_all(reqs, 4, NULL));
	CHECK_EQ(held_of(0), 2);
	CHECK_EQ(held_of(1), 0);
	CHECK_EQ(held_of(2), 4);
	weir_release_all(reqs, 4);
	CHECK_EQ(held_of(0) + held_of(2), 0);
	CHECK_OK(weir_acquire_all(NULL, 0, NULL));
}

/* Results of the asynchronous forms. */
static int ran;
static weir_err result;
static size_t which_won;

static void all_ran(weir_all *all, weir_err err, void *user)
{
	CHECK(all == user);
	ran++;
	result = err;
}

/* C32: if one request fails, nothing is acquired. */
TEST(c32_or_none)
{
	weir_all all;
	weir_req reqs[] = { { &sems[0], 1 }, { &sems[1], 1 }, { &sems[2], 5 } };
	weir_ctx ctx = WEIR_CTX_INIT;

	begin(4, 4, 4);
	CHECK_ERR(weir_acquire_all(reqs, 3, NULL), WEIR_ETOOBIG);
	reqs[2].n = -1;
	CHECK_ERR(weir_acquire_all(reqs, 3, NULL), WEIR_EINVAL);
	reqs[0] = (weir_req){ &sems[2], WEIR_SEM_MAX };
	reqs[2].n = WEIR_SEM_MAX;
	CHECK_ERR(weir_acquire_all(reqs, 3, NULL), WEIR_EINVAL);
	CHECK_ERR(weir_acquire_all(NULL, 1, NULL), WEIR_EINVAL);
	CHECK_PANICS("not a valid list", weir_release_all(reqs, 3));
	reqs[0].n = reqs[2].n = 1;
	weir_sem_close(&sems[2], WEIR_CLOSE_NOW);
	CHECK_ERR(weir_acquire_all(reqs, 3, NULL), WEIR_ECLOSED);
	weir_ctx_cancel(&ctx);
	CHECK_ERR(weir_acquire_all(reqs, 3, &ctx), WEIR_ECANCELED);
	/* C2: an ended context wins also if the list is empty. */
	CHECK_ERR(weir_acquire_all(reqs, 0, &ctx), WEIR_ECANCELED);
	weir_all_init(&all, NULL, all_ran, &all);
	CHECK_ERR(weir_all_submit(&all, reqs, 0, &ctx), WEIR_ECANCELED);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(held_of(i), 0);
	CHECK_OK(weir_ctx_destroy(&ctx));
}

/* C34: a set is released once, at the end of its block. */
static void in_a_block(const weir_req *reqs)
{
	WEIR_SCOPED_SET weir_set held = WEIR_SET_INIT;

	CHECK_OK(weir_set_acquire(&held, reqs, 2, NULL));
	CHECK_ERR(weir_set_acquire(&held, reqs, 2, NULL), WEIR_EINVAL);
	CHECK_EQ(held_of(0) + held_of(1), 5 + 3);
}

TEST(c34_a_set)
{
	const weir_req reqs[] = { { &sems[1], 1 }, { &sems[0], 2 } };
	weir_set held = WEIR_SET_INIT;

	begin(2, 1, 0);
	in_a_block(reqs);
	CHECK_EQ(weir_sem_available(&sems[0]), 2);
	CHECK_OK(weir_set_acquire(&held, reqs, 2, NULL));
	weir_set_release(&held);
	weir_set_release(&held);
	CHECK_EQ(weir_sem_available(&sems[1]), 1);
}

/* C32: threads that list the semaphores in every order do not deadlock. */
#define ROUNDS 2000
static int holders;

static void *takes_all(void *arg)
{
	uint64_t seed = seed_of((uint64_t)(uintptr_t)arg);

	for (int i = 0; i < ROUNDS; i++) {
		weir_req reqs[3];
		int first = (int)random_below(&seed, 3);

		for (int j = 0; j < 3; j++)
			reqs[j] = (weir_req){ &sems[(first + j) % 3], 1 };
		CHECK_OK(weir_acquire_all(reqs, 3, NULL));
		CHECK_EQ(__atomic_fetch_add(&holders, 1, __ATOMIC_RELAXED), 0);
		__atomic_fetch_sub(&holders, 1, __ATOMIC_RELAXED);
		weir_release_all(reqs, 3);
	}
	return NULL;
}

TEST(c32_no_deadlock)
{
	check_thread t[4];

	for (int i = 0; i < 3; i++)
		CHECK_OK(weir_sem_init(&sems[i], 1));
	for (uintptr_t i = 0; i < 4; i++)
		t[i] = start(takes_all, (void *)i);
	for (int i = 0; i < 4; i++)
		finish(t[i]);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(weir_sem_available(&sems[i]), 1);
}

/* C33: one of the requests; every free semaphore is chosen sometimes. */
TEST(c33_any)
{
	const weir_req reqs[] = { { &sems[0], 1 }, { &sems[1], 2 },
				  { &sems[2], 1 } };
	int taken[3] = { 0 };
	size_t which;

	begin(1, 2, 0);
	for (int i = 0; i < 30; i++) {
		CHECK_OK(weir_acquire_any(reqs, 3, NULL, &which));
		CHECK(which < 2);
		taken[which]++;
		CHECK_EQ(held_of(0) + held_of(1), reqs[which].n + 1 + 2 + 2 + 0);
		weir_sem_release(reqs[which].sem, reqs[which].n);
	}
	CHECK(taken[0] >= 5 && taken[1] >= 5);
	CHECK_EQ(waiters_of(&sems[2]), 0);
	CHECK_ERR(weir_acquire_any(reqs, 0, NULL, &which), WEIR_EINVAL);
	CHECK_ERR(weir_acquire_any(reqs, 3, NULL, NULL), WEIR_EINVAL);
}

/*
 * C33: the same if several lists are requested in turn: no list always begins
 * with the same semaphore.
 */
TEST(c33_any_of_several_lists)
{
	for (int lists = 2; lists <= 5; lists++) {
		int taken[5][3] = { { 0 } };

		begin(1, 1, 1);
		for (int i = 0; i < 200 * lists; i++) {
			/* The lists have different lengths. */
			size_t k = i % lists % 2 ? 3 : 2, which;
			const weir_req reqs[] = { { &sems[0], 1 },
						  { &sems[1], 1 },
						  { &sems[2], 1 } };

			CHECK_OK(weir_acquire_any(reqs, k, NULL, &which));
			taken[i % lists][which]++;
			weir_sem_release(reqs[which].sem, 1);
		}
		for (int i = 0; i < lists; i++)
			for (int k = 0; k < (i % 2 ? 3 : 2); k++)
				CHECK(taken[i][k] >= 20);
	}
}

/* C33, C16: closed and oversized requests are skipped while one is left. */
TEST(c33_refused)
{
	const weir_req reqs[] = { { &sems[0], 1 }, { &sems[1], 9 } };
	size_t which = 9;

	begin(1, 1, 0);
	for (int i = 0; i < 4; i++) {
		CHECK_OK(weir_acquire_any(reqs, 2, NULL, &which));
		CHECK_EQ(which, 0);
		weir_sem_release(&sems[0], 1);
	}
	weir_sem_close(&sems[0], WEIR_CLOSE_NOW);
	/* The error of reqs[0], whichever member is tried first. */
	for (int i = 0; i < 40; i++)
		CHECK_ERR(weir_acquire_any(reqs, 2, NULL, &which),
			  WEIR_ECLOSED);
}

struct waits {
	weir_req reqs[3];
	weir_ctx *ctx;
	size_t which;
	weir_err err;
	int tid;
};

static void *waits_for_any(void *arg)
{
	struct waits *w = arg;

	__atomic_store_n(&w->tid, (int)syscall(SYS_gettid),
			 __ATOMIC_SEQ_CST);
	w->err = weir_acquire_any(w->reqs, 3, w->ctx, &w->which);
	return NULL;
}

static check_thread wait_for_any(struct waits *w, weir_ctx *ctx)
{
	check_thread t;

	*w = (struct waits){ .ctx = ctx };
	for (int i = 0; i < 3; i++)
		w->reqs[i] = (weir_req){ &sems[i], 1 };
	t = start(waits_for_any, w);
	for (int i = 0; i < 3; i++)
		AWAIT(waiters_of(&sems[i]) == 1);
	return t;
}

/* C33: waits in all queues; the first grant wins; other queues are left. */
TEST(c33_waits)
{
	struct waits w;
	check_thread t;
	job behind;

	begin(0, 0, 0);
	t = wait_for_any(&w, NULL);
	queue_up(&behind, &sems[2], 1, NULL);
	weir_sem_release(&sems[1], 1);
	finish(t);
	CHECK_OK(w.err);
	CHECK_EQ(w.which, 1);
	CHECK_EQ(waiters_of(&sems[0]), 0);
	CHECK_EQ(waiters_of(&sems[2]), 1);
	weir_sem_release(&sems[2], 1);
	CHECK_OK(job_end(&behind));
}

static uint32_t signals;

static void count_signal(int number)
{
	(void)number;
	__atomic_add_fetch(&signals, 1, __ATOMIC_SEQ_CST);
}

/* C18: a signal does not end the wait, also if the semaphores permit that. */
TEST(c18_any_of_interruptible)
{
	struct sigaction action = { .sa_handler = count_signal }, before;
	struct waits w;
	check_thread t;

	for (int i = 0; i < 4; i++)
		CHECK_OK(weir_sem_init_opts(&sems[i], &(weir_sem_opts){
			.capacity = 1, .flags = WEIR_SEM_INTERRUPTIBLE }));
	CHECK_EQ(sigaction(SIGUSR1, &action, &before), 0);
	signals = 0;
	t = wait_for_any(&w, NULL);
	for (uint32_t i = 1; i <= 3; i++) {
		/*
		 * ThreadSanitizer delays a signal that arrives just before a
		 * sleep until the sleep has ended.
		 */
		AWAIT(check_asleep(__atomic_load_n(&w.tid, __ATOMIC_SEQ_CST)));
		CHECK_EQ(pthread_kill(t.id, SIGUSR1), 0);
		AWAIT(__atomic_load_n(&signals, __ATOMIC_SEQ_CST) == i);
	}
	for (int i = 0; i < 3; i++)
		CHECK_EQ(waiters_of(&sems[i]), 1);
	weir_sem_release(&sems[1], 1);
	finish(t);
	CHECK_OK(w.err);
	CHECK_EQ(w.which, 1);
	CHECK_EQ(sigaction(SIGUSR1, &before, NULL), 0);
}

/* C13, C14: a cancel and a deadline end the wait in all queues. */
TEST(c33_ended)
{
	weir_ctx ctx = WEIR_CTX_INIT;
	struct waits w;
	check_thread t;
	size_t which;

	begin(0, 0, 0);
	t = wait_for_any(&w, &ctx);
	weir_ctx_cancel(&ctx);
	finish(t);
	CHECK_ERR(w.err, WEIR_ECANCELED);
	CHECK_ERR(weir_acquire_any(w.reqs, 3, &ctx, &which), WEIR_ECANCELED);
	CHECK_OK(weir_ctx_destroy(&ctx));
	CHECK_OK(weir_ctx_init(&ctx, NULL, weir_deadline_after(1000000)));
	CHECK_ERR(weir_acquire_any(w.reqs, 3, &ctx, &which), WEIR_ETIMEDOUT);
	CHECK_OK(weir_ctx_destroy(&ctx));
	for (int i = 0; i < 3; i++)
		CHECK_EQ(waiters_of(&sems[i]), 0);
	t = wait_for_any(&w, NULL);
	for (int i = 0; i < 3; i++)
		weir_sem_close(&sems[i], WEIR_CLOSE_NOW);
	finish(t);
	CHECK_ERR(w.err, WEIR_ECLOSED);
}

static void any_ran(weir_any *any, weir_err err, size_t which, void *user)
{
	CHECK(any == user);
	ran++;
	result = err;
	which_won = which;
}

/* C32, C35: granted at once, step by step, cancelled, and failed. */
TEST(c32_submitted)
{
	const weir_req reqs[] = { { &sems[2], 1 }, { &sems[0], 1 },
				  { &sems[1], 1 } };
	weir_ctx ctx = WEIR_CTX_INIT;
	weir_all all;

	begin(1, 1, 1);
	ran = 0;
	weir_all_init(&all, NULL, all_ran, &all);
	CHECK_ERR(weir_all_cancel(&all), WEIR_EBUSY);
	CHECK_OK(weir_all_submit(&all, reqs, 3, NULL));
	CHECK_ERR(weir_all_submit(&all, reqs, 3, NULL), WEIR_EQUEUED);
	CHECK_PANICS("already", CHECK_ERR(weir_all_submit(&all, reqs, 3, NULL),
					  WEIR_EINVAL));
	weir_sem_release(&sems[1], 1);
	CHECK_EQ(waiters_of(&sems[0]), 1);
	weir_sem_release(&sems[0], 1);
	CHECK_EQ(weir_sem_available(&sems[1]), 0);
	CHECK_EQ(waiters_of(&sems[2]), 1);
	CHECK_EQ(ran, 0);
	weir_sem_release(&sems[2], 1);
	CHECK_EQ(ran, 1);
	CHECK_OK(result);
	/* Cancelled while it waits for the second semaphore. */
	weir_sem_release(&sems[0], 1);
	CHECK_ERR(weir_all_submit(&all, reqs, 3, NULL), WEIR_EQUEUED);
	CHECK_EQ(waiters_of(&sems[1]), 1);
	CHECK_OK(weir_all_cancel(&all));
	CHECK_EQ(weir_sem_available(&sems[0]), 1);
	CHECK_EQ(waiters_of(&sems[1]), 0);
	/* Its context is cancelled while it waits for the second one. */
	CHECK_ERR(weir_all_submit(&all, reqs, 3, &ctx), WEIR_EQUEUED);
	weir_ctx_cancel(&ctx);
	CHECK_EQ(ran, 2);
	CHECK_ERR(result, WEIR_ECANCELED);
	CHECK_EQ(weir_sem_available(&sems[0]), 1);
	CHECK_OK(weir_ctx_destroy(&ctx));
	for (int i = 0; i < 3; i++)
		CHECK_IDENTITY(&sems[i]);
}

TEST(c32_on_a_loop)
{
	const weir_req reqs[] = { { &sems[1], 1 }, { &sems[0], 1 } };
	weir_loop loop;
	weir_all all;

	begin(0, 0, 0);
	CHECK_OK(weir_loop_init(&loop));
	ran = 0;
	weir_all_init(&all, &loop, all_ran, &all);
	CHECK_ERR(weir_all_submit(&all, reqs, 2, NULL), WEIR_EQUEUED);
	weir_sem_release(&sems[1], 1);
	CHECK_EQ(weir_loop_dispatch(&loop), 0);
	weir_sem_release(&sems[0], 1);
	CHECK_EQ(weir_loop_dispatch(&loop), 1);
	CHECK_EQ(ran, 1);
	CHECK_OK(result);
	CHECK_ERR(weir_all_submit(&all, reqs, 2, NULL), WEIR_EQUEUED);
	weir_sem_release(&sems[0], 1);
	CHECK_OK(weir_all_cancel(&all));
	CHECK_EQ(weir_sem_available(&sems[0]), 1);
	CHECK_OK(weir_loop_destroy(&loop));
}

/* Submit in a context with this deadline, which remains if any is queued. */
static weir_err any_in_ctx(weir_any *any, const weir_req *reqs, weir_op *places,
			   size_t n, weir_ctx *ctx, int64_t deadline)
{
	weir_err err;

	CHECK_OK(weir_ctx_init(ctx, NULL, deadline));
	err = weir_any_submit(any, reqs, places, n, ctx, NULL);
	if (err != WEIR_EQUEUED)
		CHECK_OK(weir_ctx_destroy(ctx));
	return err;
}

/* C33, C35: an any-of operation in all its ways to end. */
TEST(c33_submitted)
{
	weir_req reqs[3] = { { &sems[0], 1 }, { &sems[1], 1 }, { &sems[2], 1 } };
	weir_ctx ctx = WEIR_CTX_INIT;
	weir_op places[3];
	weir_loop loop;
	weir_any any;
	size_t which = 9;

	begin(0, 1, 0);
	CHECK_OK(weir_loop_init(&loop));
	ran = 0;
	weir_any_init(&any, NULL, any_ran, &any);
	CHECK_ERR(weir_any_cancel(&any), WEIR_EBUSY);
	CHECK_OK(weir_any_submit(&any, reqs, places, 3, NULL, &which));
	CHECK_EQ(which, 1);
	CHECK_EQ(waiters_of(&sems[0]) + waiters_of(&sems[2]), 0);
	CHECK_ERR(weir_any_submit(&any, reqs, places, 3, NULL, NULL), WEIR_EQUEUED);
	weir_sem_release(&sems[2], 1);
	CHECK_EQ(ran, 1);
	CHECK_OK(result);
	CHECK_EQ(which_won, 2);
	CHECK_EQ(waiters_of(&sems[0]) + waiters_of(&sems[1]), 0);
	/* Cancelled while it waits. */
	CHECK_ERR(weir_any_submit(&any, reqs, places, 3, NULL, NULL), WEIR_EQUEUED);
	CHECK_OK(weir_any_cancel(&any));
	CHECK_EQ(waiters_of(&sems[0]) + waiters_of(&sems[1]), 0);
	/* Its context is cancelled. */
	CHECK_ERR(weir_any_submit(&any, reqs, places, 3, &ctx, NULL), WEIR_EQUEUED);
	weir_ctx_cancel(&ctx);
	CHECK_EQ(ran, 2);
	CHECK_ERR(result, WEIR_ECANCELED);
	CHECK_OK(weir_ctx_destroy(&ctx));
	/* On a loop: cancelled between grant and callback. */
	weir_any_init(&any, &loop, any_ran, &any);
	CHECK_ERR(weir_any_submit(&any, reqs, places, 3, NULL, NULL), WEIR_EQUEUED);
	weir_sem_release(&sems[0], 1);
	CHECK_OK(weir_any_cancel(&any));
	CHECK_EQ(weir_sem_available(&sems[0]), 1);
	CHECK_OK(weir_sem_acquire(&sems[0], 1, NULL));
	/* Its deadline passes. */
	QUEUE_SOON(any_in_ctx(&any, reqs, places, 3, &ctx, soon));
	while (ran < 3)
		(void)weir_loop_dispatch(&loop);
	CHECK_ERR(result, WEIR_ETIMEDOUT);
	CHECK_OK(weir_ctx_destroy(&ctx));
	/* Closed one after the other: the last close ends it. */
	CHECK_ERR(weir_any_submit(&any, reqs, places, 3, NULL, NULL), WEIR_EQUEUED);
	for (int i = 0; i < 3; i++) {
		CHECK_EQ(weir_loop_dispatch(&loop), 0);
		weir_sem_close(&sems[i], WEIR_CLOSE_NOW);
	}
	CHECK_EQ(weir_loop_dispatch(&loop), 1);
	CHECK_ERR(result, WEIR_ECLOSED);
	CHECK_OK(weir_loop_destroy(&loop));
	for (int i = 0; i < 3; i++)
		CHECK_IDENTITY(&sems[i]);
}

/*
 * C33: members with different weights on one semaphore.  The heavy one is ahead
 * in the queue, and the light one would fit.  When the request ends and the
 * heavy member leaves, the light member is neither granted nor waited for.
 */
TEST(c33_two_sizes_of_one)
{
	const weir_req reqs[] = { { &sems[0], 4 }, { &sems[0], 3 },
				  { &sems[0], 2 } };
	weir_op places[3];
	weir_any any;
	size_t which = 9;

	begin(2, 0, 0);
	ran = 0;
	weir_any_init(&any, NULL, any_ran, &any);
	/*
	 * In six rounds each member is first; if it is the light one, it wins.
	 */
	for (int i = 0; i < 6; i++) {
		weir_err err = weir_any_submit(&any, reqs, places, 3, NULL,
					       &which);

		if (!err) {
			CHECK_EQ(which, 2);
			weir_sem_release(&sems[0], 2);
			continue;
		}
		CHECK_ERR(err, WEIR_EQUEUED);
		CHECK_EQ(waiters_of(&sems[0]), 3);
		CHECK_OK(weir_any_cancel(&any));
		CHECK_EQ(waiters_of(&sems[0]), 0);
		CHECK_EQ(weir_sem_available(&sems[0]), 2);
	}
	CHECK_EQ(ran, 0);
	CHECK_IDENTITY(&sems[0]);
}

/*
 * C13: the context is cancelled between grant and callback.  The permits belong
 * to the next waiter when the cancel returns.
 */
TEST(c33_c13_cancelled_after_the_grant)
{
	const weir_req reqs[] = { { &sems[0], 1 }, { &sems[1], 1 } };
	weir_ctx ctx = WEIR_CTX_INIT;
	weir_op places[2];
	struct call behind;
	weir_loop loop;
	weir_any any;

	begin(0, 0, 0);
	CHECK_OK(weir_loop_init(&loop));
	ran = 0;
	weir_any_init(&any, &loop, any_ran, &any);
	CHECK_ERR(weir_any_submit(&any, reqs, places, 2, &ctx, NULL),
		  WEIR_EQUEUED);
	call_queue(&behind, NULL, &sems[1], 1, NULL);
	weir_sem_release(&sems[1], 1);
	CHECK_EQ(behind.ran, 0);
	weir_ctx_cancel(&ctx);
	CALL_WAS(&behind, WEIR_OK);
	CHECK_EQ(stat_of(&sems[1]).granted, 0);
	CHECK_EQ(weir_loop_dispatch(&loop), 1);
	CHECK_EQ(ran, 1);
	CHECK_ERR(result, WEIR_ECANCELED);
	CHECK_EQ(waiters_of(&sems[0]) + waiters_of(&sems[1]), 0);
	CHECK_IDENTITY(&sems[1]);
	CHECK_OK(weir_ctx_destroy(&ctx));
	CHECK_OK(weir_loop_destroy(&loop));
}

/*
 * C33: random weights on random semaphores, with deadlines that meet grants.
 * At the end all permits are free.
 */
static void *takes_any(void *arg)
{
	uint64_t seed = seed_of((uint64_t)(uintptr_t)arg);

	for (int i = 0; i < ROUNDS * check_scale(); i++) {
		size_t k = 1 + (size_t)random_below(&seed, 4), which = 9;
		weir_req reqs[4];
		weir_ctx ctx;
		weir_err err;

		for (size_t j = 0; j < k; j++)
			reqs[j] = (weir_req){ &sems[random_below(&seed, 3)],
					      1 + random_below(&seed, 4) };
		CHECK_OK(weir_ctx_init(&ctx, NULL, weir_deadline_after(
			random_below(&seed, 50000))));
		err = weir_acquire_any(reqs, k, &ctx, &which);
		CHECK(err == WEIR_OK || err == WEIR_ETIMEDOUT);
		if (!err)
			weir_sem_release(reqs[which].sem, reqs[which].n);
		CHECK_OK(weir_ctx_destroy(&ctx));
	}
	return NULL;
}

TEST(c33_storm)
{
	check_thread t[4];

	begin(4, 4, 4);
	for (uintptr_t i = 0; i < 4; i++)
		t[i] = start(takes_any, (void *)i);
	for (int i = 0; i < 4; i++)
		finish(t[i]);
	for (int i = 0; i < 3; i++) {
		CHECK_EQ(weir_sem_available(&sems[i]), 4);
		CHECK_EQ(held_of(i), 0);
	}
}

/*
 * C11, C32: an oversized request fails at once, before the other semaphores are
 * waited for.
 */
TEST(c11_all_of_too_many)
{
	const weir_req reqs[] = { { &sems[0], 1 }, { &sems[1], 3 },
				  { &sems[1], 2 } };
	weir_all all;

	begin(0, 4, 0);
	weir_all_init(&all, NULL, all_ran, &all);
	CHECK_ERR(weir_all_submit(&all, reqs, 3, NULL), WEIR_ETOOBIG);
	CHECK_ERR(weir_acquire_all(reqs, 3, NULL), WEIR_ETOOBIG);
	CHECK_EQ(waiters_of(&sems[0]), 0);
}

/* Memory that was never an operation: a panic, not an endless wait. */
TEST(cancel_of_uninitialised_operations)
{
	static const unsigned char fill[] = { 0x01, 0x02, 0x5a, 0xa5, 0xff };
	weir_all all;
	weir_any any;

	for (size_t i = 0; i < sizeof(fill); i++) {
		memset(&all, fill[i], sizeof(all));
		CHECK_PANICS("weir_all_cancel: operation",
			     CHECK_ERR(weir_all_cancel(&all), WEIR_EINVAL));
		memset(&any, fill[i], sizeof(any));
		CHECK_PANICS("weir_any_cancel: operation",
			     CHECK_ERR(weir_any_cancel(&any), WEIR_EINVAL));
	}
	memset(&all, 0, sizeof(all));
	CHECK_ERR(weir_all_cancel(&all), WEIR_EBUSY);
	memset(&any, 0, sizeof(any));
	CHECK_ERR(weir_any_cancel(&any), WEIR_EBUSY);
}
