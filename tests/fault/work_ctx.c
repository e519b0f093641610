/* SPDX-License-Identifier: MIT */
/* Works: contexts. */
#include <errno.h>
#include <poll.h>

#include "core/sem_grant.h"
#include "core/sem_lock.h"
#include "work.h"

#define HOUR INT64_C(3600000000000)
#define MILLISECOND 1000000

/* C7, C13: the cancellation of the head grants to the next waiter. */
void work_cancel(void)
{
	weir_sem sem = WEIR_SEM_INIT(2);
	weir_ctx ctx = WEIR_CTX_INIT;
	struct job a = { .call = do_acquire, .sem = &sem, .n = 2, .ctx = &ctx };
	struct job b = a;
	struct job c = { .call = do_acquire, .sem = &sem, .n = 1 };

	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	job_queue(&a);
	job_queue(&b);
	job_queue(&c);
	CHECK_OK(run_ctx(do_cancel, &ctx));
	job_ends(&a, WEIR_ECANCELED);
	job_ends(&b, WEIR_ECANCELED);
	job_ends(&c, WEIR_OK);
	CHECK_ERR(run_ctx(do_ctx_err, &ctx), WEIR_ECANCELED);
	CHECK_OK(run_ctx(do_ctx_destroy, &ctx));
	CHECK_OK(run(do_release, &sem, 2));
	check_rest(&sem, 2);
	CHECK_OK(weir_sem_destroy(&sem));
}

/*
 * C13, C15: the deadline ends the context, its acquires and its waits, and all
 * return the same error.
 */
void work_ctx_deadline(void)
{
	weir_sem sem = WEIR_SEM_INIT(1);
	weir_ctx ctx;
	struct job a = { .call = do_acquire, .sem = &sem, .n = 1, .ctx = &ctx };
	struct job b = { .call = do_ctx_wait, .ctx = &ctx,
			 .deadline = WEIR_FOREVER };

	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	CHECK_OK(weir_ctx_init(&ctx, NULL, clock_now() + MILLISECOND));
	job_queue(&a);
	job_start(&b);
	job_ends(&a, WEIR_ETIMEDOUT);
	job_ends(&b, WEIR_ETIMEDOUT);
	CHECK_ERR(run_ctx(do_ctx_err, &ctx), WEIR_ETIMEDOUT);
	CHECK_ERR(b.err, WEIR_ETIMEDOUT);
	CHECK_OK(run_ctx(do_ctx_destroy, &ctx));
	CHECK_OK(run(do_release, &sem, 1));
	check_rest(&sem, 1);
	CHECK_OK(weir_sem_destroy(&sem));
}

/* C13: weir_ctx_wait returns when the context ends. */
void work_ctx_wait(void)
{
	weir_ctx ctx = WEIR_CTX_INIT;
	struct job a = { .call = do_ctx_wait, .ctx = &ctx,
			 .deadline = WEIR_FOREVER };
	struct job b = { .call = do_ctx_wait, .ctx = &ctx,
			 .deadline = clock_now() + HOUR };

	job_start(&a);
	job_start(&b);
	UNTIL(job_has_slept(&a) && job_has_slept(&b));
	CHECK_OK(run_ctx(do_cancel, &ctx));
	job_ends(&a, WEIR_ECANCELED);
	job_ends(&b, WEIR_ECANCELED);
	CHECK_OK(run_ctx(do_ctx_destroy, &ctx));
}

/* C15: the wait times out, not before its deadline. */
void work_ctx_wait_late(void)
{
	weir_ctx ctx = WEIR_CTX_INIT;
	struct job a = { .call = do_ctx_wait, .ctx = &ctx,
			 .deadline = clock_now() + MILLISECOND };

	job_start(&a);
	job_ends(&a, WEIR_EAGAIN);
	CHECK_OK(run_ctx(do_ctx_err, &ctx));
	CHECK_OK(run_ctx(do_ctx_destroy, &ctx));
}

static bool readable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) == 1 && (p.revents & POLLIN);
}

/*
 * A descriptor for ctx, obtained on a thread that faults affect.  If that
 * fails, the error is reported, and the next call succeeds.
 */
