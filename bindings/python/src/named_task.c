/* SPDX-License-Identifier: MIT */
/*
 * Named: the operations of tasks.  The tasks that wait for one object share a
 * queue and a helper thread, which acquires for one task after the other.
 */
#include "named.h"

#include <errno.h>

#include "helper.h"

static void op_ready(weir_op *done, weir_err err, void *user)
{
	struct weirpy_op *op = user;
	int errnum;

	(void)done;
	(void)err;
	((struct weirpy_named *)op->owner)->calls--;
	err = weirpy_request_err(op->u.named, &errnum);
	weirpy_op_ready(op, err, errnum);
}

static bool op_cancel(struct weirpy_op *op)
{
	if (!weirpy_request_cancel(op->u.named))
		return false;
	((struct weirpy_named *)op->owner)->calls--;
	return true;
}

static PyObject *op_result(struct weirpy_op *op)
{
	return weirpy_true(op->err, op->errnum);
}

static void op_end(struct weirpy_op *op)
{
	if (op->u.named)
		weirpy_request_free(op->u.named);
}

static const struct weirpy_kind op_kind = { op_cancel, op_result, op_end };

/* Returns the queue of tasks; null if memory is exhausted. */
static struct weirpy_queue *queue_of(struct weirpy_named *self)
{
	/* That of the parent of a fork stays in memory. */
	if (!self->queue || weirpy_queue_is_stale(self->queue))
		self->queue = weirpy_queue_new(self->sem);
	return self->queue;
}

PyObject *weirpy_named_submit(PyObject *object, PyObject *args)
{
	struct weirpy_named *self = (struct weirpy_named *)object;
	struct weirpy_queue *queue;
	struct weirpy_op *op;
	weir_err err = WEIR_EAGAIN;
	int64_t n;

	if (!weirpy_named_get(object))
		return NULL;
	op = weirpy_op_new(&op_kind, object, args, &n);
	if (!op)
		return NULL;
	queue = queue_of(self);
	if (!queue)
		return weirpy_op_submitted(op, WEIR_ENOMEM, 0);
	/* Behind tasks that wait, also if they have not begun to. */
	if (!weirpy_queue_is_used(queue))
		err = weir_named_try_acquire(self->sem, n);
	if (err == WEIR_EAGAIN) {
		op->u.named = weirpy_request_new(queue, n, &op->loop->loop,
						 op_ready, op, &err);
		if (op->u.named)
			self->calls++;
	}
	return weirpy_op_submitted(op, err, errno);
}
