/* SPDX-License-Identifier: MIT */
/* Named: a semaphore between processes. */
#include "weirpy.h"

#include <errno.h>

#include "helper.h"
#include "weir/named.h"

struct named {
	PyObject_HEAD
	weir_named *sem;	/* null: not open */
	Py_ssize_t calls;	/* in progress, and operations; under the GIL */
	struct weirpy_queue *queue;	/* of tasks; null: none has waited */
};

static weir_named *get(PyObject *self)
{
	weir_named *sem = ((struct named *)self)->sem;

	if (!sem)
		PyErr_SetString(PyExc_ValueError,
				"the semaphore was closed by close()");
	return sem;
}

/* Raise the error of an open, with the library's message if it has one. */
static int refuse(weir_err err, int errnum, const char *why, const char *name)
{
	PyObject *arguments;

	errno = errnum;
	if (err == WEIR_EINVAL && *why) {
		PyErr_Format(PyExc_ValueError, "%s: '%s'", why, name);
		return -1;
	}
	if (err != WEIR_ESYSTEM || !*why) {
		weirpy_raise(err);
		return -1;
	}
	/* OSError with an errno becomes FileNotFoundError and so on. */
	arguments = Py_BuildValue("(iss)", errnum, why, name);
	if (arguments) {
		PyErr_SetObject(PyExc_OSError, arguments);
		Py_DECREF(arguments);
	}
	return -1;
}

static int init(PyObject *object, PyObject *args, PyObject *kwargs)
{
	static char *names[] = { "name", "capacity", "create", "exclusive",
				 "shared", "strict", "mode", "label", NULL };
	struct named *self = (struct named *)object;
	int create = 0, exclusive = 0, shared = 0, strict = 0, errnum;
	weir_named_opts opts = { 0 };
	const char *name, *label = NULL;
	unsigned int mode = 0;
	long long capacity = 0;
	weir_named *sem = NULL;
	char why[256] = "";
	weir_err err;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "s|LppppIz", names,
					 &name, &capacity, &create, &exclusive,
					 &shared, &strict, &mode, &label))
		return -1;
	if (self->sem) {
		PyErr_SetString(PyExc_RuntimeError,
				"Named.__init__() was called twice");
		return -1;
	}
	opts.capacity = capacity;
	opts.policy = strict ? WEIR_NAMED_STRICT : WEIR_NAMED_FAST;
	opts.mode = mode;
	opts.flags = WEIR_NAMED_INTERRUPTIBLE | (create ? WEIR_NAMED_CREATE : 0) |
		     (exclusive ? WEIR_NAMED_EXCLUSIVE : 0) |
		     (shared ? WEIR_NAMED_SHARED : 0);
	opts.label = label;
	opts.why = why;
	opts.why_size = sizeof(why);
	Py_BEGIN_ALLOW_THREADS
	err = weir_named_open(name, &opts, &sem);
	errnum = errno;
	Py_END_ALLOW_THREADS
	if (err)
		return refuse(err, errnum, why, name);
	self->sem = sem;
	return 0;
}

/* Close the handle.  Requires: no call is in progress. */
static weir_err end_use(struct named *self)
{
	struct weirpy_queue *queue = self->queue;
	weir_named *sem = self->sem;
	weir_err err;

	/* The GIL is released meanwhile: another thread finds no handle. */
	self->queue = NULL;
	self->sem = NULL;
	weirpy_queue_free(queue);
	err = weir_named_close_handle(sem);
	if (err)
		self->sem = sem;
	return err;
}

static PyObject *close_handle(PyObject *object, PyObject *unused)
{
	struct named *self = (struct named *)object;
	weir_err err;

	(void)unused;
	if (!self->sem)
		Py_RETURN_NONE;
	if (self->calls)
		return weirpy_raise(WEIR_EBUSY);
	err = end_use(self);
	if (err)
		return weirpy_raise(err);
	Py_RETURN_NONE;
}

