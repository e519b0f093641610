/* SPDX-License-Identifier: MIT */
/*
 * Loop and Op: acquires without a blocked thread.
 *
 * An Op is submitted to a semaphore by its method _submit.  When it is decided,
 * the descriptor of its Loop becomes readable, and Loop.dispatch() calls the
 * callback of the Op.  An Op that is freed while it waits is cancelled.  It
 * refers to its semaphore and its loop, so both outlive it.
 */
#include "weirpy.h"

#include <errno.h>
#include <string.h>

void weirpy_op_ready(struct weirpy_op *self, weir_err err, int errnum)
{
	PyObject *callback = self->callback, *result;

	Py_INCREF(self);
	self->err = err;
	self->errnum = errnum;
	self->callback = NULL;
	result = PyObject_CallNoArgs(callback);
	if (!result)
		PyErr_WriteUnraisable(callback);
	Py_XDECREF(result);
	Py_DECREF(callback);
	Py_DECREF(self);
}

struct weirpy_op *weirpy_op_new(const struct weirpy_kind *kind, PyObject *owner,
				PyObject *args, int64_t *n)
{
	PyObject *loop, *callback;
	struct weirpy_op *self;
	long long count;

	if (!PyArg_ParseTuple(args, "O!LO:_submit", weirpy_LoopType, &loop,
			      &count, &callback))
		return NULL;
	if (!((struct weirpy_loop *)loop)->ready) {
		PyErr_SetString(PyExc_RuntimeError, "__init__() was not called");
		return NULL;
	}
	if (count < 1) {
		PyErr_SetString(PyExc_ValueError, "n must be one or more");
		return NULL;
	}
	self = PyObject_GC_New(struct weirpy_op, weirpy_OpType);
	if (!self)
		return NULL;
	*n = count;
	self->kind = kind;
	self->err = WEIR_ECANCELED;
	self->errnum = 0;
	self->owner = owner;
	self->loop = (struct weirpy_loop *)loop;
	self->callback = callback;
	memset(&self->u, 0, sizeof(self->u));
	Py_INCREF(owner);
	Py_INCREF(loop);
	Py_INCREF(callback);
	return self;
}

PyObject *weirpy_op_submitted(struct weirpy_op *self, weir_err err, int errnum)
{
	/* The callback runs in a dispatch, and a dispatch needs the GIL. */
	self->err = err;
	PyObject_GC_Track(self);
	if (err == WEIR_EQUEUED)
		return (PyObject *)self;
	errno = errnum;
	if (err)
		weirpy_raise(err);
	Py_DECREF(self);
	if (err)
		return NULL;
	Py_RETURN_NONE;
}

/*
 * The operations of a semaphore between threads.
 */

static void sem_ready(weir_op *done, weir_err err, void *user)
{
	(void)done;
	weirpy_op_ready(user, err, 0);
}

static bool sem_cancel(struct weirpy_op *self)
{
	return !weir_op_cancel(&self->u.sem);
}

static PyObject *sem_result(struct weirpy_op *self)
{
	return weirpy_true(self->err, self->errnum);
}

static const struct weirpy_kind sem_kind = { sem_cancel, sem_result, NULL };

PyObject *weirpy_submit(PyObject *object, PyObject *args)
{
	weir_sem *sem = ((struct weirpy_sem *)object)->sem;
	struct weirpy_op *self;
	int64_t n;

	if (!sem) {
		PyErr_SetString(PyExc_RuntimeError, "__init__() was not called");
		return NULL;
	}
	self = weirpy_op_new(&sem_kind, object, args, &n);
	if (!self)
		return NULL;
	weir_op_init(&self->u.sem, &self->loop->loop, sem_ready, self);
	return weirpy_op_submitted(self, weir_op_submit(&self->u.sem, sem, n,
							NULL), 0);
}

/* Returns true if the operation was submitted and nothing is held. */
static bool prevent(struct weirpy_op *self)
{
	if (self->err != WEIR_EQUEUED || !self->kind->cancel(self))
		return false;
	self->err = WEIR_ECANCELED;
	return true;
}

static PyObject *op_cancel(PyObject *object, PyObject *unused)
{
	struct weirpy_op *self = (struct weirpy_op *)object;
	bool prevented = prevent(self);

	(void)unused;
	if (prevented)
		Py_CLEAR(self->callback);
	return PyBool_FromLong(prevented);
}

static PyObject *op_result(PyObject *object, PyObject *unused)
{
	struct weirpy_op *self = (struct weirpy_op *)object;

	(void)unused;
	if (self->err == WEIR_ECANCELED || self->err == WEIR_EQUEUED)
		Py_RETURN_FALSE;
	return self->kind->result(self);
}

static PyObject *op_granted(PyObject *object, void *unused)
{
	(void)unused;
	return PyBool_FromLong(((struct weirpy_op *)object)->err == WEIR_OK);
}

