/* SPDX-License-Identifier: MIT */
/* The module, its exceptions, and the arguments that several types share. */
#include "weirpy.h"

#include <errno.h>
#include <math.h>

PyObject *weirpy_Error, *weirpy_ClosedError, *weirpy_LostError;
PyTypeObject *weirpy_LoopType, *weirpy_OpType, *weirpy_LeaseType;

PyObject *weirpy_raise(weir_err err)
{
	switch (err) {
	case WEIR_ECLOSED:
		PyErr_SetString(weirpy_ClosedError, weir_err_text(err));
		break;
	case WEIR_ELOST:
		PyErr_SetString(weirpy_LostError, weir_err_text(err));
		break;
	case WEIR_EINVAL:
	case WEIR_ETOOBIG:
		PyErr_SetString(PyExc_ValueError, weir_err_text(err));
		break;
	case WEIR_EOVERFLOW:
		PyErr_SetString(PyExc_ValueError,
				"semaphore released too many times");
		break;
	case WEIR_ENOMEM:
		PyErr_NoMemory();
		break;
	case WEIR_ESYSTEM:
		PyErr_SetFromErrno(PyExc_OSError);
		break;
	default:
		PyErr_SetString(weirpy_Error, weir_err_text(err));
	}
	return NULL;
}

/* Set *deadline to the time `timeout` seconds from now. */
static bool deadline_of(PyObject *timeout, int64_t *deadline)
{
	double seconds = PyFloat_AsDouble(timeout);

	if (seconds == -1.0 && PyErr_Occurred())
		return false;
	if (isnan(seconds)) {
		PyErr_SetString(PyExc_ValueError, "timeout is not a number");
		return false;
	}
	/* 9e9 seconds are 285 years. */
	*deadline = seconds > 9e9 ? WEIR_FOREVER :
		weir_deadline_after(seconds > 0 ? (int64_t)ceil(seconds * 1e9) :
						  0);
	return true;
}

static bool check_n(long long n)
{
	if (n >= 1)
		return true;
	PyErr_SetString(PyExc_ValueError, "n must be one or more");
	return false;
}

bool weirpy_parse_acquire(PyObject *args, PyObject *kwargs,
			  struct weirpy_acquire *out)
{
	static char *names[] = { "blocking", "timeout", "n", NULL };
	PyObject *timeout = Py_None;
	int blocking = 1;
	long long n = 1;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|pO$L:acquire", names,
					 &blocking, &timeout, &n) ||
	    !check_n(n))
		return false;
	out->blocking = blocking;
	out->n = n;
	out->deadline = WEIR_FOREVER;
	if (timeout == Py_None)
		return true;
	if (!blocking) {
		PyErr_SetString(PyExc_ValueError,
			"can't specify timeout for non-blocking acquire");
		return false;
	}
	return deadline_of(timeout, &out->deadline);
}

bool weirpy_parse_n(PyObject *args, PyObject *kwargs, int64_t *n)
{
	static char *names[] = { "n", NULL };
	long long value = 1;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|L", names, &value) ||
	    !check_n(value))
		return false;
	*n = value;
	return true;
}

PyObject *weirpy_acquired(weir_err err)
{
	switch (err) {
	case WEIR_OK:
		Py_RETURN_TRUE;
	case WEIR_EAGAIN:
	case WEIR_ETIMEDOUT:
		Py_RETURN_FALSE;
	case WEIR_EINTR:
		return NULL;
	default:
		return weirpy_raise(err);
	}
}

PyObject *weirpy_true(weir_err err, int errnum)
{
	errno = errnum;
	if (err)
		return weirpy_raise(err);
	Py_RETURN_TRUE;
}

void weirpy_free(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);
	freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);

	release(self);
	Py_DECREF(type);
}

static PyObject *version(PyObject *module, PyObject *unused)
{
	(void)module;
	(void)unused;
	return PyUnicode_FromString(weir_version());
}