static int fd_of(weir_ctx *ctx)
{
	struct job get = { .call = do_ctx_fd, .ctx = ctx, .fd = -2 };
	int fd;

	job_start(&get);
	job_join(&get);
	if (get.err) {
		CHECK_ERR(get.err, WEIR_ESYSTEM);
		CHECK_EQ(get.fd, -1);
		CHECK(fault_now() && get.saved_errno == fault_now()->error);
	}
	CHECK_OK(weir_ctx_fd(ctx, &fd));
	CHECK(get.err || get.fd == fd);
	return fd;
}

/* Returns true if setting a timer may have failed, so that it never fires. */
static bool timers_may_not_fire(void)
{
	return fault_now() && fault_now()->place == AT_SETTIME;
}

/*
 * C13: three generations with deadlines and descriptors, cancelled at the root.
 */
void work_ctx_tree(void)
{
	weir_sem sem = WEIR_SEM_INIT(1);
	weir_ctx root = WEIR_CTX_INIT, mid, leaf;
	struct job init_mid = { .call = do_ctx_init, .ctx = &mid,
				.parent = &root,
				.deadline = clock_now() + HOUR };
	struct job init_leaf = { .call = do_ctx_init, .ctx = &leaf,
				 .parent = &mid,
				 .deadline = clock_now() + 2 * HOUR };
	struct job a = { .call = do_acquire, .sem = &sem, .n = 1,
			 .ctx = &leaf };
	struct job b = { .call = do_ctx_wait, .ctx = &mid,
			 .deadline = WEIR_FOREVER };
	int root_fd, mid_fd, leaf_fd;

	job_start(&init_mid);
	job_ends(&init_mid, WEIR_OK);
	job_start(&init_leaf);
	job_ends(&init_leaf, WEIR_OK);
	root_fd = fd_of(&root);
	mid_fd = fd_of(&mid);
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	job_queue(&a);
	job_start(&b);
	UNTIL(job_has_slept(&b));
	CHECK_OK(run_ctx(do_cancel, &root));
	CHECK(fault_is_sticky() || !fault_poll_is_owed());
	job_ends(&a, WEIR_ECANCELED);
	job_ends(&b, WEIR_ECANCELED);
	leaf_fd = fd_of(&leaf);
	if (!timers_may_not_fire()) {
		UNTIL(readable(root_fd));
		UNTIL(clock_is_changed() || readable(mid_fd));
		UNTIL(clock_is_changed() || readable(leaf_fd));
	}
	CHECK_ERR(run_ctx(do_ctx_destroy, &root), WEIR_EBUSY);
	CHECK_OK(run_ctx(do_ctx_destroy, &leaf));
	CHECK_OK(run_ctx(do_ctx_destroy, &mid));
	CHECK_OK(run_ctx(do_ctx_destroy, &root));
	CHECK_EQ(fault_live_descriptors(), 0);
	CHECK_OK(run(do_release, &sem, 1));
	check_rest(&sem, 1);
	CHECK_OK(weir_sem_destroy(&sem));
}

/*
 * C13, C22: a cancel holds the tree's lock and is delayed because another
 * thread holds the semaphore's lock.  Other calls wait for the tree's lock.
 */
void work_ctx_lock(void)
{
	weir_sem sem = WEIR_SEM_INIT(1);
	weir_ctx root = WEIR_CTX_INIT;
	struct job waiter = { .call = do_acquire, .sem = &sem, .n = 1,
			      .ctx = &root };
	struct job cancel = { .call = do_cancel, .ctx = &root };
	struct job a = { .call = do_ctx_come_and_go, .parent = &root };
	struct job b = a;

	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	job_queue(&waiter);
	CHECK_OK(weir_sem_lock_(&sem, "work_ctx_lock"));
	job_start(&cancel);
	UNTIL(job_has_slept(&cancel));
	job_start(&a);
	job_start(&b);
	UNTIL(job_has_slept(&a) && job_has_slept(&b));
	CHECK(!job_is_done(&a) && !job_is_done(&b));
	weir_sem_unlock_(&sem, 0);
	job_ends(&cancel, WEIR_OK);
	job_ends(&waiter, WEIR_ECANCELED);
	job_ends(&a, WEIR_OK);
	job_ends(&b, WEIR_OK);
	CHECK_OK(run_ctx(do_ctx_destroy, &root));
	CHECK_OK(run(do_release, &sem, 1));
	check_rest(&sem, 1);
	CHECK_OK(weir_sem_destroy(&sem));
}
