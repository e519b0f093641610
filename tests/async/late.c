/* SPDX-License-Identifier: MIT */
/*
 * Operations whose deadline passes and that are not polled or dispatched: they
 * must not hold up the waiters behind them (C7).
 */
#include "calls.h"
#include "../unit/job.h"
#include "soon.h"
#include "weir/multi.h"

/* Time for a thread to queue behind an operation. */
#define SOON_NS 100000000

static weir_sem sem;
static weir_op head, next;
static weir_ctx ctx;

/* Submit `head`, which wants both permits; ctx has its deadline. */
static weir_err submit_head(bool in_ctx, int64_t deadline_ns)
{
	weir_err err;

	CHECK_OK(weir_ctx_init(&ctx, NULL, deadline_ns));
	weir_op_init(&head, NULL, NULL, NULL);
	err = in_ctx ? weir_op_submit(&head, &sem, 2, &ctx) :
		       weir_op_submit_until(&head, &sem, 2, deadline_ns);
	if (err != WEIR_EQUEUED)
		CHECK_OK(weir_ctx_destroy(&ctx));
	return err;
}

/* One of two permits is free; `head` wants both, until its deadline. */
static void one_free(bool in_ctx)
{
	CHECK_OK(weir_sem_init(&sem, 2));
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	QUEUE_WITHIN(SOON_NS, submit_head(in_ctx, soon));
}

/* Not queue_up: the head may be late, and j granted, before that returns. */
static void start_behind(job *j)
{
	*j = (job){ .sem = &sem, .n = 1, .max = -1 };
	job_start(j);
}

static void head_was_late(void)
{
	CHECK_ERR(weir_op_poll(&head), WEIR_ETIMEDOUT);
	CHECK_OK(weir_ctx_destroy(&ctx));
	CHECK_IDENTITY(&sem);
	CHECK_EQ(waiters_of(&sem), 0);
}

/*
 * C7: the deadline of the head passes, the head is not polled, and no other
 * call is made: the thread behind it is granted the free permit.
 */
static void thread_behind(bool in_ctx)
{
	job behind;

	one_free(in_ctx);
	start_behind(&behind);
	CHECK_OK(job_end(&behind));
	head_was_late();
}

TEST(c7_thread_behind_a_late_operation)
{
	thread_behind(true);
	thread_behind(false);
}

/* C7: the operation becomes the head after the thread was queued. */
TEST(c7_thread_behind_a_new_head)
{
	weir_op first;
	job behind;

	CHECK_OK(weir_sem_init(&sem, 2));
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	weir_op_init(&first, NULL, NULL, NULL);
	CHECK_ERR(weir_op_submit(&first, &sem, 2, NULL), WEIR_EQUEUED);
	QUEUE_WITHIN(SOON_NS, submit_head(true, soon));
	start_behind(&behind);
	CHECK_OK(weir_op_cancel(&first));
	CHECK_OK(job_end(&behind));
	head_was_late();
}

/* C7: two heads in a row are late; the deadline of the second comes later. */
TEST(c7_thread_behind_two_late_operations)
{
	job behind;

	one_free(true);
	weir_op_init(&next, NULL, NULL, NULL);
	QUEUE_WITHIN(SOON_NS, weir_op_submit_until(&next, &sem, 2,
						   soon + 10000000));
	start_behind(&behind);
	CHECK_OK(job_end(&behind));
	CHECK_ERR(weir_op_poll(&next), WEIR_ETIMEDOUT);
	head_was_late();
}

/* C7: the permits become free after the thread was queued, by a cancel. */
TEST(c7_thread_behind_a_late_operation_gets_a_returned_permit)
{
	weir_op granted;
	job behind;

	CHECK_OK(weir_sem_init(&sem, 2));
	CHECK_OK(weir_sem_acquire(&sem, 2, NULL));
	weir_op_init(&granted, NULL, NULL, NULL);
	CHECK_ERR(weir_op_submit(&granted, &sem, 1, NULL), WEIR_EQUEUED);
	weir_sem_release(&sem, 1);
	QUEUE_WITHIN(SOON_NS, submit_head(true, soon));
	start_behind(&behind);
	/* Not waiters_of, which may evict the head. */
	AWAIT(weir_now_ns() >= weir_ctx_deadline(&ctx) ||
	      __atomic_load_n(&sem.waiters_, __ATOMIC_ACQUIRE) == 2);
	CHECK_OK(weir_op_cancel(&granted));
	CHECK_OK(job_end(&behind));
	head_was_late();
}

/* C7: a new acquire evicts the head. */
TEST(c7_newcomer_meets_a_late_operation)
{
	one_free(true);
	AWAIT(weir_now_ns() >= weir_ctx_deadline(&ctx));
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	head_was_late();
}

