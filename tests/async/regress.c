/* SPDX-License-Identifier: MIT */
/*
 * The bugs of tests/regress that occurred with callbacks, wakers or futures,
 * tested with operations instead of threads.
 */
#include <stdlib.h>

#include "calls.h"

static weir_sem sem;

static void none_free(int64_t capacity)
{
	calls_from_zero();
	CHECK_OK(weir_sem_init_opts(&sem, &(weir_sem_opts){
		.capacity = capacity }));
}

/* kotlinx PR #1323: a cancel of an ungranted waiter wakes no other (C7). */
TEST(kotlinx_1323_c7_cancel_wakes_no_other)
{
	struct call a, b, c;

	none_free(3);
	call_queue(&a, NULL, &sem, 2, NULL);
	call_queue(&b, NULL, &sem, 1, NULL);
	call_queue(&c, NULL, &sem, 1, NULL);
	weir_sem_release(&sem, 1);
	CHECK_OK(weir_op_cancel(&b.op));
	CHECK_EQ(a.ran + c.ran, 0);
	CHECK_EQ(weir_sem_available(&sem), 1);
	weir_sem_release(&sem, 1);
	CALL_WAS(&a, WEIR_OK);
	CHECK_EQ(c.ran, 0);
}

/* tokio PR #904: dropped while queued, before a grant (C35). */
TEST(tokio_904_c35_dropped_after_queueing)
{
	struct call *a = malloc(sizeof(*a)), b;

	CHECK(a);
	none_free(1);
	call_queue(a, NULL, &sem, 1, NULL);
	call_queue(&b, NULL, &sem, 1, NULL);
	CHECK_OK(weir_op_cancel(&a->op));
	free(a);
	weir_sem_release(&sem, 1);
	CALL_WAS(&b, WEIR_OK);
}

/* tokio PR #2340: callbacks free nodes of the list being notified (C35). */
static void frees_all(weir_op *op, weir_err err, void *user)
{
	(void)err;
	calls_ran++;
	(void)user;
	free(op);
}

TEST(tokio_2340_c35_freed_on_the_wake_list)
{
	none_free(8);
	for (int i = 0; i < 8; i++) {
		weir_op *op = malloc(sizeof(*op));

		CHECK(op);
		weir_op_init(op, NULL, frees_all, NULL);
		CHECK_ERR(weir_op_submit(op, &sem, 1, NULL), WEIR_EQUEUED);
	}
	weir_sem_release(&sem, 4);
	weir_sem_close(&sem, WEIR_CLOSE_NOW);
	CHECK_EQ(calls_ran, 8);
}

/*
 * tokio#5429, vs-threading#1000: a callback that is run by a release, a close
 * or a cancel of a context makes calls that take the same locks (C27).
 */
static weir_ctx tree;

static void uses_everything(weir_op *op, weir_err err, void *user)
{
	weir_ctx child;
	int64_t got;

	(void)op;
	(void)err;
	(void)user;
	calls_ran++;
	CHECK_IDENTITY(&sem);
	CHECK_OK(weir_ctx_init(&child, &tree, WEIR_FOREVER));
	weir_ctx_cancel(&child);
	weir_ctx_cancel(&tree);
	CHECK_OK(weir_ctx_destroy(&child));
	CHECK_OK(weir_sem_resize(&sem, 9, NULL));
	got = weir_sem_available(&sem);
	if (!weir_sem_try_acquire(&sem, 1))
		weir_sem_release(&sem, 1);
	CHECK_EQ(weir_sem_available(&sem), got);
}

TEST(tokio_5429_c27_callback_under_lock)
{
	weir_op op;

	for (int way = 0; way < 3; way++) {
		none_free(2);
		tree = (weir_ctx)WEIR_CTX_INIT;
		weir_op_init(&op, NULL, uses_everything, NULL);
		CHECK_ERR(weir_op_submit(&op, &sem, 2, &tree), WEIR_EQUEUED);
		if (way == 0)
			weir_sem_release(&sem, 2);
		else if (way == 1)
			weir_sem_close(&sem, WEIR_CLOSE_NOW);
		else
			weir_ctx_cancel(&tree);
		CHECK_EQ(calls_ran, 1);
		CHECK_OK(weir_ctx_destroy(&tree));
	}
}

