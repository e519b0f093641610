/* SPDX-License-Identifier: MIT */
/* Sem: a semaphore between the threads and tasks of a process. */
#include "weirpy.h"

static weir_sem *get(PyObject *self)
{
	weir_sem *sem = ((struct weirpy_sem *)self)->sem;

	if (!sem)
		PyErr_SetString(PyExc_RuntimeError,
				"Sem.__init__() was not called");
	return sem;
}

static int init(PyObject *object, PyObject *args, PyObject *kwargs)
{
	static char *names[] = { "value", "bounded", "name", "barging", NULL };
	struct weirpy_sem *self = (struct weirpy_sem *)object;
	weir_sem_opts opts = { 0 };
	int bounded = 0, barging = 0;
	PyObject *name = Py_None;
	long long value = 1;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|LpOp", names, &value,
					 &bounded, &name, &barging))
		return -1;
	if (self->sem) {
		PyErr_SetString(PyExc_RuntimeError,
				"Sem.__init__() was called twice");
		return -1;
	}
	if (value < 0) {
		PyErr_SetString(PyExc_ValueError,
				"semaphore initial value must be >= 0");
		return -1;
	}
	if (name != Py_None) {
		self->name = PyUnicode_AsUTF8String(name);
		if (!self->name)
			return -1;
		opts.name = PyBytes_AsString(self->name);
	}
	opts.permits = value;
	opts.policy = barging ? WEIR_BARGING : WEIR_FIFO;
	opts.flags = bounded ? 0 : WEIR_SEM_UNBOUNDED;
	self->sem = weir_sem_new(&opts);
	if (self->sem)
		return 0;
	if (value > WEIR_SEM_MAX)
		PyErr_SetString(PyExc_ValueError, "the value is too large");
	else
		PyErr_NoMemory();
	return -1;
}

static void dealloc(PyObject *object)
{
	struct weirpy_sem *self = (struct weirpy_sem *)object;

	/* A waiter has a reference to *self, so there is none. */
	if (self->sem)
		weir_sem_unref(self->sem);
	Py_CLEAR(self->name);
	weirpy_free(object);
}

static PyObject *acquire_with(weir_sem *sem, const struct weirpy_acquire *a)
{
	weir_err err = weir_sem_try_acquire(sem, a->n);

	if (err == WEIR_EAGAIN && a->blocking)
		err = weirpy_wait(sem, a->n, a->deadline);
	return weirpy_acquired(err);
}

static PyObject *acquire(PyObject *self, PyObject *args, PyObject *kwargs)
{
	struct weirpy_acquire a;
	weir_sem *sem = get(self);

	if (!sem || !weirpy_parse_acquire(args, kwargs, &a))
		return NULL;
	return acquire_with(sem, &a);
}

static PyObject *enter(PyObject *self, PyObject *unused)
{
	static const struct weirpy_acquire one = { true, 1, WEIR_FOREVER };
	weir_sem *sem = get(self);

	(void)unused;
	return sem ? acquire_with(sem, &one) : NULL;
}