static void dealloc(PyObject *object)
{
	struct named *self = (struct named *)object;
	PyObject *type, *value, *trace;

	/* A call that runs has a reference to *self, so none does. */
	if (self->sem && end_use(self)) {
		PyErr_Fetch(&type, &value, &trace);
		PyErr_SetString(weirpy_Error, "a handle could not be closed");
		PyErr_WriteUnraisable(NULL);
		PyErr_Restore(type, value, trace);
	}
	weirpy_free(object);
}

static PyObject *acquire_with(PyObject *object, const struct weirpy_acquire *a)
{
	struct named *self = (struct named *)object;
	weir_named *sem = get(object);
	weir_err err;
	int errnum;

	if (!sem)
		return NULL;
	self->calls++;
	do {
		Py_BEGIN_ALLOW_THREADS
		if (a->blocking)
			err = weir_named_acquire_until(sem, a->n, a->deadline);
		else
			err = weir_named_try_acquire(sem, a->n);
		errnum = errno;
		Py_END_ALLOW_THREADS
	} while (err == WEIR_EINTR && !PyErr_CheckSignals());
	self->calls--;
	errno = errnum;
	return weirpy_acquired(err);
}

static PyObject *acquire(PyObject *self, PyObject *args, PyObject *kwargs)
{
	struct weirpy_acquire a;

	return weirpy_parse_acquire(args, kwargs, &a) ? acquire_with(self, &a) :
							NULL;
}

static PyObject *enter(PyObject *self, PyObject *unused)
{
	static const struct weirpy_acquire one = { true, 1, WEIR_FOREVER };

	(void)unused;
	return acquire_with(self, &one);
}

/*
 * The operations of tasks.
 */

static void op_ready(weir_op *done, weir_err err, void *user)
{
	struct weirpy_op *op = user;
	int errnum;

	(void)done;
	(void)err;
	((struct named *)op->owner)->calls--;
	err = weirpy_request_err(op->u.named, &errnum);
	weirpy_op_ready(op, err, errnum);
}

