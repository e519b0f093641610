/* SPDX-License-Identifier: MIT */
/* Operations without a loop: C3, C26, C27, C35. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "calls.h"
#include "../unit/job.h"
#include "soon.h"

static weir_sem sem;

static void none_free(int64_t capacity)
{
	calls_from_zero();
	CHECK_OK(weir_sem_init_opts(&sem, &(weir_sem_opts){
		.capacity = capacity }));
}

_Static_assert(sizeof(weir_op) <= 128, "C26");

/* C35: a submit that does not queue runs no callback. */
TEST(c35_at_once)
{
	weir_ctx ended = WEIR_CTX_INIT;
	struct call a;

	calls_from_zero();
	CHECK_OK(weir_sem_init(&sem, 2));
	call_init(&a, NULL);
	CHECK_OK(weir_op_submit(&a.op, &sem, 2, NULL));
	CHECK_OK(weir_op_submit(&a.op, &sem, 0, NULL));
	CHECK_EQ(stat_of(&sem).held, 2);
	CHECK_EQ(stat_of(&sem).granted, 0);
	CHECK_ERR(weir_op_submit(&a.op, &sem, -1, NULL), WEIR_EINVAL);
	CHECK_ERR(weir_op_submit(NULL, &sem, 1, NULL), WEIR_EINVAL);
	CHECK_ERR(weir_op_submit(&a.op, NULL, 1, NULL), WEIR_EINVAL);
	CHECK_ERR(weir_op_submit(&a.op, &sem, 3, NULL), WEIR_ETOOBIG);
	weir_ctx_cancel(&ended);
	CHECK_ERR(weir_op_submit(&a.op, &sem, 0, &ended), WEIR_ECANCELED);
	weir_sem_close(&sem, WEIR_CLOSE_NOW);
	CHECK_ERR(weir_op_submit(&a.op, &sem, 1, NULL), WEIR_ECLOSED);
	CHECK_EQ(a.ran, 0);
	CHECK_IDENTITY(&sem);
	weir_sem_release(&sem, 2);
	CHECK_OK(weir_sem_destroy(&sem));
	CHECK_OK(weir_ctx_destroy(&ended));
}

/* C35, C6: the release grants and runs the callback without a lock. */
TEST(c35_granted_by_a_release)
{
	struct call a;

	none_free(2);
	call_queue(&a, NULL, &sem, 2, NULL);
	CHECK_EQ(waiters_of(&sem), 1);
	weir_sem_release(&sem, 1);
	CHECK_EQ(a.ran, 0);
	weir_sem_release(&sem, 1);
	CALL_WAS(&a, WEIR_OK);
	CHECK(pthread_equal(a.on, pthread_self()));
	CHECK_EQ(stat_of(&sem).held, 2);
	CHECK_EQ(stat_of(&sem).granted, 0);
	CHECK_ERR(weir_op_cancel(&a.op), WEIR_EBUSY);
}

/* C3, C4: threads and operations share one queue, granted in order. */
TEST(c3_one_queue)
{
	struct call a, c, d;
	job b;

	none_free(4);
	call_queue(&a, NULL, &sem, 2, NULL);
	queue_up(&b, &sem, 1, NULL);
	call_queue(&c, NULL, &sem, 1, NULL);
	call_queue(&d, NULL, &sem, 1, NULL);
	weir_sem_release(&sem, 1);
	CHECK_EQ(calls_ran, 0);
	CHECK_ERR(weir_sem_try_acquire(&sem, 1), WEIR_EAGAIN);
	weir_sem_release(&sem, 2);
	CALL_WAS(&a, WEIR_OK);
	CHECK_OK(job_end(&b));
	CHECK_EQ(c.ran, 0);
	weir_sem_release(&sem, 1);
	CALL_WAS(&c, WEIR_OK);
	CHECK_EQ(d.ran, 0);
	CHECK_OK(weir_sem_resize(&sem, 5, NULL));
	CALL_WAS(&d, WEIR_OK);
	CHECK_IDENTITY(&sem);
}

