/* SPDX-License-Identifier: MIT */
/*
 * Lease: permits of a Cluster.  A lease keeps its Cluster open: the handle is not
 * closed while `calls` is not 0.
 */
#include "cluster.h"

#include <errno.h>

struct lease {
	PyObject_HEAD
	weir_lease *lease;	/* null: released */
	struct weirpy_cluster *cluster;
	unsigned long long fence;
	long long weight;
};

PyObject *weirpy_lease_new(struct weirpy_cluster *self, weir_lease *lease)
{
	struct lease *object = PyObject_New(struct lease, weirpy_LeaseType);

	if (!object) {
		/* An error leaves the lease to its end. */
		if (weirpy_api.weir_lease_release(lease))
			errno = 0;
		return NULL;
	}
	object->lease = lease;
	object->cluster = self;
	object->fence = weirpy_api.weir_lease_fence(lease);
	object->weight = weirpy_api.weir_lease_weight(lease);
	Py_INCREF(self);
	self->calls++;
	return (PyObject *)object;
}

/*
 * Release the lease, which the library frees in any case.  The child of a fork
 * holds no permits: its copy of the lease stays in memory.
 */
static weir_err give_back(struct lease *self)
{
	weir_lease *lease = self->lease;
	weir_err err;

	self->lease = NULL;
	if (weirpy_cluster_is_stale(self->cluster)) {
		self->cluster->calls--;
		return WEIR_EOVERFLOW;
	}
	Py_BEGIN_ALLOW_THREADS
	err = weirpy_api.weir_lease_release(lease);
	Py_END_ALLOW_THREADS
	self->cluster->calls--;
	return err;
}

static PyObject *lease_release(PyObject *object, PyObject *unused)
{
	struct lease *self = (struct lease *)object;
	weir_err err;

	(void)unused;
	if (!self->lease)
		return weirpy_raise(WEIR_EOVERFLOW);
	err = give_back(self);
	if (err == WEIR_EOVERFLOW)
		return weirpy_raise(err);
	/* The handle's thread repeats the release. */
	if (err && err != WEIR_EINDETERMINATE)
		return weirpy_cluster_raise(self->cluster->sem, err, errno);
	Py_RETURN_NONE;
}

static PyObject *lease_enter(PyObject *object, PyObject *unused)
{
	(void)unused;
	Py_INCREF(object);
	return object;
}

static void lease_dealloc(PyObject *object)
{
	struct lease *self = (struct lease *)object;

	/* The result is of no use: the lease ends by itself at the latest. */
	if (self->lease)
		(void)give_back(self);
	Py_CLEAR(self->cluster);
	weirpy_free(object);
}

static PyObject *get_valid(PyObject *object, void *unused)
{
	struct lease *self = (struct lease *)object;

	(void)unused;
	return PyBool_FromLong(self->lease &&
			       !weirpy_cluster_is_stale(self->cluster) &&
			       !weirpy_api.weir_lease_check(self->lease));
}

static PyObject *get_fence(PyObject *object, void *unused)
{
	(void)unused;
	return PyLong_FromUnsignedLongLong(((struct lease *)object)->fence);
}

static PyObject *get_weight(PyObject *object, void *unused)
{
	(void)unused;
	return PyLong_FromLongLong(((struct lease *)object)->weight);
}

static PyMethodDef lease_methods[] = {
	{ "release", lease_release, METH_NOARGS,
	  "release($self, /)\n--\n\n"
	  "Return the permits.  Raises LostError if the lease was lost before.\n" },
	{ "__enter__", lease_enter, METH_NOARGS, "Return the lease." },
	{ "__exit__", lease_release, METH_VARARGS, "Return the permits." },
	{ NULL, NULL, 0, NULL }
};

static PyGetSetDef lease_attributes[] = {
	{ "valid", get_valid, NULL,
	  "True while the permits are held by this process.", NULL },
	{ "fence", get_fence, NULL,
	  "The fencing token: greater than that of every earlier lease.", NULL },
	{ "weight", get_weight, NULL, "The number of permits.", NULL },
	{ NULL, NULL, NULL, NULL, NULL }
};

static PyType_Slot lease_slots[] = {
	SLOT(Py_tp_doc, "Permits of a ClusterSemaphore, until they are released\n"
			"or cannot be renewed in time."),
	SLOT(Py_tp_dealloc, lease_dealloc),
	SLOT(Py_tp_methods, lease_methods),
	SLOT(Py_tp_getset, lease_attributes),
	{ 0, NULL }
};

PyType_Spec weirpy_lease_spec = {
	.name = "weir._weir.Lease",
	.basicsize = sizeof(struct lease),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
	.slots = lease_slots,
};
