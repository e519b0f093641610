/* SPDX-License-Identifier: MIT */
/* Named: a semaphore between processes.  The type, and the calls of threads. */
#include "named.h"

#include <errno.h>

static PyObject *acquire_with(PyObject *object, const struct weirpy_acquire *a)
{
	struct weirpy_named *self = (struct weirpy_named *)object;
	weir_named *sem = weirpy_named_get(object);
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

static PyObject *release_n(PyObject *object, int64_t n)
{
	struct weirpy_named *self = (struct weirpy_named *)object;
	weir_named *sem = weirpy_named_get(object);
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
	struct weirpy_named *self = (struct weirpy_named *)object;
	long long n = PyLong_AsLongLong(capacity);
	weir_named *sem = weirpy_named_get(object);
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
	weir_named *sem = weirpy_named_get(object);
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
	weir_named *sem = weirpy_named_get(self);

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
	{ "close", weirpy_named_close, METH_NOARGS,
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
	SLOT(Py_tp_init, weirpy_named_init),
	SLOT(Py_tp_dealloc, weirpy_named_dealloc),
	SLOT(Py_tp_methods, methods),
	SLOT(Py_tp_getset, attributes),
	{ 0, NULL }
};

PyType_Spec weirpy_named_spec = {
	.name = "weir._weir.Named",
	.basicsize = sizeof(struct weirpy_named),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
	.slots = slots,
};
