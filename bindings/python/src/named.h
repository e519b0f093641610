/* SPDX-License-Identifier: MIT */
#ifndef WEIRPY_NAMED_H
#define WEIRPY_NAMED_H

/*
 * Named: a semaphore between processes.
 *
 *     named_open.c   opening and closing a handle
 *     named.c        the type, and the calls of threads
 *     named_task.c   the operations of tasks
 */
#include "weirpy.h"

#include "weir/named.h"

struct weirpy_queue;	/* helper.h */

struct weirpy_named {
	PyObject_HEAD
	weir_named *sem;	/* null: not open */
	Py_ssize_t calls;	/* in progress, and operations; under the GIL */
	struct weirpy_queue *queue;	/* of tasks; null: none has waited */
};

/* Returns the handle; null, with an exception set, if it is not open. */
weir_named *weirpy_named_get(PyObject *self);

/* The slots tp_init and tp_dealloc, and the method close(). */
int weirpy_named_init(PyObject *object, PyObject *args, PyObject *kwargs);
void weirpy_named_dealloc(PyObject *object);
PyObject *weirpy_named_close(PyObject *object, PyObject *unused);

/* The method _submit. */
PyObject *weirpy_named_submit(PyObject *object, PyObject *args);

#endif /* WEIRPY_NAMED_H */
