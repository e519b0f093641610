/* SPDX-License-Identifier: MIT */
/* A weir_loop in io_uring: cases that the example does not cover. */
#include <stdio.h>
#include <stdlib.h>

#include "calls.h"
#include "weir/loop/uring.h"

/* The linker wraps io_uring_submit: the next call fails with this error. */
static int submit_error;

int __real_io_uring_submit(struct io_uring *ring);
int __wrap_io_uring_submit(struct io_uring *ring);

int __wrap_io_uring_submit(struct io_uring *ring)
{
	int err = submit_error;

	submit_error = 0;
	return err ? err : __real_io_uring_submit(ring);
}

static int without_uring(void)
{
	printf("skipped: async-uring: needs io_uring\n");
	return CHECK_SKIPPED;
}

/*
 * C35: the deadline of an operation is kept although another completion is
 * always ready.
 */
TEST(deadline_among_other_completions)
{
	struct io_uring_cqe *cqe;
	struct io_uring ring;
	weir_loop loop;
	weir_sem sem;
	struct call c;
	bool queued = false;

	/* No io_uring on this machine: 77 means skipped to meson. */
	if (io_uring_queue_init(8, &ring, 0))
		exit(without_uring());
	CHECK_OK(weir_sem_init_opts(&sem, &(weir_sem_opts){ .capacity = 1 }));
	CHECK_OK(weir_loop_init(&loop));
	/*
	 * The loop has reported the deadline; its descriptor is cleared.  If
	 * the deadline passed before that, retry with more time.
	 */
	for (int64_t ns = 10000000; !queued; ns *= 2) {
		call_init(&c, &loop);
		queued = weir_op_submit_until(&c.op, &sem, 1,
					      weir_deadline_after(ns)) ==
			 WEIR_EQUEUED;
		(void)weir_loop_dispatch(&loop);
		queued = queued && !c.ran;
	}
	CHECK_EQ(weir_loop_uring_arm(&ring, &loop), 0);
	AWAIT(weir_loop_timeout_ms(&loop) == 0);
	for (int i = 0; i < 3; i++) {
		struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);

		io_uring_prep_nop(sqe);
		io_uring_sqe_set_data(sqe, &c);
		CHECK_EQ(io_uring_submit(&ring), 1);
		if (weir_loop_uring_wait(&ring, &loop, &cqe) == 0)
			io_uring_cqe_seen(&ring, cqe);
	}
	CALL_WAS(&c, WEIR_ETIMEDOUT);
	io_uring_queue_exit(&ring);
	CHECK_OK(weir_loop_destroy(&loop));
}

/*
 * The poll request of the loop is submitted again after each dispatch, also if
 * that is difficult.
 */
static struct io_uring ring_of;

/* A callback fills the submission queue. */
static void fills(weir_op *op, weir_err err, void *user)
{
	struct io_uring_sqe *sqe;

	call_ran(op, err, user);
	while ((sqe = io_uring_get_sqe(&ring_of)))
		io_uring_prep_nop(sqe);
}

/*
 * A callback leaves a request that the kernel refuses: a submit ends there, and
 * the requests behind it stay in the queue.
 */
static void leaves_invalid(weir_op *op, weir_err err, void *user)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&ring_of);

	call_ran(op, err, user);
	io_uring_prep_nop(sqe);
	sqe->opcode = 255;
}

/* The kernel cannot submit at the moment. */
static void exhausts(weir_op *op, weir_err err, void *user)
{
	call_ran(op, err, user);
	submit_error = -EAGAIN;
}

static void check_polled_after(weir_op_fn *callback)
{
	struct io_uring_cqe *cqe;
	weir_loop loop;
	weir_sem sem;
	struct call c = { 0 };

	if (io_uring_queue_init(2, &ring_of, 0))
		exit(without_uring());
	CHECK_OK(weir_sem_init_opts(&sem, &(weir_sem_opts){ .capacity = 1 }));
	CHECK_OK(weir_loop_init(&loop));
	CHECK_EQ(weir_loop_uring_arm(&ring_of, &loop), 0);
	for (int i = 0; i < 3; i++) {
		c.ran = 0;
		weir_op_init(&c.op, &loop, callback, &c);
		CHECK_ERR(weir_op_submit(&c.op, &sem, 1, NULL), WEIR_EQUEUED);
		weir_sem_release(&sem, 1);
		while (!c.ran) {
			int n = weir_loop_uring_wait(&ring_of, &loop, &cqe);

			CHECK(n == 0 || n == -EAGAIN);
			if (n == 0)
				io_uring_cqe_seen(&ring_of, cqe);
		}
	}
	io_uring_queue_exit(&ring_of);
	CHECK_OK(weir_loop_destroy(&loop));
}

TEST(submission_queue_is_full)
{
	check_polled_after(fills);
}

TEST(submission_queue_has_an_invalid_request)
{
	check_polled_after(leaves_invalid);
}

TEST(submission_fails_for_a_moment)
{
	check_polled_after(exhausts);
}