/* shuttle PR #167: granted, never run, dropped: the next is granted (C35). */
TEST(shuttle_167_c35_granted_never_run)
{
	struct call a, b;
	weir_loop loop;

	none_free(1);
	CHECK_OK(weir_loop_init(&loop));
	call_queue(&a, &loop, &sem, 1, NULL);
	call_queue(&b, &loop, &sem, 1, NULL);
	weir_sem_release(&sem, 1);
	CHECK_OK(weir_op_cancel(&a.op));
	CHECK_EQ(weir_loop_dispatch(&loop), 1);
	CALL_WAS(&b, WEIR_OK);
	CHECK_OK(weir_loop_destroy(&loop));
}

/* heph PR #236: stat shows a stalled loop: permits granted, not held. */
TEST(heph_236_a_stalled_loop_shows)
{
	struct call a;
	weir_loop loop;

	none_free(3);
	CHECK_OK(weir_loop_init(&loop));
	call_queue(&a, &loop, &sem, 3, NULL);
	weir_sem_release(&sem, 3);
	CHECK_EQ(stat_of(&sem).granted, 3);
	CHECK_EQ(stat_of(&sem).held, 0);
	CHECK_EQ(stat_of(&sem).waiters, 0);
	CHECK_EQ(weir_loop_dispatch(&loop), 1);
	CHECK_EQ(stat_of(&sem).granted, 0);
	CHECK_EQ(stat_of(&sem).held, 3);
	CHECK_OK(weir_loop_destroy(&loop));
}

/* dotnet PR #34036: with a loop, a cancel runs no callback (C27). */
TEST(dotnet_34036_c27_cancel_runs_no_callback)
{
	weir_ctx ctx = WEIR_CTX_INIT;
	struct call a, b;
	weir_loop loop;

	none_free(2);
	CHECK_OK(weir_loop_init(&loop));
	call_queue(&a, &loop, &sem, 2, &ctx);
	call_queue(&b, &loop, &sem, 1, NULL);
	weir_sem_release(&sem, 1);
	weir_ctx_cancel(&ctx);
	CHECK_EQ(calls_ran, 0);
	CHECK_EQ(weir_loop_dispatch(&loop), 2);
	CALL_WAS(&a, WEIR_ECANCELED);
	CALL_WAS(&b, WEIR_OK);
	CHECK_OK(weir_ctx_destroy(&ctx));
	CHECK_OK(weir_loop_destroy(&loop));
}

/* dotnet #59639: a close right after a cancel ends all waiters (C19). */
TEST(dotnet_59639_c19_closed_after_a_cancel)
{
	weir_ctx ctx = WEIR_CTX_INIT;
	struct call a, b, c;

	none_free(1);
	call_queue(&a, NULL, &sem, 1, NULL);
	call_queue(&b, NULL, &sem, 1, &ctx);
	call_queue(&c, NULL, &sem, 1, NULL);
	CHECK_OK(weir_op_cancel(&a.op));
	weir_ctx_cancel(&ctx);
	weir_sem_close(&sem, WEIR_CLOSE_NOW);
	CHECK_EQ(a.ran, 0);
	CALL_WAS(&b, WEIR_ECANCELED);
	CALL_WAS(&c, WEIR_ECLOSED);
	CHECK_OK(weir_ctx_destroy(&ctx));
}

/* coreclr PR #13766: releases before earlier callbacks have run (C6). */
TEST(coreclr_13766_c6_each_permit_grants_one)
{
	struct call c[6];
	weir_loop loop;

	none_free(6);
	CHECK_OK(weir_loop_init(&loop));
	for (int i = 0; i < 6; i++)
		call_queue(&c[i], &loop, &sem, 1, NULL);
	for (int i = 0; i < 5; i++)
		weir_sem_release(&sem, 1);
	CHECK_EQ(weir_loop_dispatch(&loop), 5);
	CHECK_EQ(c[5].ran, 0);
	CHECK_OK(weir_op_cancel(&c[5].op));
	CHECK_OK(weir_loop_destroy(&loop));
}