/*
 * Queue n operations that want `each` permits behind the head, before its
 * deadline.  If the deadline passed before, retry with more time.
 */
static void queue_behind(bool in_ctx, weir_op *ops, int n, int64_t each)
{
	for (int64_t ns = 1000000;; ns *= 2) {
		int queued = 0;

		CHECK_OK(weir_sem_init(&sem, 2));
		CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
		if (submit_head(in_ctx, weir_deadline_after(ns)) != WEIR_EQUEUED)
			continue;
		for (int i = 0; i < n; i++) {
			weir_op_init(&ops[i], NULL, NULL, NULL);
			queued += weir_op_submit(&ops[i], &sem, each, NULL) ==
				  WEIR_EQUEUED;
		}
		if (weir_now_ns() < weir_ctx_deadline(&ctx)) {
			CHECK_EQ(queued, n);
			return;
		}
		(void)!weir_op_cancel(&head);
		for (int i = 0; i < n; i++)
			(void)!weir_op_cancel(&ops[i]);
		CHECK_OK(weir_ctx_destroy(&ctx));
	}
}

/* The deadline of the head passes, then both permits are free. */
static void released_late(bool in_ctx)
{
	queue_behind(in_ctx, &next, 1, 2);
	AWAIT(weir_now_ns() >= weir_ctx_deadline(&ctx));
	weir_sem_release(&sem, 1);
}

/* C13: the end of a context wins, so the permits go to the next operation. */
TEST(c13_late_operation_is_not_granted)
{
	released_late(true);
	CHECK_OK(weir_op_poll(&next));
	head_was_late();
}

static weir_err submit_next(int64_t deadline_ns)
{
	weir_err err;

	CHECK_OK(weir_ctx_init(&ctx, NULL, deadline_ns));
	weir_op_init(&next, NULL, NULL, NULL);
	err = weir_op_submit(&next, &sem, 1, &ctx);
	if (err != WEIR_EQUEUED)
		CHECK_OK(weir_ctx_destroy(&ctx));
	return err;
}

/*
 * C13, C19: nor by a drain close, although the free permit is enough for it.
 * The permit goes to the operation behind it.
 */
TEST(c19_late_operation_is_not_granted_by_a_close)
{
	weir_op last;

	CHECK_OK(weir_sem_init(&sem, 2));
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	weir_op_init(&head, NULL, NULL, NULL);
	CHECK_ERR(weir_op_submit(&head, &sem, 2, NULL), WEIR_EQUEUED);
	QUEUE_WITHIN(1000000, submit_next(soon));
	weir_op_init(&last, NULL, NULL, NULL);
	CHECK_ERR(weir_op_submit(&last, &sem, 1, NULL), WEIR_EQUEUED);
	AWAIT(weir_now_ns() >= weir_ctx_deadline(&ctx));
	weir_sem_close(&sem, WEIR_CLOSE_DRAIN);
	CHECK_OK(weir_op_poll(&last));
	CHECK_ERR(weir_op_poll(&next), WEIR_ETIMEDOUT);
	CHECK_ERR(weir_op_poll(&head), WEIR_ECLOSED);
	CHECK_EQ(weir_sem_available(&sem), 0);
	CHECK_EQ(stat_of(&sem).held, 2);
	CHECK_EQ(waiters_of(&sem), 0);
	CHECK_OK(weir_ctx_destroy(&ctx));
}

/* C14: a grant wins over a plain deadline. */
TEST(c14_late_operation_is_granted)
{
	released_late(false);
	CHECK_OK(weir_op_poll(&head));
	CHECK_ERR(weir_op_poll(&next), WEIR_EQUEUED);
	weir_sem_release(&sem, 2);
	CHECK_OK(weir_op_poll(&next));
}

/* C7: an operation on a loop that is not dispatched. */
TEST(c7_thread_behind_an_operation_on_a_loop)
{
	weir_loop loop;
	struct call late;
	job behind;

	calls_from_zero();
	CHECK_OK(weir_loop_init(&loop));
	CHECK_OK(weir_sem_init(&sem, 2));
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	call_init(&late, &loop);
	QUEUE_WITHIN(SOON_NS, weir_op_submit_until(&late.op, &sem, 2, soon));
	start_behind(&behind);
	CHECK_OK(job_end(&behind));
	CHECK_EQ(late.ran, 0);
	CHECK_EQ(weir_loop_dispatch(&loop), 1);
	CALL_WAS(&late, WEIR_ETIMEDOUT);
	CHECK_EQ(weir_loop_dispatch(&loop), 0);
	CHECK_OK(weir_loop_destroy(&loop));
	CHECK_IDENTITY(&sem);
}

