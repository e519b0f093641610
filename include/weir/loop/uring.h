/* SPDX-License-Identifier: MIT */
#ifndef WEIR_LOOP_URING_H
#define WEIR_LOOP_URING_H

/*
 * A weir_loop in an io_uring loop: a poll request on the descriptor.
 *
 *     weir_loop_uring_arm(&ring, &loop);
 *     for (;;) {
 *             n = weir_loop_uring_wait(&ring, &loop, &cqe);
 *             if (n == 0)             yours; mark it as seen
 *                     ...
 *             else if (n != -EAGAIN)  an error of io_uring
 *                     break;
 *     }
 *
 * Completions of the poll request have the address of the weir_loop as user
 * data.
 */
#include <errno.h>
#include <liburing.h>
#include <poll.h>

#include "weir/loop.h"

/*
 * Submit all requests of the submission queue.  The kernel stops at a request
 * that it refuses; the poll request may be behind it.
 */
static inline int weir_loop_uring_submit_(struct io_uring *ring)
{
	int n;

	do
		n = io_uring_submit(ring);
	while (n > 0 && !(ring->flags & IORING_SETUP_SQPOLL) &&
	       io_uring_sq_ready(ring));
	return n < 0 ? n : 0;
}

/* Put the poll request into the submission queue. */
static inline int weir_loop_uring_prepare_(struct io_uring *ring,
					   weir_loop *loop)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);

	/*
	 * The submission queue is full of requests that callbacks made: submit
	 * them first.
	 */
	if (!sqe) {
		int err = weir_loop_uring_submit_(ring);

		sqe = io_uring_get_sqe(ring);
		if (!sqe)
			return err && err != -EAGAIN ? err : -EBUSY;
	}
	io_uring_prep_poll_add(sqe, weir_loop_fd(loop), POLLIN);
	io_uring_sqe_set_data(sqe, loop);
	return 0;
}

/* Returns nonzero if a submit may succeed later. */
static inline int weir_loop_uring_is_passing_(int err)
{
	return err == -EAGAIN || err == -EBUSY || err == -EINTR;
}

/* Submit the poll request.  Returns 0, or an error as io_uring_submit. */
static inline int weir_loop_uring_arm(struct io_uring *ring, weir_loop *loop)
{
	int err = weir_loop_uring_prepare_(ring, loop);

	return err ? err : weir_loop_uring_submit_(ring);
}

/*
 * Wait for a completion or a deadline, and dispatch.  Returns 0 if *cqe is a
 * completion of the program, -EAGAIN if there is none (callbacks may have run),
 * or an error of io_uring.  Requests that are in the submission queue are
 * submitted.
 *
 * No callback runs between the completion and the return.  Later completions
 * may already be in the ring when a callback runs: as in every io_uring
 * program, an object with a request in flight must not be freed.
 */
static inline int weir_loop_uring_wait(struct io_uring *ring, weir_loop *loop,
				       struct io_uring_cqe **cqe)
{
	int ms = weir_loop_timeout_ms(loop), err;
	struct __kernel_timespec left;

	/*
	 * The poll request may still be in the queue, because an earlier submit
	 * failed.  After -EBUSY, completions are ready, and the program has to
	 * handle them first.
	 */
	err = io_uring_sq_ready(ring) ? weir_loop_uring_submit_(ring) : 0;
	if (err && err != -EBUSY) {
		weir_loop_dispatch(loop);
		return weir_loop_uring_is_passing_(err) ? -EAGAIN : err;
	}
	left.tv_sec = ms / 1000;
	left.tv_nsec = ms % 1000 * 1000000LL;
	/*
	 * A deadline has passed.  Completions of the program must not delay it.
	 */
	if (ms == 0)
		weir_loop_dispatch(loop);
	if (ms < 0)
		err = io_uring_wait_cqe(ring, cqe);
	else
		err = io_uring_wait_cqe_timeout(ring, cqe, &left);
	if (!err && io_uring_cqe_get_data(*cqe) == loop) {
		io_uring_cqe_seen(ring, *cqe);
		weir_loop_dispatch(loop);
		err = weir_loop_uring_prepare_(ring, loop);
		if (err)
			return err;
		/* If this fails for a moment, then the next call submits. */
		err = weir_loop_uring_submit_(ring);
		return err && !weir_loop_uring_is_passing_(err) ? err : -EAGAIN;
	}
	if (!err)
		return 0;
	if (err != -ETIME && err != -EINTR)
		return err;
	weir_loop_dispatch(loop);
	return -EAGAIN;
}

#endif /* WEIR_LOOP_URING_H */