/* C35, C7: cancelled before the grant; the next waiter is granted. */
TEST(c35_cancel_prevents)
{
	struct call a, b;

	none_free(2);
	call_queue(&a, NULL, &sem, 2, NULL);
	call_queue(&b, NULL, &sem, 1, NULL);
	weir_sem_release(&sem, 1);
	CHECK_EQ(b.ran, 0);
	CHECK_OK(weir_op_cancel(&a.op));
	memset(&a, 0xa5, sizeof(a));
	CALL_WAS(&b, WEIR_OK);
	CHECK_EQ(waiters_of(&sem), 0);
	CHECK_IDENTITY(&sem);
}

/* C35: an operation can be submitted again after a cancel. */
TEST(c35_submitted_again)
{
	struct call a;

	none_free(1);
	call_queue(&a, NULL, &sem, 1, NULL);
	CHECK_PANICS("already submitted",
		     CHECK_ERR(weir_op_submit(&a.op, &sem, 1, NULL), WEIR_EINVAL));
	CHECK_OK(weir_op_cancel(&a.op));
	CHECK_ERR(weir_op_cancel(&a.op), WEIR_EBUSY);
	CHECK_ERR(weir_op_submit(&a.op, &sem, 1, NULL), WEIR_EQUEUED);
	weir_sem_release(&sem, 1);
	CALL_WAS(&a, WEIR_OK);
}

/* C19: a close refuses queued operations, in order. */
TEST(c19_closed)
{
	struct call a, b;

	none_free(2);
	call_queue(&a, NULL, &sem, 1, NULL);
	call_queue(&b, NULL, &sem, 2, NULL);
	weir_sem_close(&sem, WEIR_CLOSE_NOW);
	CALL_WAS(&a, WEIR_ECLOSED);
	CALL_WAS(&b, WEIR_ECLOSED);
	CHECK_EQ(a.turn, 0);
	CHECK_EQ(b.turn, 1);
	CHECK_IDENTITY(&sem);
}

/*
 * C11: an oversized operation with a context waits until the capacity grows; a
 * shrink refuses one without a context.
 */
TEST(c11_too_big)
{
	weir_ctx ctx = WEIR_CTX_INIT;
	struct call a, b;

	none_free(2);
	call_queue(&a, NULL, &sem, 3, &ctx);
	CHECK_EQ(oversized_of(&sem), 1);
	call_queue(&b, NULL, &sem, 2, NULL);
	CHECK_OK(weir_sem_resize(&sem, 1, NULL));
	CALL_WAS(&b, WEIR_ETOOBIG);
	CHECK_OK(weir_sem_resize(&sem, 5, NULL));
	CALL_WAS(&a, WEIR_OK);
	CHECK_OK(weir_ctx_destroy(&ctx));
}

/* C13: a cancel of the context ends operations; the next is granted. */
TEST(c13_ctx_ends)
{
	weir_ctx ctx = WEIR_CTX_INIT;
	struct call a, b;

	none_free(2);
	call_queue(&a, NULL, &sem, 2, &ctx);
	call_queue(&b, NULL, &sem, 1, NULL);
	weir_sem_release(&sem, 1);
	CHECK_ERR(weir_ctx_destroy(&ctx), WEIR_EBUSY);
	weir_ctx_cancel(&ctx);
	CALL_WAS(&a, WEIR_ECANCELED);
	CALL_WAS(&b, WEIR_OK);
	CHECK_OK(weir_ctx_destroy(&ctx));
	CHECK_IDENTITY(&sem);
}

/* C14: an operation with a callback but no loop cannot have a deadline. */
TEST(c14_deadlines_need_a_loop)
{
	struct call a;
	weir_ctx ctx;

	none_free(1);
	call_init(&a, NULL);
	CHECK_OK(weir_ctx_init(&ctx, NULL, weir_deadline_after(1)));
	CHECK_ERR(weir_op_submit_until(&a.op, &sem, 1, 1), WEIR_EINVAL);
	CHECK_ERR(weir_op_submit(&a.op, &sem, 1, &ctx), WEIR_EINVAL);
	CHECK_OK(weir_ctx_destroy(&ctx));
}

