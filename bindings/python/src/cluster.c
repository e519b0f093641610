/* SPDX-License-Identifier: MIT */
/* Cluster: a semaphore between machines. */
#include "cluster.h"

#include <errno.h>
#include <unistd.h>

bool weirpy_cluster_is_stale(const struct weirpy_cluster *self)
{
	return self->pid != getpid();
}

static weir_cluster *get(PyObject *object)
{
	struct weirpy_cluster *self = (struct weirpy_cluster *)object;

	if (!self->sem) {
		PyErr_SetString(PyExc_ValueError,
				"the semaphore was closed by close()");
		return NULL;
	}
	if (weirpy_cluster_is_stale(self)) {
		PyErr_SetString(PyExc_ValueError, "the semaphore was opened "
				"before the fork of this process");
		return NULL;
	}
	return self->sem;
}

static int cluster_init(PyObject *object, PyObject *args, PyObject *kwargs)
{
	static char *names[] = { "url", "capacity", "create", "exclusive",
				 "ttl_ns", "label", "password", NULL };
	struct weirpy_cluster *self = (struct weirpy_cluster *)object;
	const char *url, *label = NULL, *password = NULL;
	int create = 0, exclusive = 0, errnum;
	long long capacity = 0, ttl_ns = 0;
	weir_cluster_opts opts = { 0 };
	weir_cluster *sem = NULL;
	char why[256] = "";
	weir_err err;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "s|LppLzz", names, &url,
					 &capacity, &create, &exclusive,
					 &ttl_ns, &label, &password) ||
	    !weirpy_cluster_load())
		return -1;
	if (self->sem) {
		PyErr_SetString(PyExc_RuntimeError,
				"Cluster.__init__() was called twice");
		return -1;
	}
	opts.capacity = capacity;
	opts.ttl_ns = ttl_ns;
	opts.flags = WEIR_CLUSTER_INTERRUPTIBLE |
		     (create ? WEIR_CLUSTER_CREATE : 0) |
		     (exclusive ? WEIR_CLUSTER_EXCLUSIVE : 0);
	opts.label = label;
	opts.password = password;
	opts.why = why;
	opts.why_size = sizeof(why);
	Py_BEGIN_ALLOW_THREADS
	err = weirpy_api.weir_cluster_open(url, &opts, &sem);
	errnum = errno;
	Py_END_ALLOW_THREADS
	self->sem = sem;
	self->pid = getpid();
	if (!err)
		return 0;
	if (err == WEIR_EINVAL && *why)
		PyErr_SetString(PyExc_ValueError, why);
	else
		weirpy_cluster_raise_why(err, errnum, why);
	return -1;
}

static PyObject *cluster_close(PyObject *object, PyObject *unused)
{
	struct weirpy_cluster *self = (struct weirpy_cluster *)object;
	weir_cluster *sem = self->sem;
	weir_err err;

	(void)unused;
	if (!sem)
		Py_RETURN_NONE;
	/* The child of a fork keeps the memory of the handle. */
	if (weirpy_cluster_is_stale(self)) {
		self->sem = NULL;
		Py_RETURN_NONE;
	}
	if (self->calls)
		return weirpy_raise(WEIR_EBUSY);
	self->sem = NULL;
	Py_BEGIN_ALLOW_THREADS
	err = weirpy_api.weir_cluster_close_handle(sem);
	Py_END_ALLOW_THREADS
	if (!err)
		Py_RETURN_NONE;
	self->sem = sem;
	return weirpy_raise(err);
}

static void cluster_dealloc(PyObject *object)
{
	struct weirpy_cluster *self = (struct weirpy_cluster *)object;

	/* Calls and leases refer to *self, so none is left. */
	if (self->sem && !weirpy_cluster_is_stale(self) &&
	    weirpy_api.weir_cluster_close_handle(self->sem))
		Py_FatalError("weir: a handle is in use");
	weirpy_free(object);
}

static PyObject *cluster_acquire(PyObject *object, PyObject *args,
				 PyObject *kwargs)
{
	struct weirpy_cluster *self = (struct weirpy_cluster *)object;
	weir_cluster *sem = get(object);
	weir_lease *lease = NULL;
	struct weirpy_acquire a;
	weir_err err;
	int errnum;

	if (!sem || !weirpy_parse_acquire(args, kwargs, &a))
		return NULL;
	self->calls++;
	do {
		Py_BEGIN_ALLOW_THREADS
		if (a.blocking)
			err = weirpy_api.weir_cluster_acquire_until(
				sem, a.n, a.deadline, &lease);
		else
			err = weirpy_api.weir_cluster_try_acquire(sem, a.n,
								  &lease);
		errnum = errno;
		Py_END_ALLOW_THREADS
	} while (err == WEIR_EINTR && !PyErr_CheckSignals());
	self->calls--;
	switch (err) {
	case WEIR_OK:
		return weirpy_lease_new(self, lease);
	case WEIR_EAGAIN:
	case WEIR_ETIMEDOUT:
		Py_RETURN_NONE;
	case WEIR_EINTR:
		return NULL;
	default:
		return weirpy_cluster_raise(sem, err, errnum);
	}
}