static int any_ran;
static weir_err any_result;

static void any_over(weir_any *any, weir_err err, size_t which, void *user)
{
	(void)any;
	(void)which;
	(void)user;
	any_ran++;
	any_result = err;
}

/* A request for two permits of `sem` or one of `other`, on a loop. */
static weir_sem other;
static weir_loop any_loop;
static weir_op places[2];
static weir_any any;

static weir_err submit_any(int64_t deadline_ns)
{
	const weir_req reqs[] = { { &sem, 2 }, { &other, 1 } };
	weir_err err;
	size_t which;

	CHECK_OK(weir_ctx_init(&ctx, NULL, deadline_ns));
	err = weir_any_submit(&any, reqs, places, 2, &ctx, &which);
	if (err != WEIR_EQUEUED)
		CHECK_OK(weir_ctx_destroy(&ctx));
	return err;
}

/* Queue the request while `held` of the two permits of `sem` are held. */
static void begin_any(int64_t held)
{
	any_ran = 0;
	CHECK_OK(weir_loop_init(&any_loop));
	CHECK_OK(weir_sem_init(&sem, 2));
	CHECK_OK(weir_sem_init(&other, 1));
	CHECK_OK(weir_sem_acquire(&sem, held, NULL));
	CHECK_OK(weir_sem_acquire(&other, 1, NULL));
	weir_any_init(&any, &any_loop, any_over, NULL);
	QUEUE_WITHIN(SOON_NS, submit_any(soon));
}

/* The request is late: a permit of `other` that is released now stays free. */
static void end_any(void)
{
	CHECK_EQ(any_ran, 0);
	weir_sem_release(&other, 1);
	CHECK_EQ(weir_loop_dispatch(&any_loop), 1);
	CHECK_EQ(any_ran, 1);
	CHECK_ERR(any_result, WEIR_ETIMEDOUT);
	CHECK_EQ(weir_sem_available(&other), 1);
	CHECK_OK(weir_ctx_destroy(&ctx));
	CHECK_OK(weir_loop_destroy(&any_loop));
	CHECK_IDENTITY(&sem);
	CHECK_OK(weir_sem_destroy(&other));
}

/* C7: an any-of request on a loop that is not dispatched. */
TEST(c7_thread_behind_a_member_of_an_any_of_request)
{
	job behind;

	begin_any(1);
	start_behind(&behind);
	CHECK_OK(job_end(&behind));
	end_any();
}

/* C13: a member that fits is not granted after the deadline; the next waiter is. */
TEST(c13_late_member_of_an_any_of_request_is_not_granted)
{
	begin_any(2);
	weir_op_init(&next, NULL, NULL, NULL);
	CHECK_ERR(weir_op_submit(&next, &sem, 1, NULL), WEIR_EQUEUED);
	AWAIT(weir_now_ns() >= weir_ctx_deadline(&ctx));
	weir_sem_release(&sem, 2);
	CHECK_OK(weir_op_poll(&next));
	CHECK_EQ(weir_sem_available(&sem), 1);
	end_any();
}

/*
 * C7: the new head has an earlier deadline than the one before it.  The thread
 * behind both waits for the earlier one.
 */
TEST(c7_thread_behind_an_earlier_deadline)
{
	weir_op first;
	job behind;

	CHECK_OK(weir_sem_init(&sem, 2));
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	weir_op_init(&first, NULL, NULL, NULL);
	CHECK_ERR(weir_op_submit_until(&first, &sem, 2, WEIR_FOREVER - 1),
		  WEIR_EQUEUED);
	QUEUE_WITHIN(SOON_NS, submit_head(true, soon));
	start_behind(&behind);
	AWAIT(waiters_of(&sem) == 3);
	CHECK_OK(weir_op_cancel(&first));
	CHECK_OK(job_end(&behind));
	head_was_late();
}

/*
 * Many operations are queued behind a head with a deadline, and a thread behind
 * them.  The search for that thread is limited; a later call evicts the head.
 */
TEST(c7_many_operations_behind_a_late_one)
{
	enum { MANY = 70 };
	static weir_op ops[MANY];
	job behind;

	queue_behind(true, ops, MANY, 1);
	start_behind(&behind);
	AWAIT(weir_now_ns() >= weir_ctx_deadline(&ctx));
	CHECK_ERR(weir_sem_acquire_for(&sem, 1, 0), WEIR_ETIMEDOUT);
	/* The thread may make grants, too, while it joins the queue. */
	for (int i = 0; i < MANY; i++) {
		AWAIT(weir_op_poll(&ops[i]) == WEIR_OK);
		weir_sem_release(&sem, 1);
	}
	CHECK_OK(job_end(&behind));
	head_was_late();
}