/* C31, C30: max_waiters; under barging an operation is granted directly. */
TEST(c30_c31_limits_and_barging)
{
	struct call a, b;

	calls_from_zero();
	CHECK_OK(weir_sem_init_opts(&sem, &(weir_sem_opts){ .capacity = 2,
		.max_waiters = 1, .policy = WEIR_BARGING }));
	call_queue(&a, NULL, &sem, 2, NULL);
	call_init(&b, NULL);
	CHECK_ERR(weir_op_submit(&b.op, &sem, 1, NULL), WEIR_EBUSY);
	weir_sem_release(&sem, 1);
	CHECK_ERR(weir_sem_try_acquire(&sem, 1), WEIR_EAGAIN);
	weir_sem_release(&sem, 1);
	CALL_WAS(&a, WEIR_OK);
	CHECK_IDENTITY(&sem);
}

/* C30: a woken head that does not run does not block an operation. */
TEST(c30_behind_a_woken_waiter)
{
	struct call a;
	job frozen;

	calls_from_zero();
	CHECK_OK(weir_sem_init_opts(&sem, &(weir_sem_opts){ .capacity = 3,
		.policy = WEIR_BARGING, .barge_us = WEIR_BARGE_US_MAX }));
	queue_up(&frozen, &sem, 1, NULL);
	CHECK(job_freeze(&frozen));
	weir_sem_release(&sem, 1);
	CHECK_EQ(stat_of(&sem).free, 1);
	call_queue(&a, NULL, &sem, 2, NULL);
	CHECK_EQ(stat_of(&sem).granted, 1);
	weir_sem_release(&sem, 2);
	CALL_WAS(&a, WEIR_OK);
	jobs_thaw();
	CHECK_OK(job_end(&frozen));
	CHECK_IDENTITY(&sem);
}

/*
 * C27: a callback may make every call.  The callbacks of operations that it
 * decides run after it, not inside it.
 */
static int depth;
static struct call second;

static void releases_inside(weir_op *op, weir_err err, void *user)
{
	CHECK_OK(err);
	CHECK(++depth == 1);
	CHECK_IDENTITY(&sem);
	weir_sem_release(&sem, 1);
	CHECK_EQ(second.ran, 0);
	/* Notified, and its callback has not run: counted as granted. */
	CHECK_EQ(stat_of(&sem).granted, 1);
	*(int *)user += 1;
	weir_op_init(op, NULL, call_ran, NULL);
	depth--;
}

TEST(c27_callbacks_do_not_nest)
{
	weir_op first;
	int ran = 0;

	none_free(1);
	weir_op_init(&first, NULL, releases_inside, &ran);
	CHECK_ERR(weir_op_submit(&first, &sem, 1, NULL), WEIR_EQUEUED);
	call_queue(&second, NULL, &sem, 1, NULL);
	weir_sem_release(&sem, 1);
	CHECK_EQ(ran, 1);
	CALL_WAS(&second, WEIR_OK);
	CHECK_EQ(stat_of(&sem).granted, 0);
}

/* C35: a callback cancels another operation that has been granted. */
static struct call victim, next_waiter;

static void cancels_granted(weir_op *op, weir_err err, void *user)
{
	(void)op;
	(void)user;
	CHECK_OK(err);
	weir_sem_release(&sem, 1);
	CHECK_EQ(stat_of(&sem).granted, 1);
	CHECK_OK(weir_op_cancel(&victim.op));
	memset(&victim.op, 0xa5, sizeof(victim.op));
	CHECK_EQ(next_waiter.ran, 0);
}

TEST(c35_cancelled_after_grant)
{
	weir_op first;

	none_free(1);
	weir_op_init(&first, NULL, cancels_granted, NULL);
	CHECK_ERR(weir_op_submit(&first, &sem, 1, NULL), WEIR_EQUEUED);
	call_queue(&victim, NULL, &sem, 1, NULL);
	call_queue(&next_waiter, NULL, &sem, 1, NULL);
	weir_sem_release(&sem, 1);
	CHECK_EQ(victim.ran, 0);
	CALL_WAS(&next_waiter, WEIR_OK);
	CHECK_EQ(stat_of(&sem).held, 1);
	CHECK_IDENTITY(&sem);
}

/* C27: a million callbacks that release and submit again, on one stack. */
#define CHAIN 1000000
static int chained;
static uintptr_t low, high;