static bool op_cancel(struct weirpy_op *op)
{
	if (!weirpy_request_cancel(op->u.named))
		return false;
	((struct named *)op->owner)->calls--;
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
static struct weirpy_queue *queue_of(struct named *self)
{
	/* That of the parent of a fork stays in memory. */
	if (!self->queue || weirpy_queue_is_stale(self->queue))
		self->queue = weirpy_queue_new(self->sem);
	return self->queue;
}

PyObject *weirpy_named_submit(PyObject *object, PyObject *args)
{
	struct named *self = (struct named *)object;
	struct weirpy_queue *queue;
	struct weirpy_op *op;
	weir_err err = WEIR_EAGAIN;
	int64_t n;

	if (!get(object))
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

static PyObject *release_n(PyObject *object, int64_t n)
{
	struct named *self = (struct named *)object;
	weir_named *sem = get(object);
	weir_err err;

	if (!sem)
		return NULL;
	self->calls++;
	Py_BEGIN_ALLOW_THREADS
	err = weir_named_try_release(sem, n);
	Py_END_ALLOW_THREADS
	self->calls--;
	if (err)
		return weirpy_raise(err);
	Py_RETURN_NONE;
}

static PyObject *release(PyObject *self, PyObject *args, PyObject *kwargs)
{
	int64_t n;

	return weirpy_parse_n(args, kwargs, &n) ? release_n(self, n) : NULL;
}

static PyObject *leave(PyObject *self, PyObject *unused)
{
	(void)unused;
	return release_n(self, 1);
}

static PyObject *resize(PyObject *object, PyObject *capacity)
{
	struct named *self = (struct named *)object;
	long long n = PyLong_AsLongLong(capacity);
	weir_named *sem = get(object);
	weir_err err;

	if (!sem || PyErr_Occurred())
		return NULL;
	self->calls++;
	Py_BEGIN_ALLOW_THREADS
	err = weir_named_resize(sem, n, NULL);
	Py_END_ALLOW_THREADS
	self->calls--;
	if (err)
		return weirpy_raise(err);
	Py_RETURN_NONE;
}

/* Fill in *info.  Returns false with an exception set. */
static bool stat_of(PyObject *object, weir_named_info *info)
{
	weir_named *sem = get(object);
	weir_err err;

	if (!sem)
		return false;
	err = weir_named_stat(sem, info, NULL, 0);
	if (err)
		weirpy_raise(err);
	return !err;
}

static PyObject *get_value(PyObject *self, void *unused)
{
	weir_named *sem = get(self);

	(void)unused;
	return sem ? PyLong_FromLongLong(weir_named_available(sem)) : NULL;
}

static PyObject *get_capacity(PyObject *self, void *unused)
{
	weir_named_info info;

	(void)unused;
	return stat_of(self, &info) ? PyLong_FromLongLong(info.capacity) : NULL;
}

static PyObject *get_waiting(PyObject *self, void *unused)
{
	weir_named_info info;

	(void)unused;
	return stat_of(self, &info) ?
		PyLong_FromUnsignedLong((unsigned long)info.waiters) : NULL;
}

PyObject *weirpy_unlink(PyObject *module, PyObject *name)
{
	PyObject *bytes = PyUnicode_AsUTF8String(name);
	weir_err err;

	(void)module;
	if (!bytes)
		return NULL;
	err = weir_named_unlink(PyBytes_AsString(bytes));
	if (err == WEIR_ESYSTEM)
		PyErr_SetFromErrnoWithFilenameObject(PyExc_OSError, name);
	else if (err)
		weirpy_raise(err);
	Py_DECREF(bytes);
	if (err)
		return NULL;
	Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
	{ "acquire", METHOD(acquire), METH_VARARGS | METH_KEYWORDS,
	  "acquire($self, /, blocking=True, timeout=None, *, n=1)\n--\n\n"
	  "Take n permits, waiting for them in order of arrival among all\n"
	  "processes.\n\n"
	  "Return True, or False if blocking is false and the permits are not\n"
	  "free, or if timeout seconds have passed.  The wait releases the GIL.\n"
	  "A signal handler that raises ends the wait; one that returns costs\n"
	  "the place in the queue.\n" },
	{ "release", METHOD(release), METH_VARARGS | METH_KEYWORDS,
	  "release($self, /, n=1)\n--\n\n"
	  "Return n permits that this process acquired through this object.\n" },
	{ "resize", resize, METH_O,
	  "resize($self, capacity, /)\n--\n\n"
	  "Set the capacity, for all processes.\n" },
	{ "close", close_handle, METH_NOARGS,
	  "close($self, /)\n--\n\n"
	  "Release all permits of this object and end its use.  Other processes\n"
	  "are not affected.\n" },
	{ "_submit", weirpy_named_submit, METH_VARARGS,
	  "Request n permits: Op, or None if they are held already." },
	{ "__enter__", enter, METH_NOARGS, "Take one permit." },
	{ "__exit__", leave, METH_VARARGS, "Return one permit." },
	{ NULL, NULL, 0, NULL }
};

static PyGetSetDef attributes[] = {
	{ "value", get_value, NULL,
	  "The number of free permits.  It may be outdated already.", NULL },
	{ "capacity", get_capacity, NULL, "The number of permits.", NULL },
	{ "waiting", get_waiting, NULL,
	  "The number of waiters of all processes.", NULL },
	{ NULL, NULL, NULL, NULL, NULL }
};

static PyType_Slot slots[] = {
	SLOT(Py_tp_doc, "The base of weir.NamedSemaphore."),
	SLOT(Py_tp_init, init),
	SLOT(Py_tp_dealloc, dealloc),
	SLOT(Py_tp_methods, methods),
	SLOT(Py_tp_getset, attributes),
	{ 0, NULL }
};

PyType_Spec weirpy_named_spec = {
	.name = "weir._weir.Named",
	.basicsize = sizeof(struct named),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
	.slots = slots,
};
