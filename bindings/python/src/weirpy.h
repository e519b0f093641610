/* SPDX-License-Identifier: MIT */
#ifndef WEIRPY_H
#define WEIRPY_H

/*
 * The module weir._weir: weir's objects as Python types, on the limited API of
 * CPython 3.10.  The package weir (weir/__init__.py) is built on these types.
 *
 * Every function below is called with the GIL held.  A call that may block
 * releases the GIL.
 */
#define PY_SSIZE_T_CLEAN
#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030A0000
#endif
#include <Python.h>

#include <stdbool.h>
#include <stdint.h>

#include "weir/async.h"
#include "weir/base.h"
#include "weir/cluster.h"
#include "weir/loop.h"
#include "weir/sem.h"

/* A function of a method table; the calling convention is in its flags. */
#define METHOD(fn) ((PyCFunction)(void (*)(void))(fn))
#define SLOT(id, fn) { (id), (void *)(fn) }

/* The arguments of an acquire. */
struct weirpy_acquire {
	bool blocking;
	int64_t n;
	int64_t deadline;	/* WEIR_FOREVER: no timeout */
};

/* A semaphore between threads, sem.c. */
struct weirpy_sem {
	PyObject_HEAD
	weir_sem *sem;		/* null before __init__ */
	PyObject *name;		/* bytes; the semaphore refers to them */
};

/* A loop, loop.c. */
struct weirpy_loop {
	PyObject_HEAD
	weir_loop loop;
	bool ready;		/* set up */
};

struct weirpy_request;	/* helper.c */
struct weirpy_op;

/* The functions of an operation that depend on the kind of its semaphore. */
struct weirpy_kind {
	/* Returns true if the callback will not run; nothing is held then. */
	bool (*cancel)(struct weirpy_op *op);
	/* The result of an operation with this err: a value or an exception. */
	PyObject *(*result)(struct weirpy_op *op);
	/* Free what only this kind has.  The operation has ended.  Or null. */
	void (*end)(struct weirpy_op *op);
};

/* An acquire without a blocked thread, loop.c. */
struct weirpy_op {
	PyObject_HEAD
	const struct weirpy_kind *kind;
	weir_err err;		/* WEIR_EQUEUED while submitted */
	int errnum;		/* with WEIR_ESYSTEM */
	PyObject *owner;	/* the semaphore */
	struct weirpy_loop *loop;
	PyObject *callback;
	union {
		weir_op sem;
		struct weirpy_request *named;
		struct {
			weir_cluster_op op;
			PyObject *lease;	/* null: not granted */
		} cluster;
	} u;
};

extern PyObject *weirpy_Error, *weirpy_ClosedError, *weirpy_LostError;
extern PyTypeObject *weirpy_LoopType, *weirpy_LeaseType;
extern PyType_Spec weirpy_sem_spec, weirpy_loop_spec, weirpy_op_spec,
	weirpy_named_spec, weirpy_rate_spec, weirpy_cluster_spec,
	weirpy_lease_spec;

/* Set the Python exception for err, which is not WEIR_OK.  Returns null. */
PyObject *weirpy_raise(weir_err err);

/*
 * Parse acquire(blocking=True, timeout=None, *, n=1).  Returns false with an
 * exception set.
 */
bool weirpy_parse_acquire(PyObject *args, PyObject *kwargs,
			  struct weirpy_acquire *out);

/* Parse release(n=1).  Returns false with an exception set. */
bool weirpy_parse_n(PyObject *args, PyObject *kwargs, int64_t *n);

/*
 * Turn the result of an acquire into True, False or an exception.  WEIR_EINTR
 * means that an exception is set.
 */
PyObject *weirpy_acquired(weir_err err);

/* Returns True if err is WEIR_OK, else raises it. */
PyObject *weirpy_true(weir_err err, int errnum);

/* Free an object whose fields have been released. */
void weirpy_free(PyObject *self);

/*
 * Wait in the queue of sem for n permits, without the GIL.  WEIR_EINTR: a
 * signal handler has raised a Python exception, and nothing is held.
 */
weir_err weirpy_wait(weir_sem *sem, int64_t n, int64_t deadline);

/*
 * Make an operation from the arguments of _submit(loop, n, callback).  Returns
 * null with an exception set.
 */
struct weirpy_op *weirpy_op_new(const struct weirpy_kind *kind, PyObject *owner,
				PyObject *args, int64_t *n);
/*
 * The result of _submit, for the result err of the submission: the operation if
 * it is WEIR_EQUEUED, None if it is WEIR_OK, else an exception.
 */
PyObject *weirpy_op_submitted(struct weirpy_op *self, weir_err err, int errnum);
/* Store the outcome and call the callback. */
void weirpy_op_ready(struct weirpy_op *self, weir_err err, int errnum);

/* The method _submit of Semaphore, in loop.c. */
PyObject *weirpy_submit(PyObject *object, PyObject *args);
/* Set by the module: the type of the result. */
extern PyTypeObject *weirpy_OpType;

/* The function unlink(name) of the module, in named.c. */
PyObject *weirpy_unlink(PyObject *module, PyObject *name);

#endif /* WEIRPY_H */