/* A panic is a bug of the caller: name it, with a traceback, and abort. */
static void panic(const char *message)
{
	Py_FatalError(message);
}

static PyMethodDef functions[] = {
	{ "version", version, METH_NOARGS, "Return the version of libweir." },
	{ "unlink", weirpy_unlink, METH_O,
	  "Remove the name of a semaphore between processes." },
	{ NULL, NULL, 0, NULL }
};

/* Add a type to the module.  Returns null with an exception set. */
static PyTypeObject *add_type(PyObject *module, PyType_Spec *spec)
{
	PyObject *type = PyType_FromSpec(spec);

	if (type && PyModule_AddType(module, (PyTypeObject *)type) < 0)
		Py_CLEAR(type);
	return (PyTypeObject *)type;
}

/* Add an exception to the module.  Returns null with an exception set. */
static PyObject *add_error(PyObject *module, const char *name, const char *doc,
			   PyObject *base)
{
	PyObject *error = PyErr_NewExceptionWithDoc(name, doc, base, NULL);

	/* The name without the package. */
	if (error && PyModule_AddObjectRef(module, name + 5, error) < 0)
		Py_CLEAR(error);
	return error;
}

static bool fill(PyObject *module)
{
	weirpy_Error = add_error(module, "weir.Error", "An error of weir.",
				 NULL);
	if (!weirpy_Error)
		return false;
	weirpy_ClosedError = add_error(module, "weir.ClosedError",
				       "The semaphore is closed.", weirpy_Error);
	weirpy_LostError = add_error(module, "weir.LostError",
				     "The lease was lost.", weirpy_Error);
	weirpy_LoopType = add_type(module, &weirpy_loop_spec);
	weirpy_OpType = add_type(module, &weirpy_op_spec);
	weirpy_LeaseType = add_type(module, &weirpy_lease_spec);
	return weirpy_ClosedError && weirpy_LostError && weirpy_LoopType &&
	       weirpy_OpType && weirpy_LeaseType &&
	       add_type(module, &weirpy_sem_spec) &&
	       add_type(module, &weirpy_named_spec) &&
	       add_type(module, &weirpy_cluster_spec) &&
	       add_type(module, &weirpy_rate_spec);
}

/*
 * Fill the module for the first time in this interpreter, and keep its contents.
 * A later import, after the module was removed from sys.modules, gets the same
 * types: objects of the first one may exist.
 */
static int fill_or_copy(PyObject *module)
{
	static const char key[] = "weir._weir";
	PyObject *kept = PyInterpreterState_GetDict(PyInterpreterState_Get());
	PyObject *names = PyModule_GetDict(module), *copy;
	int result;

	if (!kept || !names)
		return -1;
	copy = PyDict_GetItemString(kept, key);
	if (copy)
		return PyDict_Update(names, copy);
	if (!fill(module))
		return -1;
	copy = PyDict_Copy(names);
	result = copy ? PyDict_SetItemString(kept, key, copy) : -1;
	Py_XDECREF(copy);
	return result;
}

/* The types and the panic hook belong to the process. */
static int execute(PyObject *module)
{
	/* The main interpreter has the number 0. */
	if (PyInterpreterState_GetID(PyInterpreterState_Get())) {
		PyErr_SetString(PyExc_ImportError,
			"weir does not support subinterpreters");
		return -1;
	}
	if (fill_or_copy(module))
		return -1;
	weir_set_panic_hook(panic);
	return 0;
}

static PyModuleDef_Slot slots[] = {
	{ Py_mod_exec, execute },
	{ 0, NULL }
};

static struct PyModuleDef definition = {
	PyModuleDef_HEAD_INIT,
	.m_name = "weir._weir",
	.m_doc = "weir's objects.  Use the package weir instead.",
	.m_methods = functions,
	.m_slots = slots,
};

PyMODINIT_FUNC PyInit__weir(void);

PyMODINIT_FUNC PyInit__weir(void)
{
	return PyModuleDef_Init(&definition);
}