static void chain(weir_op *op, weir_err err, void *user)
{
	weir_err again;
	/* Not the address of a variable: a sanitizer may move variables. */
	uintptr_t at = (uintptr_t)__builtin_frame_address(0);

	CHECK_OK(err);
	CHECK(++depth == 1);
	low = !low || at < low ? at : low;
	high = at > high ? at : high;
	if (++chained < CHAIN) {
		/* Queued behind the other operation, which holds the permit. */
		again = weir_op_submit(op, &sem, 1, NULL);
		CHECK_ERR(again, WEIR_EQUEUED);
	}
	depth--;
	weir_sem_release(&sem, 1);
	(void)user;
}

TEST(c27_constant_stack)
{
	weir_op a, b;

	none_free(1);
	weir_op_init(&a, NULL, chain, NULL);
	weir_op_init(&b, NULL, chain, NULL);
	CHECK_ERR(weir_op_submit(&a, &sem, 1, NULL), WEIR_EQUEUED);
	CHECK_ERR(weir_op_submit(&b, &sem, 1, NULL), WEIR_EQUEUED);
	weir_sem_release(&sem, 1);
	CHECK(chained >= CHAIN);
	CHECK_EQ(high - low, 0);
	CHECK_EQ(weir_sem_available(&sem), 1);
}

/* C35, row 18: a callback frees its own operation. */
static void frees(weir_op *op, weir_err err, void *user)
{
	CHECK_OK(err);
	*(int *)user += 1;
	free(op);
}

TEST(c35_freed_by_its_callback)
{
	int ran = 0;

	none_free(3);
	for (int i = 0; i < 3; i++) {
		weir_op *op = malloc(sizeof(*op));

		CHECK(op);
		weir_op_init(op, NULL, frees, &ran);
		CHECK_ERR(weir_op_submit(op, &sem, 1, NULL), WEIR_EQUEUED);
	}
	weir_sem_release(&sem, 3);
	CHECK_EQ(ran, 3);
}

/*
 * C22: a callback may destroy the semaphore while the release that runs it has
 * not returned.
 */
static void destroys(weir_op *op, weir_err err, void *user)
{
	weir_sem *own = user;

	(void)op;
	CHECK_OK(err);
	CHECK_OK(weir_sem_destroy(own));
	memset(own, 0xa5, sizeof(*own));
	free(own);
}

TEST(c22_destroyed_by_the_callback)
{
	weir_sem *own = malloc(sizeof(*own));
	weir_op op;

	CHECK(own);
	CHECK_OK(weir_sem_init_opts(own, &(weir_sem_opts){ .capacity = 1 }));
	weir_op_init(&op, NULL, destroys, own);
	CHECK_ERR(weir_op_submit(&op, own, 1, NULL), WEIR_EQUEUED);
	CHECK_ERR(weir_sem_destroy(own), WEIR_EBUSY);
	weir_sem_release(own, 1);
}

/* C35, C14: a polled operation; poll checks its deadline. */
TEST(c35_polled)
{
	weir_ctx ctx = WEIR_CTX_INIT;
	weir_op op;

	none_free(2);
	weir_op_init(&op, NULL, NULL, NULL);
	CHECK_ERR(weir_op_poll(&op), WEIR_EINVAL);
	CHECK_ERR(weir_op_submit(&op, &sem, 1, NULL), WEIR_EQUEUED);
	CHECK_ERR(weir_op_poll(&op), WEIR_EQUEUED);
	weir_sem_release(&sem, 1);
	CHECK_EQ(stat_of(&sem).granted, 1);
	CHECK_OK(weir_op_poll(&op));
	CHECK_EQ(stat_of(&sem).granted, 0);
	CHECK_ERR(weir_op_poll(&op), WEIR_EINVAL);
	/* Cancelled after the grant. */
	CHECK_ERR(weir_op_submit(&op, &sem, 1, NULL), WEIR_EQUEUED);
	weir_sem_release(&sem, 1);
	CHECK_OK(weir_op_cancel(&op));
	CHECK_EQ(weir_sem_available(&sem), 1);
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	/* Its context is cancelled; then deadlines. */
	CHECK_ERR(weir_op_submit(&op, &sem, 1, &ctx), WEIR_EQUEUED);
	weir_ctx_cancel(&ctx);
	CHECK_ERR(weir_op_poll(&op), WEIR_ECANCELED);
	CHECK_OK(weir_ctx_destroy(&ctx));
	QUEUE_SOON(weir_op_submit_until(&op, &sem, 1, soon));
	AWAIT(weir_op_poll(&op) == WEIR_ETIMEDOUT);
	CHECK_ERR(weir_op_submit_until(&op, &sem, 1, 1), WEIR_ETIMEDOUT);
	CHECK_EQ(waiters_of(&sem), 0);
	CHECK_IDENTITY(&sem);
}

