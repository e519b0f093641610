/* SPDX-License-Identifier: MIT */
/*
 * Asynchronous acquire.  The operation waits for the permit of its request's
 * semaphore `decided`, so the loop of weir/loop.h delivers the result.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/clock.h"
#include "cluster/handle.h"

/*
 * Called when the operation has ended with err.  Returns the result of the
 * request.  Requires: the lock is not held.
 */
static weir_err conclude(weir_lease *l, weir_err err)
{
	weir_cluster *c = l->cluster;

	pthread_mutex_lock(&c->lock);
	if (l->phase == DECIDED) {
		err = l->err;
		if (err == WEIR_ESYSTEM)
			errno = c->fault.errnum;
	} else if (l->phase == HELD && err != WEIR_ECANCELED) {
		err = WEIR_OK;
	} else if (l->phase != LOST || err) {
		weir_cl_request_phase_(l, LEAVING);
		weir_cl_request_withdraw_(c, l->id);
	}
	pthread_mutex_unlock(&c->lock);
	return err;
}

static void decided(weir_op *inner, weir_err err, void *user)
{
	weir_cluster_op *op = user;
	weir_lease *l = op->lease_;

	(void)inner;
	op->lease_ = NULL;
	err = conclude(l, err);
	if (err || !l->weight) {
		weir_cl_request_free_(l);
		l = NULL;
	}
	op->fn_(op, err, l, op->user_);
}

void weir_cluster_op_init(weir_cluster_op *op, weir_cluster *c, weir_loop *loop,
			  weir_cluster_op_fn *fn, void *user)
{
	memset(op, 0, sizeof(*op));
	op->cluster_ = c;
	op->fn_ = fn;
	op->user_ = user;
	weir_op_init(&op->op_, loop, decided, op);
}

weir_err weir_cluster_op_submit(weir_cluster_op *op, int64_t n,
				int64_t deadline_ns)
{
	weir_cluster *c = op->cluster_;
	weir_lease *l;
	weir_err err;

	if (n < 0 || n > WEIR_CLUSTER_MAX)
		return WEIR_EINVAL;
	if (op->lease_)
		return WEIR_EBUSY;
	l = weir_cl_request_new_(c, n, n, 0);
	if (!l)
		return WEIR_ENOMEM;
	op->lease_ = l;
	/* The lock keeps the callback from freeing the request meanwhile. */
	pthread_mutex_lock(&c->lock);
	err = weir_op_submit_until(&op->op_, &l->decided, 1, deadline_ns);
	if (err == WEIR_EQUEUED) {
		l->asked_at = boot_now();
		weir_cl_request_phase_(l, QUEUED);
		weir_cl_thread_kick_(c);
	}
	pthread_mutex_unlock(&c->lock);
	if (err != WEIR_EQUEUED) {
		op->lease_ = NULL;
		weir_cl_request_free_(l);
	}
	return err;
}

weir_err weir_cluster_op_cancel(weir_cluster_op *op)
{
	weir_err err = weir_op_cancel(&op->op_);
	weir_lease *l;

	if (err)
		return err;
	/* Not before the cancel: the callback may begin in another thread. */
	l = op->lease_;
	op->lease_ = NULL;
	(void)conclude(l, WEIR_ECANCELED);
	weir_cl_request_free_(l);
	return WEIR_OK;
}

weir_err weir_cluster_op_new(weir_cluster *c, weir_loop *loop,
			     weir_cluster_op_fn *fn, void *user,
			     weir_cluster_op **out)
{
	if (!out)
		return WEIR_EINVAL;
	*out = malloc(sizeof(**out));
	if (!*out)
		return WEIR_ENOMEM;
	weir_cluster_op_init(*out, c, loop, fn, user);
	return WEIR_OK;
}

weir_err weir_cluster_op_free(weir_cluster_op *op)
{
	weir_err err = op ? weir_cluster_op_cancel(op) : WEIR_OK;

	/*
	 * WEIR_EBUSY: it was not submitted, or its callback has begun; the
	 * library does not access it any more.
	 */
	if (err && err != WEIR_EBUSY)
		return err;
	free(op);
	return WEIR_OK;
}