static PyObject *release_n(PyObject *self, int64_t n)
{
	weir_sem *sem = get(self);
	weir_err err;

	if (!sem)
		return NULL;
	err = weir_sem_try_release(sem, n);
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

static PyObject *close_sem(PyObject *self, PyObject *args, PyObject *kwargs)
{
	static char *names[] = { "drain", NULL };
	weir_sem *sem = get(self);
	int drain = 0;

	if (!sem || !PyArg_ParseTupleAndKeywords(args, kwargs, "|p:close",
						 names, &drain))
		return NULL;
	weir_sem_close(sem, drain ? WEIR_CLOSE_DRAIN : WEIR_CLOSE_NOW);
	Py_RETURN_NONE;
}

static PyObject *resize(PyObject *self, PyObject *capacity)
{
	long long n = PyLong_AsLongLong(capacity);
	weir_sem *sem = get(self);
	weir_err err;

	if (!sem || PyErr_Occurred())
		return NULL;
	err = weir_sem_resize(sem, n, NULL);
	if (err)
		return weirpy_raise(err);
	Py_RETURN_NONE;
}

static PyObject *get_value(PyObject *self, void *unused)
{
	weir_sem *sem = get(self);

	(void)unused;
	return sem ? PyLong_FromLongLong(weir_sem_available(sem)) : NULL;
}

static PyObject *get_closed(PyObject *self, void *unused)
{
	weir_sem *sem = get(self);

	(void)unused;
	return sem ? PyBool_FromLong(weir_sem_is_closed(sem)) : NULL;
}

static PyObject *get_capacity(PyObject *self, void *unused)
{
	weir_sem *sem = get(self);
	weir_sem_info info;
	weir_err err;

	(void)unused;
	if (!sem)
		return NULL;
	err = weir_sem_stat(sem, &info);
	if (err)
		return weirpy_raise(err);
	if (info.unbounded)
		Py_RETURN_NONE;
	return PyLong_FromLongLong(info.capacity);
}

static PyObject *get_waiting(PyObject *self, void *unused)
{
	weir_sem *sem = get(self);
	weir_sem_info info;
	weir_err err;

	(void)unused;
	if (!sem)
		return NULL;
	err = weir_sem_stat(sem, &info);
	if (err)
		return weirpy_raise(err);
	return PyLong_FromUnsignedLong((unsigned long)info.waiters);
}

static PyMethodDef methods[] = {
	{ "acquire", METHOD(acquire), METH_VARARGS | METH_KEYWORDS,
	  "acquire($self, /, blocking=True, timeout=None, *, n=1)\n--\n\n"
	  "Take n permits, waiting for them in order of arrival.\n\n"
	  "Return True, or False if blocking is false and the permits are not\n"
	  "free, or if timeout seconds have passed.  Nothing is held then.  The\n"
	  "wait releases the GIL.  A signal handler that raises ends the wait.\n\n"
	  ">>> import weir\n"
	  ">>> sem = weir.Semaphore(2)\n"
	  ">>> sem.acquire(n=2)\n"
	  "True\n"
	  ">>> sem.acquire(timeout=0.01)\n"
	  "False\n" },
	{ "release", METHOD(release), METH_VARARGS | METH_KEYWORDS,
	  "release($self, /, n=1)\n--\n\n"
	  "Return n permits and grant them to the waiters at the head of the\n"
	  "queue.  A bounded semaphore raises ValueError if fewer than n permits\n"
	  "are held.\n\n"
	  ">>> import weir\n"
	  ">>> weir.BoundedSemaphore(1).release()\n"
	  "Traceback (most recent call last):\n"
	  "  ...\n"
	  "ValueError: semaphore released too many times\n" },
	{ "close", METHOD(close_sem), METH_VARARGS | METH_KEYWORDS,
	  "close($self, /, drain=False)\n--\n\n"
	  "Refuse all further requests: waiters and later calls of acquire raise\n"
	  "ClosedError.  With drain, acquires succeed while permits are free.\n\n"
	  ">>> import weir\n"
	  ">>> sem = weir.Semaphore(1)\n"
	  ">>> sem.close()\n"
	  ">>> sem.acquire()\n"
	  "Traceback (most recent call last):\n"
	  "  ...\n"
	  "weir.ClosedError: the object is closed\n" },
	{ "_resize", resize, METH_O, "Set the capacity." },
	{ "_submit", weirpy_submit, METH_VARARGS,
	  "_submit(loop, n, callback): return None if n permits were taken at\n"
	  "once; otherwise an Op that waits in the queue." },
	{ "__enter__", enter, METH_NOARGS, "Take one permit." },
	{ "__exit__", leave, METH_VARARGS, "Return one permit." },
	{ NULL, NULL, 0, NULL }
};

static PyGetSetDef attributes[] = {
	{ "value", get_value, NULL,
	  "The number of free permits.  It may be outdated already.", NULL },
	{ "closed", get_closed, NULL, "True after close().", NULL },
	{ "waiting", get_waiting, NULL,
	  "The number of waiters in the queue, threads and tasks.", NULL },
	{ "_capacity", get_capacity, NULL, "None if unbounded.", NULL },
	{ NULL, NULL, NULL, NULL, NULL }
};

static PyType_Slot slots[] = {
	SLOT(Py_tp_doc, "A semaphore; the base of weir.Semaphore."),
	SLOT(Py_tp_init, init),
	SLOT(Py_tp_dealloc, dealloc),
	SLOT(Py_tp_methods, methods),
	SLOT(Py_tp_getset, attributes),
	{ 0, NULL }
};

PyType_Spec weirpy_sem_spec = {
	.name = "weir._weir.Sem",
	.basicsize = sizeof(struct weirpy_sem),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
	.slots = slots,
};