/*
 * The memory of the oldest waiter was reset: a panic, and the queue is not followed
 * to a null pointer.
 */
static void detect_initialised_again(weir_op *op, int64_t n, weir_ctx *ctx)
{
	static const char words[] = "was initialised again while it was submitted";
	weir_sem_waiter list[1];
	size_t listed;

	CHECK_ERR(weir_op_submit(op, &sem, n, ctx), WEIR_EQUEUED);
	weir_op_init(op, NULL, NULL, NULL);
	CHECK_PANICS(words, weir_sem_release(&sem, 1));
	CHECK_EQ(weir_sem_available(&sem), 0);
	CHECK_ERR(weir_sem_try_release(&sem, 1), WEIR_EINVAL);
	CHECK_PANICS(words, CHECK_ERR(weir_op_submit(op, &sem, 1, NULL),
				      WEIR_EINVAL));
	CHECK_PANICS(words, CHECK_ERR(weir_sem_acquire(&sem, 1, NULL),
				      WEIR_EINVAL));
	CHECK_PANICS(words, CHECK_ERR(weir_sem_resize(&sem, 5, NULL),
				      WEIR_EINVAL));
	CHECK_PANICS(words, CHECK_ERR(weir_sem_waiters(&sem, list, 1, &listed),
				      WEIR_EINVAL));
	CHECK_PANICS(words, CHECK_ERR(weir_sem_destroy(&sem), WEIR_EINVAL));
}

TEST(initialised_again_while_queued)
{
	char words[64];
	weir_op op, next;

	none_free(1);
	weir_op_init(&op, NULL, NULL, NULL);
	detect_initialised_again(&op, 1, NULL);
	/* The message names the operation. */
	(void)snprintf(words, sizeof(words), "operation %p,", (void *)&op);
	CHECK_PANICS(words, weir_sem_release(&sem, 1));
	/* Also if another operation waits behind it. */
	none_free(1);
	CHECK_ERR(weir_op_submit(&op, &sem, 1, NULL), WEIR_EQUEUED);
	weir_op_init(&next, NULL, NULL, NULL);
	CHECK_ERR(weir_op_submit(&next, &sem, 1, NULL), WEIR_EQUEUED);
	weir_op_init(&op, NULL, NULL, NULL);
	CHECK_PANICS("weir_op_cancel: semaphore",
		     CHECK_ERR(weir_op_cancel(&next), WEIR_EINVAL));
}

TEST(initialised_again_while_oversized)
{
	weir_ctx ctx = WEIR_CTX_INIT;
	weir_op op;

	none_free(1);
	weir_op_init(&op, NULL, NULL, NULL);
	detect_initialised_again(&op, 2, &ctx);
}

/* The child of a fork names the same cause. */
TEST(initialised_again_in_the_child_of_a_fork)
{
	pid_t child = fork();
	weir_op op;
	int status;

	if (!child) {
		none_free(1);
		weir_op_init(&op, NULL, NULL, NULL);
		detect_initialised_again(&op, 1, NULL);
		_exit(0);
	}
	CHECK(child > 0 && waitpid(child, &status, 0) == child);
	CHECK_EQ(status, 0);
}

/* Memory that was never an operation: a panic, not an endless wait. */
TEST(cancel_of_an_uninitialised_operation)
{
	static const unsigned char fill[] = { 0x01, 0x02, 0x5a, 0xa5, 0xff };
	weir_op op;

	for (size_t i = 0; i < sizeof(fill); i++) {
		memset(&op, fill[i], sizeof(op));
		CHECK_PANICS("weir_op_cancel: operation",
			     CHECK_ERR(weir_op_cancel(&op), WEIR_EINVAL));
	}
	memset(&op, 0, sizeof(op));
	CHECK_ERR(weir_op_cancel(&op), WEIR_EBUSY);
}