static int op_traverse(PyObject *object, visitproc visit, void *arg)
{
	struct weirpy_op *self = (struct weirpy_op *)object;

	Py_VISIT(Py_TYPE(object));
	Py_VISIT(self->owner);
	Py_VISIT(self->loop);
	Py_VISIT(self->callback);
	return 0;
}

/* The semaphore and the loop are needed until the operation is cancelled. */
static int op_clear(PyObject *object)
{
	struct weirpy_op *self = (struct weirpy_op *)object;

	(void)prevent(self);
	Py_CLEAR(self->callback);
	return 0;
}

static void op_dealloc(PyObject *object)
{
	struct weirpy_op *self = (struct weirpy_op *)object;

	PyObject_GC_UnTrack(object);
	(void)op_clear(object);
	if (self->kind->end)
		self->kind->end(self);
	Py_CLEAR(self->owner);
	Py_CLEAR(self->loop);
	weirpy_free(object);
}

static int loop_init(PyObject *object, PyObject *args, PyObject *kwargs)
{
	struct weirpy_loop *self = (struct weirpy_loop *)object;
	weir_err err;

	(void)args;
	(void)kwargs;
	if (self->ready) {
		PyErr_SetString(PyExc_RuntimeError,
				"Loop.__init__() was called twice");
		return -1;
	}
	err = weir_loop_init(&self->loop);
	if (err) {
		weirpy_raise(err);
		return -1;
	}
	self->ready = true;
	return 0;
}

static void loop_dealloc(PyObject *object)
{
	struct weirpy_loop *self = (struct weirpy_loop *)object;

	/* An operation refers to *self, so none is submitted. */
	if (self->ready && weir_loop_destroy(&self->loop))
		Py_FatalError("weir: a loop is in use");
	weirpy_free(object);
}

static PyObject *loop_dispatch(PyObject *object, PyObject *unused)
{
	struct weirpy_loop *self = (struct weirpy_loop *)object;
	uint64_t count;

	(void)unused;
	if (!self->ready)
		Py_RETURN_NONE;
	count = weir_loop_dispatch(&self->loop);
	return PyLong_FromUnsignedLongLong(count);
}

static PyObject *loop_fd(PyObject *object, void *unused)
{
	struct weirpy_loop *self = (struct weirpy_loop *)object;

	(void)unused;
	return PyLong_FromLong(self->ready ? weir_loop_fd(&self->loop) : -1);
}

static PyMethodDef op_methods[] = {
	{ "cancel", op_cancel, METH_NOARGS,
	  "Cancel.  True: the callback will not run, and nothing is held." },
	{ "result", op_result, METH_NOARGS,
	  "True or the Lease if granted, False if cancelled; raises ClosedError." },
	{ NULL, NULL, 0, NULL }
};

static PyGetSetDef op_attributes[] = {
	{ "granted", op_granted, NULL, "True if the permits are held.", NULL },
	{ NULL, NULL, NULL, NULL, NULL }
};

static PyType_Slot op_slots[] = {
	SLOT(Py_tp_doc, "An acquire without a blocked thread, made by _submit."),
	SLOT(Py_tp_dealloc, op_dealloc),
	SLOT(Py_tp_traverse, op_traverse),
	SLOT(Py_tp_clear, op_clear),
	SLOT(Py_tp_methods, op_methods),
	SLOT(Py_tp_getset, op_attributes),
	{ 0, NULL }
};

PyType_Spec weirpy_op_spec = {
	.name = "weir._weir.Op",
	.basicsize = sizeof(struct weirpy_op),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |
		 Py_TPFLAGS_DISALLOW_INSTANTIATION,
	.slots = op_slots,
};

static PyMethodDef loop_methods[] = {
	{ "dispatch", loop_dispatch, METH_NOARGS,
	  "Run the callbacks that are ready.  Return their number." },
	{ NULL, NULL, 0, NULL }
};

static PyGetSetDef loop_attributes[] = {
	{ "fd", loop_fd, NULL,
	  "A descriptor that is readable while callbacks are ready.", NULL },
	{ NULL, NULL, NULL, NULL, NULL }
};

static PyType_Slot loop_slots[] = {
	SLOT(Py_tp_doc, "Runs the callbacks of operations: weir_loop(3)."),
	SLOT(Py_tp_init, loop_init),
	SLOT(Py_tp_dealloc, loop_dealloc),
	SLOT(Py_tp_methods, loop_methods),
	SLOT(Py_tp_getset, loop_attributes),
	{ 0, NULL }
};

PyType_Spec weirpy_loop_spec = {
	.name = "weir._weir.Loop",
	.basicsize = sizeof(struct weirpy_loop),
	.flags = Py_TPFLAGS_DEFAULT,
	.slots = loop_slots,
};
