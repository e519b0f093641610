/* SPDX-License-Identifier: MIT */
/*
 * Named: opening and closing a handle.  A handle is not closed while a call is in
 * progress or a task waits: `calls` counts both.
 */
#include "named.h"

#include <errno.h>

#include "helper.h"

weir_named *weirpy_named_get(PyObject *self)
{
	weir_named *sem = ((struct weirpy_named *)self)->sem;

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

int weirpy_named_init(PyObject *object, PyObject *args, PyObject *kwargs)
{
	static char *names[] = { "name", "capacity", "create", "exclusive",
				 "shared", "strict", "mode", "label", NULL };
	struct weirpy_named *self = (struct weirpy_named *)object;
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
static weir_err end_use(struct weirpy_named *self)
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

PyObject *weirpy_named_close(PyObject *object, PyObject *unused)
{
	struct weirpy_named *self = (struct weirpy_named *)object;
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

void weirpy_named_dealloc(PyObject *object)
{
	struct weirpy_named *self = (struct weirpy_named *)object;
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