/*
 * The operations of tasks: the thread of the handle asks the server.
 */

static void op_ready(weir_cluster_op *done, weir_err err, weir_lease *lease,
		     void *user)
{
	struct weirpy_op *op = user;
	struct weirpy_cluster *self = (struct weirpy_cluster *)op->owner;
	int errnum = errno;

	(void)done;
	self->calls--;
	if (lease) {
		op->u.cluster.lease = weirpy_lease_new(self, lease);
		if (!op->u.cluster.lease) {
			PyErr_Clear();
			err = WEIR_ENOMEM;
		}
	}
	weirpy_op_ready(op, err, errnum);
}

static bool op_cancel(struct weirpy_op *op)
{
	struct weirpy_cluster *self = (struct weirpy_cluster *)op->owner;

	if (!weirpy_cluster_is_stale(self) &&
	    weirpy_api.weir_cluster_op_cancel(&op->u.cluster.op))
		return false;
	self->calls--;
	return true;
}

static PyObject *op_result(struct weirpy_op *op)
{
	weir_cluster *sem = ((struct weirpy_cluster *)op->owner)->sem;

	if (op->err && sem)
		return weirpy_cluster_raise(sem, op->err, op->errnum);
	if (op->err)
		return weirpy_raise(op->err);
	Py_INCREF(op->u.cluster.lease);
	return op->u.cluster.lease;
}

static void op_end(struct weirpy_op *op)
{
	Py_CLEAR(op->u.cluster.lease);
}

static const struct weirpy_kind op_kind = { op_cancel, op_result, op_end };

static PyObject *cluster_submit(PyObject *object, PyObject *args)
{
	struct weirpy_cluster *self = (struct weirpy_cluster *)object;
	weir_cluster *sem = get(object);
	struct weirpy_op *op;
	weir_err err;
	int64_t n;

	if (!sem)
		return NULL;
	op = weirpy_op_new(&op_kind, object, args, &n);
	if (!op)
		return NULL;
	weirpy_api.weir_cluster_op_init(&op->u.cluster.op, sem,
					&op->loop->loop, op_ready, op);
	err = weirpy_api.weir_cluster_op_submit(&op->u.cluster.op, n,
						WEIR_FOREVER);
	if (err == WEIR_EQUEUED)
		self->calls++;
	return weirpy_op_submitted(op, err, errno);
}

/* Make one call on the handle without the GIL. */
#define CALL(object, expression)                                               \
	struct weirpy_cluster *self = (struct weirpy_cluster *)(object);       \
	weir_cluster *sem = get(object);                                       \
	weir_err err;                                                          \
	int errnum;                                                            \
                                                                               \
	if (!sem)                                                              \
		return NULL;                                                   \
	self->calls++;                                                         \
	Py_BEGIN_ALLOW_THREADS                                                 \
	err = (expression);                                                    \
	errnum = errno;                                                        \
	Py_END_ALLOW_THREADS                                                   \
	self->calls--;                                                         \
	if (err)                                                               \
		return weirpy_cluster_raise(sem, err, errnum);                 \
	Py_RETURN_NONE

static PyObject *cluster_resize(PyObject *object, PyObject *capacity)
{
	long long n = PyLong_AsLongLong(capacity);

	if (PyErr_Occurred())
		return NULL;
	CALL(object, weirpy_api.weir_cluster_resize(sem, n, NULL));
}

static PyObject *cluster_unlink(PyObject *object, PyObject *unused)
{
	(void)unused;
	CALL(object, weirpy_api.weir_cluster_unlink(sem));
}

static PyMethodDef cluster_methods[] = {
	{ "acquire", METHOD(cluster_acquire), METH_VARARGS | METH_KEYWORDS,
	  "acquire($self, /, blocking=True, timeout=None, *, n=1)\n--\n\n"
	  "Take n permits, waiting for them in order of arrival at the server.\n\n"
	  "Return a Lease, or None if blocking is false and the permits are not\n"
	  "free, or if timeout seconds have passed.\n" },
	{ "_submit", cluster_submit, METH_VARARGS,
	  "Request n permits: Op." },
	{ "resize", cluster_resize, METH_O,
	  "resize($self, capacity, /)\n--\n\n"
	  "Set the capacity, for all clients.\n" },
	{ "unlink", cluster_unlink, METH_NOARGS,
	  "unlink($self, /)\n--\n\nRemove the semaphore from the server.\n" },
	{ "close", cluster_close, METH_NOARGS,
	  "close($self, /)\n--\n\n"
	  "End the use of this object.  Raises Error while leases are held.\n" },
	{ NULL, NULL, 0, NULL }
};

static PyType_Slot cluster_slots[] = {
	SLOT(Py_tp_doc, "The base of weir.ClusterSemaphore."),
	SLOT(Py_tp_init, cluster_init),
	SLOT(Py_tp_dealloc, cluster_dealloc),
	SLOT(Py_tp_methods, cluster_methods),
	{ 0, NULL }
};

PyType_Spec weirpy_cluster_spec = {
	.name = "weir._weir.Cluster",
	.basicsize = sizeof(struct weirpy_cluster),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
	.slots = cluster_slots,
};
